#include <sluice/devices/sim_device.hpp>

#include <sluice/devices/ledger_memory.hpp>
#include <sluice/devices/sim_queues.hpp>
#include <sluice/graph/error.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <utility>

namespace sluice {

namespace {

/// The memory of a simulated device: the host's, with the device's failures.
class sim_memory final : public memory {
public:
  explicit sim_memory(std::shared_ptr<sim_queues> queues) : queues_(std::move(queues)) {}

  void* allocate(std::size_t bytes) override {
    if (const auto lost = queues_->why_lost())
      std::rethrow_exception(lost);
    const auto number = allocations_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number == queues_->options().failures.allocation)
      throw error{errc::out_of_memory, queues_->name() + " failed allocation " + std::to_string(number) +
                                           " of " + std::to_string(bytes) + " bytes, as injected"};
    return heap().allocate(bytes);
  }

  void deallocate(void* block, std::size_t bytes) noexcept override { heap().deallocate(block, bytes); }

private:
  const std::shared_ptr<sim_queues> queues_;
  std::atomic<std::uint64_t> allocations_ = 0;
};

device_capacity capacity_of(const sim_options& o, const std::string& device) {
  check(o, device);
  return {.memory = o.memory,
          .rate = o.rate,
          .memory_bandwidth = o.memory_bandwidth,
          .bandwidth = o.bandwidth,
          .latency = o.latency,
          .copy_engines = o.copy_engines,
          .streams = o.streams};
}

/// Rounded up, so that nothing is faster than its bandwidth, and at most a quarter of a year, so that sums
/// stay sums.
std::chrono::nanoseconds time_of(double nanoseconds) {
  return std::chrono::nanoseconds{static_cast<std::int64_t>(std::ceil(std::clamp(nanoseconds, 0.0, 0x1p53)))};
}

std::chrono::nanoseconds transfer_time(std::size_t bytes, double bandwidth) {
  return time_of(bandwidth > 0 ? static_cast<double>(bytes) * 1e9 / bandwidth : 0);
}

} // namespace

class sim_stream final : public device_stream {
public:
  explicit sim_stream(std::shared_ptr<sim_queues> queues)
    : queues_(std::move(queues)), queue_(queues_->make_queue()) {}
  ~sim_stream() override { queues_->drop(queue_); }

  event_ptr enqueue(device_work work) override {
    if (!work.run)
      throw error{errc::invalid_argument, queues_->name() + ": a piece of work has no function"};
    const auto p = piece(sim_piece::kind::work, std::move(work.after));
    p->function = std::move(work.run);
    p->time = time_of(static_cast<double>(work.estimate.count()) / queues_->options().rate);
    return queues_->enqueue(queue_, p);
  }

  event_ptr copy(device_copy what) override {
    if (what.bytes > 0 && (!what.to || !what.from))
      throw error{errc::invalid_argument,
                  queues_->name() + ": a copy of " + std::to_string(what.bytes) + " bytes has no address"};
    if (what.kind == copy_kind::from_peer && !what.peer)
      throw error{errc::invalid_argument, queues_->name() + ": a copy from a peer names no device"};
    const auto p = piece(sim_piece::kind::copy, std::move(what.after));
    route(*p, what);
    p->function = [what, peer_loss = what.peer ? what.peer->loss() : nullptr](const issue_context&) {
      if (const auto lost = peer_loss ? peer_loss->failure() : nullptr)
        std::rethrow_exception(lost);
      if (what.bytes > 0)
        std::memcpy(what.to, what.from, what.bytes);
    };
    return queues_->enqueue(queue_, p);
  }

  event_ptr record() override { return queues_->enqueue(queue_, piece(sim_piece::kind::mark, {})); }

  void wait_for(event_ptr e) override {
    queues_->enqueue(queue_, piece(sim_piece::kind::mark, {std::move(e)}));
  }

private:
  static std::shared_ptr<sim_piece> piece(sim_piece::kind what, std::vector<event_ptr> after) {
    auto p = std::make_shared<sim_piece>();
    p->what = what;
    p->after = std::move(after);
    return p;
  }

  /// Which links a copy takes, and for how long.
  void route(sim_piece& p, const device_copy& what) const {
    const auto& own = queues_->options();
    if (what.kind == copy_kind::on_device) {
      p.time = transfer_time(what.bytes, own.memory_bandwidth);
      return;
    }
    p.links[0] = what.kind == copy_kind::to_host ? queues_->link_out() : queues_->link_in();
    p.latency = own.latency;
    auto bandwidth = own.bandwidth;
    const auto* peer = what.kind == copy_kind::from_peer ? dynamic_cast<sim_device*>(what.peer) : nullptr;
    if (peer && peer->queues_ != queues_ && peer->queues_->clock() == queues_->clock()) {
      p.links[1] = peer->queues_->link_out();
      p.latency += peer->queues_->options().latency;
      bandwidth = std::min(bandwidth, peer->queues_->options().bandwidth);
    }
    p.time = transfer_time(what.bytes, bandwidth);
  }

  const std::shared_ptr<sim_queues> queues_;
  const std::shared_ptr<sim_queue> queue_;
};

sim_device::sim_device(std::string name, const sim_options& options, std::shared_ptr<sim_clock> clock)
  : sim_device(std::move(name), options, std::move(clock), nullptr) {}

sim_device::sim_device(std::string name, const sim_options& options, std::shared_ptr<executor> threads)
  : sim_device(std::move(name), options, nullptr, std::move(threads)) {}

sim_device::sim_device(std::string name, const sim_options& options, std::shared_ptr<sim_clock> clock,
                       std::shared_ptr<executor> threads)
  : device(std::move(name), capacity_of(options, name)),
    queues_(std::make_shared<sim_queues>(this->name(), options, std::move(clock), std::move(threads))),
    leased_memory_(new sim_memory{queues_}),
    memory_(new ledger_memory{leased_memory_, ledger(), memory_use::frames}),
    staging_(new ledger_memory{&memory::heap(),
                               memory_ledger::make(this->name() + " staging", options.staging),
                               memory_use::frames}) {}

sim_device::~sim_device() {
  queues_->close();
}

std::unique_ptr<device_stream> sim_device::make_stream() {
  return std::make_unique<sim_stream>(queues_);
}

std::chrono::nanoseconds sim_device::now() const {
  return queues_->now();
}

event_ptr sim_device::loss() const noexcept {
  return queues_->loss();
}

void sim_device::lose(const std::string& why) {
  queues_->lose(why);
}

} // namespace sluice
