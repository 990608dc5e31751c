#pragma once

#include <sluice/graph/export.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// What placement needs to know: steps with their times, values with their bytes, devices and the links
/// between them. It knows neither graphs nor kernels. Steps, values, constants, devices and links are called
/// by their positions. Times are nanoseconds.
struct placement_problem {
  /// The time of a step on a device that has no kernel for it.
  static constexpr double no_kernel = std::numeric_limits<double>::infinity();

  struct device {
    std::string name;   ///< a full one: "sim:0"
    unsigned lanes = 1; ///< steps that it executes at once: workers, streams
    std::size_t budget = std::numeric_limits<std::size_t>::max(); ///< bytes
    /// Whether whatever is made there, or arrives, stays to the end of the run, scratch spaces too: so where
    /// a frame leases the sum of all and frees nothing sooner.
    bool keeps_values = false;
  };

  /// One way between two devices. A transfer takes latency_ns + bytes / bytes_per_ns on one of its engines.
  struct link {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    double bytes_per_ns = 1; ///< equals GB/s
    double latency_ns = 0;
    unsigned engines = 1; ///< transfers that it makes at once
  };

  /// What flows along an edge. A step makes it, or it is fed: then it is there from the start and its bytes
  /// on `fed_on` are the caller's.
  struct flowing_value {
    std::string name;
    std::size_t bytes = 0;
    std::optional<std::uint32_t> fed_on;    ///< device
    std::optional<std::uint32_t> result_on; ///< device where the caller wants it; kept there to the end
  };

  /// A weight: lies on every device with a step that reads it, all the time.
  struct constant {
    std::string name;
    std::size_t bytes = 0;
  };

  struct step {
    std::string name;
    std::vector<double> time_ns; ///< by device; no_kernel where it cannot run
    std::vector<std::uint32_t> inputs{};
    std::vector<std::uint32_t> outputs{};
    std::vector<std::uint32_t> constants{};
    std::size_t scratch_bytes = 0; ///< held while it runs
    std::string scope{};           ///< device name or partial name; "" leaves it open
    std::string colocation{};      ///< steps with the same name share a device; "" leaves it open
  };

  std::vector<device> devices;
  std::vector<link> links; ///< at most one for each ordered pair of devices
  std::vector<flowing_value> values;
  std::vector<constant> constants;
  std::vector<step> steps; ///< in topological order

  /// Throws errc::invalid_argument that names what is wrong: no device, a position that is out of range, a
  /// time that is negative or not a number, a missing link, a value made twice or used before it is made.
  SLUICE_API void check() const;
};

} // namespace sluice
