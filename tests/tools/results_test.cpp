#include <tools/exit_code.hpp>
#include <tools/results/latency.hpp>
#include <tools/results/output_files.hpp>
#include <tools/results/print_value.hpp>
#include <tools/results/table.hpp>

#include <sluice/graph/collections.hpp>
#include <sluice/graph/onnx_tensor.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/stream/csv_file.hpp>
#include <sluice/stream/npy.hpp>

#include <boost/test/unit_test.hpp>

#include <tests/support/temporary_folder.hpp>

#include <limits>
#include <sstream>

using namespace sluice;
using namespace sluice::tools;

namespace {

std::string printed(const value& v, const print_options& options = {}) {
  std::ostringstream s;
  print_value(s, "y", v, options);
  return s.str();
}

} // namespace

BOOST_AUTO_TEST_SUITE(results)

BOOST_AUTO_TEST_CASE(small_tensors_are_printed_a_line_a_row) {
  BOOST_TEST(printed(tensor::of<float>({2, 2}, {1, 2.5f, 3, 4})) == "y  float32[2, 2]\n  1 2.5\n  3 4\n");
  BOOST_TEST(printed(tensor::of_scalar<std::uint8_t>(65)) == "y  uint8[]\n  65\n");
  BOOST_TEST(printed(tensor::of<std::string>({1}, {"hi"})) == "y  string[1]\n  \"hi\"\n");
  BOOST_TEST(printed(tensor::of<float>({0, 2}, {})) == "y  float32[0, 2]\n");
  BOOST_TEST(printed(value{}) == "y  empty\n");
}

BOOST_AUTO_TEST_CASE(large_tensors_are_summarised_with_their_greatest_elements) {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  BOOST_TEST(printed(tensor::of<float>({2, 2}, {1, 3, 3, nan}), {.all_up_to = 3, .top = 2}) ==
             "y  float32[2, 2]\n  least 1, greatest 3, mean 2.33333, deviation 0.942809\n  1 of 4 are NaN\n"
             "  [0, 1] 3\n  [1, 0] 3\n");
  BOOST_TEST(printed(tensor::of<float>({2}, {nan, nan}), {.all_up_to = 1}) ==
             "y  float32[2]\n  2 of 2 are NaN\n");
  BOOST_TEST(printed(tensor::of<std::string>({3}, {"a", "b", "c"}), {.all_up_to = 2, .top = 1}) ==
             "y  string[3]\n  \"a\"\n  … and 2 more\n");
}

BOOST_AUTO_TEST_CASE(collections_are_printed_item_by_item) {
  const value one = tensor::of_scalar(1.0f);
  BOOST_TEST(printed(sequence::make({one})) ==
             "y  " + describe(sequence::make({one})) + "\n  0  float32[]\n    1\n");
  BOOST_TEST(printed(dictionary::make({{"k", one}})).find("\"k\"  float32[]\n    1\n") != std::string::npos);
  BOOST_TEST(printed(optional_value::make(one)).find("content  float32[]\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(outputs_are_written_in_the_format_of_their_ending) {
  const test::temporary_folder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const std::vector<std::string> outputs{"a", "b=c"};
  const std::vector<std::string> texts{path("all.npz"), "a=" + path("a.npy"), "b=c=" + path("b.csv"),
                                       "a=" + path("a.pb"), "a=" + path("a.npz")};
  const output_files files{texts, outputs};
  files.write({{"a", tensor::of<float>({1}, {1})}, {"b=c", tensor::of<float>({1}, {2})}});
  BOOST_TEST(load_npz(path("all.npz")).size() == 2u);
  BOOST_TEST(load_npz(path("a.npz")).size() == 1u);
  BOOST_TEST(load_npy(path("a.npy")).scalar<float>() == 1.0f);
  BOOST_TEST(read_onnx_value(path("a.pb")).scalar<float>() == 1.0f);
  BOOST_TEST(load_csv(path("b.csv")).data.scalar<float>() == 2.0f);
}

BOOST_AUTO_TEST_CASE(outputs_that_cannot_be_written_are_refused_before_anything_runs) {
  const std::vector<std::string> outputs{"a", "b"};
  for (const std::string text : {"a.npy", "c=a.npy", "a=a.txt", "a", "=.npy"})
    BOOST_CHECK_EXCEPTION(static_cast<void>(output_files{std::vector{text}, outputs}), command_error,
                          [](const auto& e) { return e.code() == exit_code::usage; });
}

BOOST_AUTO_TEST_CASE(a_place_that_cannot_be_written_is_named) {
  const test::temporary_folder folder;
  const auto write = [&](const std::string& file, const value& v) {
    output_files{std::vector{file}, std::vector<std::string>{"a"}}.write({{"a", v}});
  };
  BOOST_CHECK_EXCEPTION(write((folder / "no/a.npy").string(), tensor::of_scalar(1.0f)), command_error,
                        [](const auto& e) { return e.code() == exit_code::bad_file; });
  BOOST_CHECK_EXCEPTION(write((folder / "a.npy").string(), sequence::make({})), command_error,
                        [](const auto& e) { return e.code() == exit_code::usage; });
}

BOOST_AUTO_TEST_CASE(percentiles_are_times_that_were_measured) {
  std::vector<double> times;
  for (int i = 100; i > 0; --i)
    times.push_back(i);
  const auto s = statistics_of(times);
  BOOST_TEST(s.p50 == 50);
  BOOST_TEST(s.p99 == 99);
  BOOST_TEST(s.least == 1);
  BOOST_TEST(s.greatest == 100);
  BOOST_TEST(s.mean == 50.5);
  BOOST_TEST(statistics_of({7}).p99 == 7);
  BOOST_TEST(statistics_of({}).p99 == 0);
}

BOOST_AUTO_TEST_CASE(tables_are_aligned) {
  table_writer t{{"name", ">n"}};
  t.row({"µs", "1"});
  t.row({"longer", "100"});
  std::ostringstream s;
  t.print(s);
  BOOST_TEST(s.str() == "name      n\nµs        1\nlonger  100\n");
}

BOOST_AUTO_TEST_SUITE_END()
