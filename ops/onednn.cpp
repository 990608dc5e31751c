#include <sluice/ops/onednn.hpp>

#include <dlfcn.h>

namespace sluice::ops {

namespace {

/// The two functions of the OpenMP runtime that Debian's oneDNN brings with it; found at run time, so that
/// the library itself does not depend on one.
struct openmp_runtime {
  int (*max_threads)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  void (*set_threads)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));

  static const openmp_runtime& get() {
    static const openmp_runtime runtime;
    return runtime;
  }
};

} // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  return engine;
}

dnnl::stream& onednn_stream() {
  thread_local dnnl::stream stream{onednn_engine()};
  return stream;
}

onednn_width::onednn_width(unsigned width) noexcept : before_(0) {
  const auto& openmp = openmp_runtime::get();
  if (!openmp.max_threads || !openmp.set_threads)
    return;
  before_ = openmp.max_threads(); // of the calling thread
  openmp.set_threads(static_cast<int>(width));
}

onednn_width::~onednn_width() {
  if (before_ > 0)
    openmp_runtime::get().set_threads(before_);
}

dnnl::primitive_attr with_user_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

} // namespace sluice::ops
