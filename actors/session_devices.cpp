#include <sluice/actors/session_devices.hpp>

#include <sluice/actors/frame.hpp>
#include <sluice/devices/device_value.hpp>
#include <sluice/devices/ledger_memory.hpp>

#include <algorithm>

namespace sluice {

session_devices::session_devices(std::vector<engine_device> devices, const session_options& o,
                                 std::uint32_t window) {
  std::vector<std::string> names;
  for (const auto& d : devices)
    names.push_back(d.name);
  check_budgets(o.memory_budget, names);
  for (auto& d : devices) {
    auto& m = members_.emplace_back();
    m.shared = std::move(d);
    if (members_.size() == 1)
      continue;
    m.ledger = memory_ledger::make("session '" + o.name + "' on " + m.shared.name,
                                   budget_of(m.shared.name, o.memory_budget), m.shared.ledger);
    m.watched = std::make_shared<std::atomic<bool>>(false);
    m.accounts.resize(window);
    if (!m.shared.accelerator)
      continue;
    auto& a = *m.shared.accelerator;
    m.weights = new ledger_memory{&a.leased_memory(), m.ledger, memory_use::weights};
    // A copy waits in its stream for what comes before it, so that a few more than proceed at once keep them
    // from waiting for each other's values.
    const auto copies = 2 * std::size_t{a.capacity().copy_engines};
    const std::size_t counts[] = {a.capacity().streams, copies, copies};
    for (std::size_t w = 0; w < std::size(counts); ++w)
      for (std::size_t i = 0; i < counts[w]; ++i)
        m.streams[w].push_back(a.make_stream());
  }
}

std::vector<plan_device> session_devices::for_plans() const {
  std::vector<plan_device> all;
  for (const auto& m : members_)
    all.push_back({m.shared.name, m.shared.accelerator != nullptr, m.lost});
  return all;
}

bool session_devices::lose(std::uint32_t d, std::string why) {
  if (!members_[d].lost.empty())
    return false;
  members_[d].lost = std::move(why);
  const std::lock_guard lock{weights_mutex_};
  std::erase_if(weights_, [d](const auto& w) { return w.first.second == d; });
  return true;
}

bool session_devices::could_hold(const plan& p) const {
  for (std::size_t d = 1; d < p.devices.size(); ++d)
    for (const auto* ledger : {members_[d].ledger.get(), members_[d].shared.ledger.get()}) {
      const auto weights = std::min(ledger->budget(), ledger->in_use(memory_use::weights));
      if (p.device_bytes[d] > ledger->budget() - weights)
        return false;
    }
  return true;
}

bool session_devices::lost(const plan& p) const {
  for (std::size_t d = 1; d < p.devices.size(); ++d)
    if (!members_[d].lost.empty() && p.uses(static_cast<std::uint32_t>(d)))
      return true;
  return false;
}

bool session_devices::try_lease(const plan& p, std::vector<memory_lease>& leases,
                                const std::function<void()>& retry) {
  leases.resize(p.devices.size());
  for (std::size_t d = 1; d < p.devices.size(); ++d) {
    auto& m = members_[d];
    const auto bytes = p.device_bytes[d];
    auto outcome = m.ledger->try_lease(bytes, memory_use::frames, leases[d]);
    if (outcome == lease_outcome::never_fits)
      throw error{errc::out_of_memory, "a frame needs " + std::to_string(bytes) + " bytes on " +
                                           m.shared.name + "; " + m.ledger->report() + "; " +
                                           m.shared.ledger->report()};
    if (outcome == lease_outcome::full) {
      // Somebody may have given bytes back before we were on the list of those who wait: try once more.
      if (!m.watched->exchange(true))
        m.ledger->when_freed([watched = m.watched, retry] {
          watched->store(false);
          retry();
        });
      outcome = m.ledger->try_lease(bytes, memory_use::frames, leases[d]);
    }
    if (outcome != lease_outcome::granted) {
      leases.clear();
      return false;
    }
  }
  return true;
}

void session_devices::open(frame& f, const plan& p, std::vector<memory_lease> leases) {
  f.accounts.resize(p.devices.size());
  f.arenas.resize(p.devices.size());
  for (std::size_t d = 1; d < p.devices.size(); ++d) {
    if (!p.uses(static_cast<std::uint32_t>(d)))
      continue;
    auto& m = members_[d];
    auto& account = m.accounts[f.slot];
    if (!account || !account->reusable()) {
      auto& from = m.shared.accelerator ? m.shared.accelerator->leased_memory() : memory::heap();
      account = nullptr;
      account = new frame_memory{m.ledger->name(), nullptr, from};
    }
    account->open({}, std::move(leases[d]));
    f.accounts[d] = account;
  }
}

void session_devices::close(frame& f) {
  f.arenas.clear();
  for (auto& account : f.accounts)
    if (auto* const mine = account.get()) {
      account = nullptr; // the session has it still
      mine->close();
    }
  f.accounts.clear();
}

value session_devices::bring(const value& constant, std::uint32_t d) {
  const std::lock_guard lock{weights_mutex_};
  auto& known = weights_[{constant.body(), d}];
  if (!known.placed.empty())
    return known.placed;
  auto& m = members_[d];
  auto& home = *m.shared.accelerator;
  const auto& t = constant.tensor();
  const auto made = [&] {
    try {
      return make_on_device(home, *m.weights, t.type(), t.shape());
    } catch (const error& e) {
      throw error{e.code(), "a weight of " + std::to_string(t.bytes()) + " bytes finds no place on " +
                                home.name() + ": " + e.what()};
    }
  }();
  value placed{made.content};
  made.where->set_ready(stream(d, way::in, weights_.size())
                            .copy({.kind = copy_kind::to_device,
                                   .to = made.content->raw(),
                                   .from = t.raw(),
                                   .bytes = t.bytes(),
                                   .to_owner = placed,
                                   .from_owner = constant}));
  known = {constant, placed};
  if (weights_.size() >= forget_at_)
    forget_unused();
  return placed;
}

void session_devices::forget_unused() {
  std::erase_if(weights_, [](const auto& w) { return w.second.placed.empty() || w.second.placed.unique(); });
  forget_at_ = std::max<std::size_t>(256, 2 * weights_.size());
}

device_stream& session_devices::stream(std::uint32_t d, way w, std::size_t number) const noexcept {
  const auto& all = members_[d].streams[static_cast<std::size_t>(w)];
  return *all[number % all.size()];
}

} // namespace sluice
