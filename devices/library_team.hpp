#pragma once

#include <sluice/devices/executor.hpp>
#include <sluice/graph/export.hpp>

namespace sluice {

/// Lets a library that computes with OpenMP (oneDNN) compute on threads of the CPU budget, in place of a team
/// of its own that each calling thread would start and that spins after every region.
///
/// The library of libgomp's functions is overlaid: Sluice defines those that oneDNN uses. Calls made inside
/// try_run() or during a library_width go to the worker's pool; all others, also those of user code, go on to
/// libgomp.
///
/// A primitive's width is fixed when it is created and it must then be executed at that width. So a kernel
/// that wants to be wide creates a primitive for each of the widths 1 and w, and executes
///
///     if (!library_team::try_run(here, w, [&] { execute(wide); }))
///       library_team::run_alone([&] { execute(narrow); });
///
/// oneDNN's own scratchpad belongs to the thread that created the primitive: pass one at each execution
/// (`scratchpad_mode::user`), since firings run on any thread.
class SLUICE_API library_team {
public:
  /// Runs `kernel` on the calling thread with `width - 1` other threads of the pool at its disposal for the
  /// regions that it opens. They are held until it returns. False, without a call, where they are not free
  /// now, or where `width` is more than one and effective() is false. Throws what `kernel` throws.
  [[nodiscard]] static bool try_run(worker& here, unsigned width, function_ref<void()> kernel);

  /// Runs `kernel` with its regions on the calling thread alone.
  static void run_alone(function_ref<void()> kernel);

  /// Whether the process's OpenMP calls come to Sluice; false where another definition stands before it, as
  /// happens if libgomp was loaded first. Wide library kernels cannot be used then.
  [[nodiscard]] static bool effective() noexcept;
};

/// While it lives, libraries on this thread believe that they have `width` threads, but regions run on the
/// calling thread alone: for creating primitives, and for executing those of width 1. Nests.
class SLUICE_API library_width {
public:
  explicit library_width(unsigned width) noexcept;
  ~library_width();
  library_width(const library_width&) = delete;
  library_width& operator=(const library_width&) = delete;

private:
  unsigned width_before_ = 0;
  void* regions_before_ = nullptr;
};

} // namespace sluice
