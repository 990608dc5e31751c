#pragma once

#include <sluice/actors/options.hpp>
#include <sluice/actors/session.hpp>
#include <sluice/devices/device_list.hpp>
#include <sluice/graph/graph_builder.hpp>

#include <caf/fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

class device;
class executor;
class operator_library;

/// Options of an engine.
struct engine_options {
  /// Threads that may compute or spin at once in this process, whatever the number of engines; 0: leave it as
  /// it is (at first, as many as the process may use CPUs). It can be changed at any time.
  unsigned cpu_budget = 0;
  /// Bytes that may be in use on a device ("cpu:0"); where not said, as many as it has.
  std::map<std::string, std::size_t> memory_budget{};
  /// Devices besides the host's "cpu:0": further CPU devices ("cpu:1"; options memory, threads) and simulated
  /// accelerators ("sim:0"; options as in sim_options.hpp).
  device_list devices{};
  /// Accelerators that somebody made; they come after those.
  std::vector<std::shared_ptr<device>> accelerators{};
  /// The operators that graphs may use; null: all that Sluice has.
  std::shared_ptr<const operator_library> operators{};
  /// For tests: runs everything instead of the process's threads.
  std::shared_ptr<executor> threads{};
};

/// Owns the actor system and the devices; loads graphs. Its end drains its sessions for 5 s, then cancels
/// what is left. It may end on any thread.
///
/// An engine, and a session, may be a static object. Then no run may be in flight at the end of main(): the
/// libraries that kernels are made with, such as oneDNN, end before such an engine does.
///
/// @threadsafe all members but the destructor.
class SLUICE_API engine {
public:
  explicit engine(engine_options options = {});
  /// Within the user's own actor system, whose configuration went through sluice::configure() (see caf.hpp).
  /// Throws errc::invalid_argument if it did not. The system must outlive the engine.
  explicit engine(caf::actor_system& system, engine_options options = {});
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Loads an ONNX model. Throws errc::io_failed, invalid_model or unsupported, naming the file and what is
  /// wrong.
  [[nodiscard]] session load(const std::filesystem::path& model, session_options options = {});
  /// From memory; external data is refused.
  [[nodiscard]] session load(std::span<const std::byte> model, session_options options = {});
  /// A graph built in C++.
  [[nodiscard]] session load(std::shared_ptr<const graph> model, session_options options = {});

  /// A builder of graphs over this engine's operators.
  [[nodiscard]] graph_builder builder(int opset = 17) const;

  [[nodiscard]] unsigned cpu_budget() const noexcept;
  /// "cpu:0: 12 of 100 bytes in use (…)", a line a device.
  [[nodiscard]] std::string memory_report() const;
  [[nodiscard]] std::size_t memory_in_use(std::string_view device = "cpu:0") const;
  [[nodiscard]] std::size_t memory_peak(std::string_view device = "cpu:0") const;

  /// A thread that spawns actors in it of its own keeps it from ending, until the thread ends or calls
  /// caf::logger::set_current_actor_system(nullptr). The main thread must do so before the end of main() if
  /// the engine is a static object.
  [[nodiscard]] caf::actor_system& system() const noexcept;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace sluice
