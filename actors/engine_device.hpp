#pragma once

#include <sluice/devices/device.hpp>
#include <sluice/devices/executor.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sluice {

struct engine_options;

/// A device as an engine has it, shared by its sessions.
struct engine_device {
  std::string name;
  std::shared_ptr<device> accelerator{};   ///< null: a CPU device, whose memory is the host's
  std::shared_ptr<memory_ledger> ledger{}; ///< the books of its memory
  std::shared_ptr<executor> threads{};     ///< of a further CPU device; null: those of the session
};

/// The devices that `o` asks for; the host, "cpu:0", comes first. What simulated devices
/// compute runs on `threads`, and under a test that decides the order of events, so does all else.
///
/// Of a CPU device an option `memory` is its budget, of one other than "cpu:0" `threads` how many firings it
/// executes at once. Throws errc::invalid_argument that names the device and what is wrong, errc::unsupported
/// for a kind that there is not.
[[nodiscard]] std::vector<engine_device> make_devices(const engine_options& o,
                                                      const std::shared_ptr<executor>& threads);

} // namespace sluice
