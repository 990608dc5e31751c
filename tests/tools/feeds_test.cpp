#include <tools/exit_code.hpp>
#include <tools/feeds/feeds.hpp>
#include <tools/feeds/numbers.hpp>

#include <sluice/graph/graph_builder.hpp>
#include <sluice/graph/onnx_tensor.hpp>
#include <sluice/stream/csv_file.hpp>
#include <sluice/stream/image_file.hpp>
#include <sluice/stream/npy.hpp>

#include <tests/support/elements.hpp>

#include <boost/test/unit_test.hpp>

#include <tests/support/temporary_folder.hpp>

using namespace sluice;
using namespace sluice::tools;
using namespace sluice::test;

namespace {

std::shared_ptr<const graph> graph_with(std::vector<std::pair<std::string, value_type>> inputs) {
  graph_builder g{std::make_shared<op_registry>()};
  for (auto& [name, type] : inputs)
    g.output("out_" + name, g.placeholder(name, std::move(type)));
  return g.build();
}

auto says(exit_code code, std::string words) {
  return [code, words = std::move(words)](const command_error& e) {
    return e.code() == code && std::string_view{e.what()}.find(words) != std::string_view::npos;
  };
}

value source(const std::string& text, const value_type& wanted = {}, const input_options& options = {}) {
  return load_source(text, wanted, options);
}

} // namespace

BOOST_AUTO_TEST_SUITE(inputs)

BOOST_AUTO_TEST_CASE(numbers_take_the_type_and_shape_that_the_input_wants) {
  BOOST_TEST(source("16000").scalar<std::int64_t>() == 16000);
  BOOST_TEST(source("0.5").scalar<double>() == 0.5);
  BOOST_TEST(source("2", {element_type::float32, partial_shape{1, 1}}).scalar<float>() == 2.0f);
  BOOST_TEST(describe(source("1,2,3", {element_type::int32, partial_shape{"N", 3}})) == "int32[1, 3]");
  BOOST_TEST(elements<std::uint8_t>(source("1,2,3", {element_type::uint8, partial_shape{"N"}})) ==
             (std::vector<std::uint8_t>{1, 2, 3}));
  BOOST_TEST(source("true").scalar<bool>());
  BOOST_TEST(source("text:a=b").scalar<std::string>() == "a=b");
  BOOST_TEST(source("9007199254740993", {element_type::uint64, partial_shape{}}).scalar<std::uint64_t>() ==
             9007199254740993u);
}

BOOST_AUTO_TEST_CASE(numbers_that_the_type_cannot_hold_are_refused) {
  for (const auto* text : {"300", "-1", "0.5"})
    BOOST_CHECK_EXCEPTION(static_cast<void>(source(text, {element_type::uint8, partial_shape{}})),
                          command_error, says(exit_code::usage, "is not a number of type uint8"));
}

BOOST_AUTO_TEST_CASE(random_values_have_the_declared_shape_or_the_one_given) {
  const value_type image{element_type::float32, partial_shape{"N", 3, "H", 2}};
  BOOST_TEST(describe(source("random", image)) == "float32[1, 3, 1, 2]");
  BOOST_TEST(describe(source("random", image, {.dims = {{"N", 4}, {"H", 5}}})) == "float32[4, 3, 5, 2]");
  BOOST_TEST(describe(source("random:2x2")) == "float32[2, 2]");
  BOOST_TEST(describe(source("random:4:int64:7")) == "int64[4]");
  BOOST_TEST(describe(source("random:scalar:double")) == "float64[]");
  BOOST_TEST(describe(source("zeros:2:bool")) == "bool[2]");
  BOOST_TEST((source("ones:scalar:half").scalar<float16>() == float16{1.0f}));
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_numbers_again) {
  BOOST_TEST(elements<float>(source("random:8:float32:3")) == elements<float>(source("random:8:float32:3")));
  BOOST_TEST(elements<float>(source("random:8:float32:3")) != elements<float>(source("random:8:float32:4")));
  for (const auto x : elements<float>(source("random:100")))
    BOOST_TEST((x >= -1.0f && x < 1.0f));
}

BOOST_AUTO_TEST_CASE(files_are_read_by_their_ending) {
  const test::temporary_folder folder;
  const value v = tensor::of<float>({1, 2}, {1, 2});
  const auto path = [&](const char* name) { return (folder / name).string(); };
  save_npy(path("a.npy"), v);
  save_npz(path("a.npz"), {{"k", v}, {"l", v}});
  save_npz(path("one.npz"), {{"k", v}});
  save_csv(path("a.csv"), v);
  write_onnx_value(path("a.pb"), v);
  save_png(path("a.PNG"), tensor::of<std::uint8_t>({1, 2}, {0, 255}));
  for (const auto& file : {path("a.npy"), path("a.npz") + ":k", path("one.npz"), path("a.csv"), path("a.pb")})
    BOOST_TEST(elements<float>(source(file)) == (std::vector<float>{1, 2}));
  const value_type grey{element_type::float32, partial_shape{"N", 1, "H", "W"}};
  BOOST_TEST(describe(source(path("a.PNG"), grey)) == "float32[1, 1, 1, 2]");
  BOOST_TEST(elements<float>(source(path("a.PNG"), grey)) == (std::vector<float>{0, 1}));
  const value_type bytes{element_type::uint8, partial_shape{"N", "H", "W", 3}};
  BOOST_TEST(elements<std::uint8_t>(source(path("a.PNG"), bytes)) ==
             (std::vector<std::uint8_t>{0, 0, 0, 255, 255, 255}));
  BOOST_CHECK_EXCEPTION(static_cast<void>(source(path("a.npz"))), command_error,
                        says(exit_code::usage, "2 arrays"));
}

