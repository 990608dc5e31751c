// The functions of libgomp that Debian's oneDNN calls. This library stands before libgomp in the order of
// look-up, so that they come here first; what is not Sluice's business goes on.

#include <sluice/devices/openmp_regions.hpp>
#include <sluice/graph/export.hpp>

#include <dlfcn.h>

namespace {

using sluice::openmp_view;

/// The next definition of a function after this library's, or null.
template <class Function>
Function* next(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int ask_next(int (*function)(), int without) {
  return function ? function() : without;
}

} // namespace

extern "C" {

SLUICE_API void GOMP_parallel(void (*f)(void*), void* data, unsigned threads, unsigned flags);
SLUICE_API void GOMP_barrier();
SLUICE_API int omp_get_thread_num();
SLUICE_API int omp_get_num_threads();
SLUICE_API int omp_get_max_threads();
SLUICE_API int omp_in_parallel();

void GOMP_parallel(void (*f)(void*), void* data, unsigned threads, unsigned flags) {
  if (openmp_view::here().width)
    return openmp_view::run_region(f, data, threads);
  static auto* const real = next<void(void (*)(void*), void*, unsigned, unsigned)>("GOMP_parallel");
  if (real)
    real(f, data, threads, flags);
  else
    f(data);
}

void GOMP_barrier() {
  if (const auto& here = openmp_view::here(); here.width) {
    if (here.size > 1)
      here.regions->barrier();
    return;
  }
  static auto* const real = next<void()>("GOMP_barrier");
  if (real)
    real();
}

int omp_get_thread_num() {
  if (const auto& here = openmp_view::here(); here.width)
    return static_cast<int>(here.rank);
  static auto* const real = next<int()>("omp_get_thread_num");
  return ask_next(real, 0);
}

int omp_get_num_threads() {
  if (const auto& here = openmp_view::here(); here.width)
    return static_cast<int>(here.size);
  static auto* const real = next<int()>("omp_get_num_threads");
  return ask_next(real, 1);
}

int omp_get_max_threads() {
  if (const auto& here = openmp_view::here(); here.width)
    return static_cast<int>(here.width);
  static auto* const real = next<int()>("omp_get_max_threads");
  return ask_next(real, 1);
}

int omp_in_parallel() {
  if (const auto& here = openmp_view::here(); here.width)
    return here.in_parallel;
  static auto* const real = next<int()>("omp_in_parallel");
  return ask_next(real, 0);
}

} // extern "C"
