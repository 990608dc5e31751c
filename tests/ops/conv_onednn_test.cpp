#include <sluice/ops/conv_onednn.hpp>

#include "random_tensor.hpp"
#include "run_op.hpp"

#include <sluice/devices/kernel_context.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::ops;
using namespace sluice::test;

namespace {

std::size_t lanes() {
  return onednn_block() == layout::nchw16c ? 16 : 8;
}

/// Calls `f(index in the plain tensor, index in the blocked one)` for all elements of [1, channels, pixels].
template <class F>
void for_each_blocked(std::size_t channels, std::size_t pixels, F f) {
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < pixels; ++i)
      f(c * pixels + i, (c / lanes() * pixels + i) * lanes() + c % lanes());
}

} // namespace

BOOST_AUTO_TEST_SUITE(conv_onednn_test)

BOOST_AUTO_TEST_CASE(onednn_serves_the_shapes_it_is_chosen_for_without_its_reference_kernels) {
  const auto made = [](convolution c, onednn_convolution_options options) {
    const auto in = static_cast<std::int64_t>(c.in), out = static_cast<std::int64_t>(c.groups * c.out);
    const value w = uniform_numbers({out, in, 3, 3}, 1);
    return make_onednn_convolution(c, w, true, options) != nullptr;
  };
  const window::axis axis{.in = 28, .out = 28, .kernel = 3, .pad_begin = 1, .pad_end = 1};
  const window over{{axis, axis}};
  BOOST_TEST(made({1, 1, 64, 64, over}, {}));
  BOOST_TEST(made({1, 32, 1, 1, over}, {}));
  BOOST_TEST(made({1, 1, 64, 64, over}, {.blocked_in = true, .blocked_out = true}));
  using order = onednn_convolution_options::order;
  BOOST_TEST(made({1, 1, 3, 64, over}, {.channels = order::plain_source}));
  BOOST_TEST(made({1, 8, 4, 4, over}, {.channels = order::last}));
  if (__builtin_cpu_supports("avx512f"))
    BOOST_TEST(made({1, 1, 64, 64, over}, {.winograd = true}));
}

BOOST_AUTO_TEST_CASE(blocked_images_are_taken_and_given_with_zeros_in_the_padding) {
  const std::int64_t in = 20, out = 37, extent = 12;
  const auto pixels = static_cast<std::size_t>(extent * extent);
  const value x = whole_numbers<float>({1, in, extent, extent}, 1);
  const value w = whole_numbers<float>({out, in, 3, 3}, 2);
  const window::axis axis{.in = extent, .out = extent, .kernel = 3, .pad_begin = 1, .pad_end = 1};
  const auto plain = run_op("Conv", {x, w}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}})[0];
  const auto kernel = make_onednn_convolution(
      {1, 1, static_cast<std::size_t>(in), static_cast<std::size_t>(out), {{axis, axis}}}, w, false,
      {.blocked_in = true, .blocked_out = true});
  BOOST_REQUIRE(kernel != nullptr);
  const auto blocks = [](std::int64_t channels) {
    return (static_cast<std::size_t>(channels) + lanes() - 1) / lanes();
  };
  const auto bytes = blocks(in) * lanes() * pixels * sizeof(float);
  auto blocked = tensor::make_laid_out(element_type::float32, {1, in, extent, extent}, onednn_block(), bytes,
                                       memory::heap());
  auto* elements = static_cast<float*>(blocked->raw());
  std::fill_n(elements, bytes / sizeof(float), 0.0f);
  for_each_blocked(static_cast<std::size_t>(in), pixels,
                   [&](std::size_t from, std::size_t to) { elements[to] = x.tensor().data<float>()[from]; });
  value inputs[] = {blocked, w};
  value outputs[1];
  const value_type types[] = {{element_type::float32, shape{1, out, extent, extent}}};
  const auto scratch =
      tensor::make(element_type::uint8, {static_cast<std::int64_t>(kernel->traits().scratch_bytes)});
  kernel_context ctx{{.inputs = inputs,
                      .outputs = outputs,
                      .output_types = types,
                      .allocate_from = memory::heap(),
                      .scratch = static_cast<std::byte*>(scratch->raw())}};
  BOOST_TEST((kernel->execute(ctx) == completion::done));
  const auto& y = outputs[0].tensor();
  BOOST_TEST((y.layout() == onednn_block()));
  BOOST_REQUIRE(y.bytes() == blocks(out) * lanes() * pixels * sizeof(float));
  const auto* given = static_cast<const float*>(y.raw());
  std::vector<float> seen(plain.tensor().data<float>().size());
  double total = 0, taken = 0;
  for (std::size_t i = 0; i < y.bytes() / sizeof(float); ++i)
    total += std::abs(static_cast<double>(given[i]));
  for_each_blocked(static_cast<std::size_t>(out), pixels, [&](std::size_t to, std::size_t from) {
    seen[to] = given[from];
    taken += std::abs(static_cast<double>(given[from]));
  });
  BOOST_TEST(difference<float>(plain, seen) < 1e-5);
  BOOST_TEST(total == taken);
}

BOOST_AUTO_TEST_SUITE_END()
