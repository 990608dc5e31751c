#pragma once

#include <sluice/devices/device.hpp>
#include <sluice/devices/sim_clock.hpp>
#include <sluice/devices/sim_options.hpp>
#include <sluice/graph/export.hpp>

#include <memory>
#include <string>

namespace sluice {

class sim_queues;

/// A simulated accelerator: an accelerator in all that a program can see, whose work is functions of the
/// host, so that results are real. Its memory is the host's.
///
/// On a virtual clock it takes time as its options say: work its estimate divided by the rate, a copy latency
/// plus bytes divided by bandwidth. Work runs, and copies are made, at the moment at which they end, so that
/// nobody can see a result early. Everything is deterministic if one thread enqueues.
///
/// On an executor work takes what it takes, and times are real; a stepped_executor makes the order a seed's.
class SLUICE_API sim_device final : public device {
public:
  /// In virtual time. An event's wait() moves the clock on; it throws errc::invalid_argument if nothing that
  /// is to come leads to the event. Throws errc::invalid_argument, naming the option, for one that makes no
  /// sense.
  sim_device(std::string name, const sim_options& options, std::shared_ptr<sim_clock> clock);

  /// In real time. Work and copies are jobs of `threads`, which must run all its jobs; the device is lost
  /// when it takes no more.
  sim_device(std::string name, const sim_options& options, std::shared_ptr<executor> threads);

  ~sim_device() override;

  [[nodiscard]] sluice::memory& memory() noexcept override { return *memory_; }
  [[nodiscard]] sluice::memory& leased_memory() noexcept override { return *leased_memory_; }
  [[nodiscard]] sluice::memory& staging() noexcept override { return *staging_; }
  [[nodiscard]] std::unique_ptr<device_stream> make_stream() override;
  [[nodiscard]] std::chrono::nanoseconds now() const override;
  [[nodiscard]] event_ptr loss() const noexcept override;
  void lose(const std::string& why) override;

private:
  friend class sim_stream;

  sim_device(std::string name, const sim_options& options, std::shared_ptr<sim_clock> clock,
             std::shared_ptr<executor> threads);

  const std::shared_ptr<sim_queues> queues_;
  const intrusive_ptr<sluice::memory> leased_memory_;
  const intrusive_ptr<sluice::memory> memory_;
  const intrusive_ptr<sluice::memory> staging_;
};

} // namespace sluice
