#include "random_tensor.hpp"
#include "run_kernel.hpp"
#include "run_op.hpp"

#include <tests/support/elements.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>

using namespace sluice;
using namespace sluice::test;

namespace {

using integers = std::vector<std::int64_t>;

value list(const integers& elements) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(elements.size())}, std::span{elements});
}

/// 0, 1, 2, … as T.
template <class T>
value counting(const shape& s) {
  auto t = tensor::make(element_type_of<T>, s);
  std::size_t i = 0;
  for (auto& element : t->template data<T>()) {
    if constexpr (std::is_same_v<T, std::string>)
      element = "text number " + std::to_string(i++);
    else if constexpr (std::is_arithmetic_v<T>)
      element = static_cast<T>(i++);
    else
      element = static_cast<T>(static_cast<float>(i++));
  }
  return t;
}

integers extents(const value& v) {
  const auto& s = v.tensor().shape();
  return {s.begin(), s.end()};
}

/// Transposes element by element.
template <class T>
std::vector<T> transposed(const value& v, const integers& permutation) {
  const auto& s = v.tensor().shape();
  const auto in = v.tensor().data<T>();
  std::vector<T> out;
  integers index(s.rank(), 0);
  for (std::size_t n = 0; n < in.size(); ++n) {
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < s.rank(); ++axis) {
      const auto place = std::find(permutation.begin(), permutation.end(), static_cast<std::int64_t>(axis));
      at = at * static_cast<std::size_t>(s[axis]) +
           static_cast<std::size_t>(index[static_cast<std::size_t>(place - permutation.begin())]);
    }
    out.push_back(in[at]);
    for (auto i = s.rank(); i-- > 0;) {
      if (++index[i] < s[static_cast<std::size_t>(permutation[i])])
        break;
      index[i] = 0;
    }
  }
  return out;
}

template <class T>
void check_all_permutations(const shape& s) {
  const auto in = counting<T>(s);
  integers permutation(s.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  do {
    const auto out = run_op("Transpose", {in}, {{"perm", permutation}});
    BOOST_TEST((elements<T>(out[0]) == transposed<T>(in, permutation)));
  } while (std::next_permutation(permutation.begin(), permutation.end()));
}

void check_refused(const std::string& op, const std::vector<value>& inputs,
                   const attribute_map& attributes = {}, int opset = 17) {
  BOOST_CHECK_THROW(static_cast<void>(run_op(op, inputs, attributes, {.opset = opset})), error);
}

} // namespace

BOOST_AUTO_TEST_SUITE(movement_test)

BOOST_AUTO_TEST_CASE(every_permutation_of_every_element_size_puts_each_element_in_its_place) {
  check_all_permutations<float>({3, 5, 7, 2});
  check_all_permutations<float>({33, 70, 9});
  check_all_permutations<std::uint8_t>({3, 18, 7});
  check_all_permutations<float16>({6, 35});
  check_all_permutations<double>({4, 1, 37, 5});
  check_all_permutations<std::complex<double>>({5, 6, 7});
  check_all_permutations<std::string>({3, 4, 5});
  check_all_permutations<float>({2, 0, 3});
  check_all_permutations<std::int32_t>({2, 3, 1, 2, 3});
}