BOOST_AUTO_TEST_CASE(what_is_no_source_is_refused_in_one_sentence) {
  const test::temporary_folder folder;
  save_npy(folder / "a.npy", tensor::of_scalar(1.0f));
  std::filesystem::copy(folder / "a.npy", folder / "a.png");
  std::filesystem::copy(folder / "a.npy", folder / "a.txt");
  const auto refused = [&](const std::string& text, exit_code code, const std::string& words) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(source(text)), command_error, says(code, words));
  };
  refused((folder / "a.png").string(), exit_code::bad_file, "not an image");
  refused((folder / "a.txt").string(), exit_code::bad_file, "of an unknown kind");
  refused((folder / "b.npy").string(), exit_code::bad_file, "cannot be read");
  refused("nonsense", exit_code::usage, "neither a file");
  refused("random", exit_code::usage, "needs a shape");
  refused("random:2xx3", exit_code::usage, "is not a shape");
  refused("random:2:floaty", exit_code::usage, "is not an element type");
  refused("random:2:float32:x", exit_code::usage, "is not a seed");
  refused("zeros:2:float32:1", exit_code::usage, "a part too many");
  refused("random:2x-3", exit_code::usage, "is not a shape");
  refused("", exit_code::usage, "empty");
}

BOOST_AUTO_TEST_CASE(inputs_are_found_by_name_or_where_only_one_is_left) {
  const auto g = graph_with(
      {{"x", {element_type::float32, partial_shape{2}}}, {"sr=a", {element_type::int64, partial_shape{}}}});
  const std::vector<std::string> texts{"sr=a=16000", "1,2"};
  const auto feeds = load_feeds(*g, texts, {}, missing_input::refuse);
  BOOST_TEST(feeds.at("sr=a").scalar<std::int64_t>() == 16000);
  BOOST_TEST(elements<float>(feeds.at("x")) == (std::vector<float>{1, 2}));
}

BOOST_AUTO_TEST_CASE(an_archive_feeds_inputs_by_its_names) {
  const test::temporary_folder folder;
  const auto file = (folder / "a.npz").string();
  save_npz(file, {{"x", tensor::of<float>({2}, {1, 2})}, {"n", tensor::of_scalar<std::int64_t>(3)}});
  const auto g = graph_with(
      {{"x", {element_type::float32, partial_shape{2}}}, {"n", {element_type::int64, partial_shape{}}}});
  BOOST_TEST(load_feeds(*g, std::vector{file}, {}, missing_input::refuse).size() == 2u);
}

BOOST_AUTO_TEST_CASE(missing_inputs_are_random_or_refused) {
  const auto g = graph_with({{"x", {element_type::float32, partial_shape{"N", 2}}}});
  BOOST_TEST(describe(load_feeds(*g, {}, {}, missing_input::random).at("x")) == "float32[1, 2]");
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_feeds(*g, {}, {}, missing_input::refuse)), command_error,
                        says(exit_code::usage, "no value for input 'x' (float32[N, 2])"));
}

BOOST_AUTO_TEST_CASE(wrong_names_types_and_shapes_are_refused) {
  const auto g = graph_with(
      {{"x", {element_type::float32, partial_shape{2}}}, {"y", {element_type::float32, partial_shape{2}}}});
  const auto refused = [&](std::vector<std::string> texts, const std::string& words) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(load_feeds(*g, texts, {}, missing_input::refuse)), command_error,
                          says(exit_code::usage, words));
  };
  refused({"z=1,2"}, "no input 'z', but 'x', 'y'");
  refused({"1,2"}, "names no input");
  refused({"x=1,2", "x=1,2"}, "input 'x' is given twice");
  refused({"x=random:3"}, "input 'x' is float32[2], not float32[3] (from 'random:3')");
  refused({"x=random:2:int64"}, "not int64[2]");
}

BOOST_AUTO_TEST_CASE(counts_are_readable) {
  BOOST_TEST(readable_bytes(0) == "0 B");
  BOOST_TEST(readable_bytes(1'234'567) == "1.23 MB");
  BOOST_TEST(readable_bytes(123'456'789) == "123 MB");
  BOOST_TEST(readable_count(12'300) == "12.3 k");
}

BOOST_AUTO_TEST_SUITE_END()
