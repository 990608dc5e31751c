#pragma once

#include <sluice/graph/export.hpp>

#include <compare>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct plan;
struct plan_step;

/// What tells one kernel's times from another's.
struct kernel_id {
  std::string op;         ///< "Conv-11"; "domain::Op-1" outside ONNX's own domain
  std::string inputs;     ///< types, constants marked: "float32[1, 3], float32[3] constant"
  std::string outputs;    ///< types
  std::string attributes; ///< a hash of them, and of small constants that say shapes; hexadecimal

  friend auto operator<=>(const kernel_id&, const kernel_id&) = default;
};

/// Names the kernel of `s`.
[[nodiscard]] SLUICE_API kernel_id id_of(const plan& p, const plan_step& s);

/// What times hold for: others are kept in a profile's file, but not used.
struct profile_machine {
  std::string cpu;      ///< model and instruction set level: "… EPYC 9654, x86-64-v4"
  std::string library;  ///< Sluice's version
  std::string kernels;  ///< version of the library that kernels are made with: "oneDNN 2.6.0"
  unsigned threads = 1; ///< that may join one firing

  friend bool operator==(const profile_machine&, const profile_machine&) = default;
};

/// The machine at hand. `kernels` as kernel_library_version() in `ops/operators.hpp` says it.
[[nodiscard]] SLUICE_API profile_machine this_machine(std::string kernels, unsigned threads);

/// Measured times of kernels, kept in a JSON file that people can read and share: a section for each machine,
/// library version and number of threads.
class SLUICE_API kernel_profile {
public:
  struct time {
    double ns = 0;    ///< median
    double flops = 0; ///< by the operator's formula, to correct it by
    double bytes = 0;
  };
  using table = std::map<kernel_id, time>;

  /// Empty, for `machine`.
  explicit kernel_profile(profile_machine machine) : machine_(std::move(machine)) {}

  /// What `file` says of `machine`; all else in it is kept for write(). A file that is not there is an empty
  /// one. Throws errc::io_failed if it cannot be read, errc::invalid_argument that names file and place if it
  /// is not such a file.
  [[nodiscard]] static kernel_profile read(const std::filesystem::path& file, profile_machine machine);
  /// The same from text that errors call `origin`.
  [[nodiscard]] static kernel_profile parse(std::string_view text, const std::string& origin,
                                            profile_machine machine);

  /// Writes everything; readers see the old file or the new one, whole. Makes the folders that lack. Throws
  /// errc::io_failed, naming the file.
  void write(const std::filesystem::path& file) const;

  [[nodiscard]] const time* find(const kernel_id& kernel) const;
  void put(kernel_id kernel, const time& t) { kernels_.insert_or_assign(std::move(kernel), t); }
  [[nodiscard]] const table& all() const noexcept { return kernels_; }
  [[nodiscard]] const profile_machine& machine() const noexcept { return machine_; }
  /// How many sections of other machines or versions the file has.
  [[nodiscard]] std::size_t others() const noexcept { return others_.size(); }

private:
  profile_machine machine_;
  table kernels_;
  std::vector<std::pair<profile_machine, table>> others_;
};

/// Where a user's profile lies if nobody says otherwise: `sluice/kernels.json` in $XDG_CACHE_HOME, or else in
/// ~/.cache; empty if there is no home.
[[nodiscard]] SLUICE_API std::filesystem::path default_profile_file();

} // namespace sluice