BOOST_AUTO_TEST_CASE(a_large_transposition_is_cut_in_chunks_that_any_order_completes) {
  backward_worker threads;
  const auto in = counting<float>({300, 517});
  const auto out = run_kernel("Transpose", {in}, {}, &threads);
  BOOST_TEST(threads.chunks > 1u);
  BOOST_TEST((elements<float>(out[0]) == transposed<float>(in, {1, 0})));
  const auto row = run_kernel("Expand", {counting<float>({1}), list({100'000})}, {}, &threads);
  BOOST_TEST(std::all_of(row[0].tensor().data<float>().begin(), row[0].tensor().data<float>().end(),
                         [](float x) { return x == 0; }));
}

BOOST_AUTO_TEST_CASE(what_only_changes_the_shape_shares_its_bytes) {
  const auto in = counting<float>({1, 6, 1, 4});
  const auto shares = [&](const value& out) { return out.tensor().raw() == in.tensor().raw(); };
  BOOST_TEST(shares(run_op("Reshape", {in, list({2, -1})})[0]));
  BOOST_TEST(shares(run_op("Flatten", {in}, {{"axis", std::int64_t{-2}}})[0]));
  BOOST_TEST(shares(run_op("Squeeze", {in})[0]));
  BOOST_TEST(shares(run_op("Unsqueeze", {in, list({0, -1})})[0]));
  BOOST_TEST(shares(run_op("Transpose", {in}, {{"perm", integers{2, 1, 0, 3}}})[0]));
}

BOOST_AUTO_TEST_CASE(a_long_slice_of_neighbours_is_a_view_and_a_short_one_a_copy) {
  const auto in = counting<float>({1, 1000, 2});
  const auto view = run_op("Slice", {in, list({100}), list({900}), list({1})})[0];
  BOOST_TEST(view.tensor().raw() == in.tensor().data<float>().data() + 200);
  BOOST_TEST(extents(view) == (integers{1, 800, 2}), boost::test_tools::per_element());
  const auto copy = run_op("Slice", {in, list({100}), list({110}), list({1})})[0];
  BOOST_TEST(copy.tensor().owns_elements());
  BOOST_TEST(copy.tensor().data<float>()[0] == 200);
}

BOOST_AUTO_TEST_CASE(slices_follow_the_rules_of_python_with_starts_clamped) {
  struct example {
    std::int64_t start, end, step;
    std::vector<float> taken;
  };
  constexpr auto low = std::numeric_limits<std::int64_t>::min();
  constexpr auto high = std::numeric_limits<std::int64_t>::max();
  const auto in = counting<float>({5});
  for (const auto& e :
       {example{1, 4, 1, {1, 2, 3}}, example{-2, high, 1, {3, 4}}, example{3, 1, 1, {}},
        example{0, 5, 2, {0, 2, 4}}, example{-1, low, -1, {4, 3, 2, 1, 0}}, example{4, 0, -2, {4, 2}},
        example{high, low, -2, {4, 2, 0}}, example{low, high, high, {0}}, example{high, low, low, {4}},
        example{7, 9, 1, {}}, example{2, -9, -1, {2, 1, 0}}}) {
    const auto out = run_op("Slice", {in, list({e.start}), list({e.end}), {}, list({e.step})});
    BOOST_TEST(elements<float>(out[0]) == e.taken, boost::test_tools::per_element());
  }
  check_refused("Slice", {in, list({0}), list({1}), list({0}), list({0})});
  check_refused("Slice", {in, list({0}), list({1, 2})});
  check_refused("Slice", {in, list({0, 0}), list({1, 1}), list({0, -1})});
  check_refused("Slice", {in, list({0}), list({1}), list({1})});
}

BOOST_AUTO_TEST_CASE(reshape_copies_infers_and_refuses) {
  const auto in = counting<float>({2, 3, 4});
  BOOST_TEST(extents(run_op("Reshape", {in, list({0, -1})})[0]) == (integers{2, 12}),
             boost::test_tools::per_element());
  BOOST_TEST(extents(run_op("Reshape", {counting<float>({0, 3}), list({3, 0})},
                            {{"allowzero", std::int64_t{1}}})[0]) == (integers{3, 0}),
             boost::test_tools::per_element());
  for (const auto& target : {integers{5}, integers{-1, -1}, integers{7, -1}, integers{1, 1, 1, 0},
                             integers{-2, 12}, integers{0, -1, 0, 0}, integers{1LL << 40, 1LL << 40}})
    check_refused("Reshape", {in, list(target)});
}

BOOST_AUTO_TEST_CASE(symbols_pass_through_reshape_transpose_slice_and_concat) {
  graph_builder g{standard_operators()->schemas()};
  const auto x = g.placeholder<float>("x", {"N", 16, 8});
  const auto shape_of = [&](edge_ref e) { return to_string(g.type(e).shape()); };
  int constants = 0;
  const auto ints = [&](const integers& i) { return g.constant("c" + std::to_string(constants++), list(i)); };
  BOOST_TEST(shape_of(g.op("Reshape", {x, ints({0, -1})})) == "[N, 128]");
  BOOST_TEST(shape_of(g.op("Reshape", {x, ints({-1, 128})})) == "[N, 128]");
  BOOST_TEST(shape_of(g.op("Reshape", {x, ints({-1, 64})})) == "[?, 64]");
  BOOST_TEST(shape_of(g.op("Transpose", {x}, {{"perm", integers{1, 0, 2}}})) == "[16, N, 8]");
  BOOST_TEST(shape_of(g.op("Slice", {x, ints({0, 1}), ints({1 << 30, 3}), ints({0, 1})})) == "[?, 2, 8]");
  BOOST_TEST(shape_of(g.op("Slice", {x, ints({0, 1}), ints({1LL << 31, 3}), ints({0, 1})})) == "[N, 2, 8]");
  BOOST_TEST(shape_of(g.op("Concat", {x, x}, {{"axis", std::int64_t{-1}}})) == "[N, 16, 16]");
  BOOST_TEST(shape_of(g.op("Concat", {x, x}, {{"axis", std::int64_t{0}}})) == "[?, 16, 8]");
  BOOST_TEST(shape_of(g.op("Flatten", {x})) == "[N, 128]");
  BOOST_TEST(shape_of(g.op("Gather", {x, ints({3})}, {{"axis", std::int64_t{1}}})) == "[N, 1, 8]");
  BOOST_TEST(shape_of(g.op("ReduceMean", {x}, {{"axes", integers{1}}, {"keepdims", std::int64_t{0}}})) ==
             "[N, 8]");
  BOOST_TEST(shape_of(g.op("Expand", {x, ints({1, 16, 8})})) == "[N, 16, 8]");
  BOOST_TEST(shape_of(g.op("Unsqueeze", {x, ints({0, -1})})) == "[1, N, 16, 8, 1]");
  BOOST_TEST(shape_of(g.op("Shape", {x})) == "[3]");
  const auto fed = g.placeholder<std::int64_t>("target", {2});
  BOOST_TEST(shape_of(g.op("Reshape", {x, fed})) == "[?, ?]");
  BOOST_TEST(shape_of(g.op("Squeeze", {x})) == "[...]");
}

BOOST_AUTO_TEST_CASE(indices_count_from_the_end_and_are_checked) {
  const auto data = counting<float>({3, 2});
  const auto rows = run_op("Gather", {data, list({-1, 0})});
  BOOST_TEST(elements<float>(rows[0]) == (std::vector<float>{4, 5, 0, 1}), boost::test_tools::per_element());
  const auto indices = [](const shape& s, const integers& i) {
    return tensor::of<std::int64_t>(s, std::span{i});
  };
  for (const auto bad : {std::int64_t{3}, std::int64_t{-4}, std::numeric_limits<std::int64_t>::min()}) {
    check_refused("Gather", {data, list({bad})});
    check_refused("GatherElements", {data, indices({1, 2}, {0, bad})});
    check_refused("GatherND", {data, indices({1, 1}, {bad})});
    check_refused("ScatterElements", {data, indices({1, 2}, {0, bad}), counting<float>({1, 2})});
    check_refused("ScatterND", {data, indices({1, 1}, {bad}), counting<float>({1, 2})});
  }
  check_refused("Gather", {counting<float>({0, 2}), list({0})});
  check_refused("GatherElements", {data, indices({1, 3}, {0, 0, 0})});
  check_refused("ScatterND", {data, indices({1, 1}, {0}), counting<float>({1, 3})});
  check_refused("ScatterElements", {data, indices({1, 2}, {0, 0}), counting<float>({2, 2})});
  check_refused("Compress", {data, tensor::of<bool>({4}, {true, false, false, true})},
                {{"axis", std::int64_t{0}}});
}

BOOST_AUTO_TEST_CASE(scattering_stands_in_the_bytes_of_data_that_nobody_else_has) {
  auto data = counting<float>({4});
  const auto shared = data;
  const auto scatter = [](value d) {
    std::vector<value> inputs(3);
    inputs[0] = std::move(d);
    inputs[1] = list({1});
    inputs[2] = tensor::of<float>({1}, {9});
    return run_kernel("ScatterElements", std::move(inputs))[0];
  };
  BOOST_TEST(scatter(shared).tensor().raw() != data.tensor().raw());
  BOOST_TEST(elements<float>(data) == (std::vector<float>{0, 1, 2, 3}), boost::test_tools::per_element());
  auto own = counting<float>({4});
  const auto* bytes = own.tensor().raw();
  const auto out = scatter(std::move(own));
  BOOST_TEST(out.tensor().raw() == bytes);
  BOOST_TEST(elements<float>(out) == (std::vector<float>{0, 9, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(scattered_duplicates_are_reduced_in_order) {
  const auto data = tensor::of<float>({2}, {1, 10});
  const auto indices = list({0, 0, 0});
  const auto updates = tensor::of<float>({3}, {2, 5, 3});
  const auto with = [&](const std::string& reduction, int opset) {
    return elements<float>(run_op("ScatterElements", {data, indices, updates}, {{"reduction", reduction}},
                                  {.opset = opset})[0])[0];
  };
  BOOST_TEST(with("none", 16) == 3);
  BOOST_TEST(with("add", 16) == 11);
  BOOST_TEST(with("mul", 16) == 30);
  BOOST_TEST(with("max", 18) == 5);
  BOOST_TEST(with("min", 18) == 1);
  check_refused("ScatterElements", {data, indices, updates}, {{"reduction", std::string{"mean"}}});
}

BOOST_AUTO_TEST_CASE(padding_fills_reflects_repeats_wraps_and_cuts) {
  const auto in = counting<float>({3});
  const auto padded = [&](const std::string& mode, std::int64_t before, std::int64_t after) {
    return elements<float>(run_op("Pad", {in, list({before, after})}, {{"mode", mode}}, {.opset = 19})[0]);
  };
  using floats = std::vector<float>;
  BOOST_TEST(padded("constant", 1, 2) == (floats{0, 0, 1, 2, 0, 0}), boost::test_tools::per_element());
  BOOST_TEST(padded("reflect", 5, 4) == (floats{1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(padded("edge", 2, 1) == (floats{0, 0, 0, 1, 2, 2}), boost::test_tools::per_element());
  BOOST_TEST(padded("wrap", 4, 4) == (floats{2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(padded("constant", -1, -1) == (floats{1}), boost::test_tools::per_element());
  const auto texts =
      run_op("Pad", {tensor::of<std::string>({1}, {"a"}), list({1, 0}), tensor::of<std::string>({}, {"?"})});
  BOOST_TEST(elements<std::string>(texts[0]) == (std::vector<std::string>{"?", "a"}),
             boost::test_tools::per_element());
  check_refused("Pad", {in, list({-2, -2})});
  check_refused("Pad", {in, list({1})});
  check_refused("Pad", {counting<float>({0}), list({1, 1})}, {{"mode", std::string{"edge"}}});
  check_refused("Pad", {in, list({std::numeric_limits<std::int64_t>::max(), 1})});
}

BOOST_AUTO_TEST_CASE(joined_parts_are_the_whole_again_on_every_axis) {
  const auto in = counting<std::int32_t>({4, 6, 5});
  for (std::int64_t axis = -3; axis < 3; ++axis) {
    const auto parts = run_op("Split", {in, axis % 3 == 0 ? list({1, 3}) : value{}}, {{"axis", axis}},
                              {.outputs = 2, .opset = 18});
    const auto whole = run_op("Concat", parts, {{"axis", axis}});
    BOOST_TEST(extents(whole[0]) == extents(in), boost::test_tools::per_element());
    BOOST_TEST((elements<std::int32_t>(whole[0]) == elements<std::int32_t>(in)));
  }
  BOOST_CHECK_THROW(static_cast<void>(run_op("Split", {in, list({3, 3})}, {}, {.outputs = 2})), error);
  BOOST_CHECK_THROW(static_cast<void>(run_op("Split", {in, list({-1, 5})}, {}, {.outputs = 2})), error);
  BOOST_CHECK_THROW(
      static_cast<void>(run_op("Concat", {in, counting<std::int32_t>({4, 6})}, {{"axis", std::int64_t{0}}})),
      error);
}

BOOST_AUTO_TEST_CASE(tiles_triangles_and_reversed_sequences) {
  BOOST_TEST(elements<float>(run_op("Tile", {counting<float>({2, 1}), list({2, 2})})[0]) ==
                 (std::vector<float>{0, 0, 1, 1, 0, 0, 1, 1}),
             boost::test_tools::per_element());
  check_refused("Tile", {counting<float>({2, 1}), list({2, -1})});
  check_refused("Tile", {counting<float>({2}), list({1LL << 62})});
  const auto lower = run_op("Trilu", {counting<float>({2, 3}), tensor::of_scalar<std::int64_t>(-1)},
                            {{"upper", std::int64_t{0}}});
  BOOST_TEST(elements<float>(lower[0]) == (std::vector<float>{0, 0, 0, 3, 0, 0}),
             boost::test_tools::per_element());
  const auto far = tensor::of_scalar<std::int64_t>(std::numeric_limits<std::int64_t>::max());
  BOOST_TEST(elements<float>(run_op("Trilu", {counting<float>({1, 2}), far})[0]) ==
                 (std::vector<float>{0, 0}),
             boost::test_tools::per_element());
  const auto reversed = run_op("ReverseSequence", {counting<float>({3, 2}), list({2, 3})});
  BOOST_TEST(elements<float>(reversed[0]) == (std::vector<float>{2, 5, 0, 3, 4, 1}),
             boost::test_tools::per_element());
  check_refused("ReverseSequence", {counting<float>({3, 2}), list({2, 4})});
}

BOOST_AUTO_TEST_CASE(unique_elements_are_counted_and_found_again) {
  const auto in = tensor::of<std::string>({5}, {"b", "a", "b", "c", "a"});
  const auto sorted = run_op("Unique", {in}, {}, {.outputs = 4});
  BOOST_TEST(elements<std::string>(sorted[0]) == (std::vector<std::string>{"a", "b", "c"}),
             boost::test_tools::per_element());
  BOOST_TEST(elements<std::int64_t>(sorted[1]) == (integers{1, 0, 3}), boost::test_tools::per_element());
  BOOST_TEST(elements<std::int64_t>(sorted[2]) == (integers{1, 0, 1, 2, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(elements<std::int64_t>(sorted[3]) == (integers{2, 2, 1}), boost::test_tools::per_element());
  const auto in_order = run_op("Unique", {in}, {{"sorted", std::int64_t{0}}}, {.outputs = 1});
  BOOST_TEST(elements<std::string>(in_order[0]) == (std::vector<std::string>{"b", "a", "c"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
