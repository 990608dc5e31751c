#include <sluice/actors/engine_device.hpp>

#include <sluice/actors/engine.hpp>
#include <sluice/devices/cpu_threads.hpp>
#include <sluice/devices/device_name.hpp>
#include <sluice/devices/quantity.hpp>
#include <sluice/devices/sim_device.hpp>

#include <algorithm>

namespace sluice {

namespace {

/// What text says of a CPU device.
struct cpu_options {
  std::size_t memory = memory_ledger::unlimited;
  unsigned threads = 0;
};

cpu_options cpu_options_of(const device_spec& d) {
  cpu_options o;
  for (const auto& [name, text] : d.options)
    try {
      if (name == "memory")
        o.memory = parse_bytes(text);
      else if (name == "threads" && d.index > 0)
        o.threads = static_cast<unsigned>(parse_count(text, cpu_threads::max_budget));
      else
        throw error{errc::invalid_argument,
                    "it has no option '" + name +
                        (d.index > 0 ? "'; known are memory, threads" : "'; known is memory")};
    } catch (const error& e) {
      throw error{e.code(), detail::called(d) + ": " + e.what()};
    }
  return o;
}

class device_maker {
public:
  device_maker(const engine_options& o, const std::shared_ptr<executor>& threads)
    : options_(o), threads_(threads) {
    made_.push_back({.name = "cpu:0"});
    const auto* host = o.devices.find("cpu:0");
    made_[0].ledger = ledger("cpu:0", host ? cpu_options_of(*host).memory : memory_ledger::unlimited);
  }

  std::vector<engine_device> make() {
    for (const auto& d : options_.devices)
      if (d.kind == "cpu")
        add_cpu(d);
      else if (d.kind == "sim")
        add_accelerator(std::make_shared<sim_device>(d.name(), sim_options_of(d), threads_));
      else
        throw error{errc::unsupported, detail::called(d) + ": there are devices of kind cpu and sim"};
    for (const auto& d : options_.accelerators)
      add_accelerator(d);
    std::vector<std::string> names;
    for (const auto& d : made_)
      names.push_back(d.name);
    check_budgets(options_.memory_budget, names);
    return std::move(made_);
  }

private:
  [[nodiscard]] std::shared_ptr<memory_ledger> ledger(const std::string& name, std::size_t most) const {
    return memory_ledger::make(name, std::min(most, budget_of(name, options_.memory_budget)));
  }

  void add_cpu(const device_spec& d) {
    if (d.index == 0)
      return;
    const auto o = cpu_options_of(d);
    made_.push_back(
        {.name = d.name(),
         .ledger = ledger(d.name(), o.memory),
         .threads = options_.threads ? threads_ : cpu_threads::process().private_pool(o.threads)});
  }

  void add_accelerator(std::shared_ptr<device> d) {
    if (!d)
      throw error{errc::invalid_argument, "one of the accelerators is null"};
    static_cast<void>(device_name::parse(d->name()));
    if (std::any_of(made_.begin(), made_.end(), [&](const auto& m) { return m.name == d->name(); }))
      throw error{errc::invalid_argument, "there are two devices '" + d->name() + '\''};
    const auto budget = budget_of(d->name(), options_.memory_budget);
    auto books = budget == memory_ledger::unlimited ? d->ledger()
                                                    : memory_ledger::make(d->name(), budget, d->ledger());
    made_.push_back({.name = d->name(), .accelerator = std::move(d), .ledger = std::move(books)});
  }

  const engine_options& options_;
  const std::shared_ptr<executor>& threads_;
  std::vector<engine_device> made_;
};

} // namespace

std::vector<engine_device> make_devices(const engine_options& o, const std::shared_ptr<executor>& threads) {
  return device_maker{o, threads}.make();
}

} // namespace sluice
