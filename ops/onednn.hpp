#pragma once

#include <sluice/graph/error.hpp>
#include <sluice/graph/tensor.hpp>

#include <oneapi/dnnl/dnnl.hpp>

#include <string>

/// oneDNN as the kernels of this folder use it: one engine, a stream a thread, scratch memory of ours.
namespace sluice::ops {

[[nodiscard]] const dnnl::engine& onednn_engine();

/// The calling thread's stream.
[[nodiscard]] dnnl::stream& onednn_stream();

/// Attributes of a primitive whose scratch memory the caller provides.
[[nodiscard]] dnnl::primitive_attr with_user_scratch();

/// The memory described by `d`, standing at `data`, which is only written if it is an output.
[[nodiscard]] inline dnnl::memory memory_at(const dnnl::memory::desc& d, const void* data) {
  return {d, onednn_engine(), const_cast<void*>(data)};
}

/// False for the implementations that oneDNN has for checking its others by, some hundred times slower.
[[nodiscard]] inline bool is_fast(const char* implementation) {
  return std::string_view{implementation}.find("ref") == std::string_view::npos;
}

/// Calls `f` and turns what oneDNN throws into an error of `code`.
template <class F>
auto with_onednn_errors(errc code, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const dnnl::error& e) {
    throw error{code, std::string{"oneDNN: "} + e.what()};
  }
}

} // namespace sluice::ops
