#include <sluice/ops/onednn.hpp>

namespace sluice::ops {

const dnnl::engine& onednn_engine() {
  // Never destroyed: static objects may hold what was made with it.
  static const auto& engine = *new dnnl::engine{dnnl::engine::kind::cpu, 0};
  return engine;
}

dnnl::stream& onednn_stream() {
  thread_local dnnl::stream stream{onednn_engine()};
  return stream;
}

dnnl::primitive_attr with_user_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

} // namespace sluice::ops
