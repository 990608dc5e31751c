#include <tests/support/says.hpp>
#include <tests/support/temporary_folder.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/csv_file.hpp>

#include <tests/support/elements.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

void check_refused(std::string_view text, const std::string& words) {
  BOOST_CHECK_EXCEPTION(static_cast<void>(decode_csv(text, "x.csv")), error,
                        says(errc::invalid_argument, "'x.csv': " + words));
}

} // namespace

BOOST_AUTO_TEST_SUITE(csv_files)

BOOST_AUTO_TEST_CASE(numbers_are_read_with_and_without_a_head) {
  const auto plain = decode_csv("1,2.5\n-3,+4e1\n", "f");
  BOOST_TEST(plain.columns.empty());
  BOOST_TEST((plain.data.tensor().shape() == shape{2, 2}));
  BOOST_TEST(floats(plain.data) == (std::vector<float>{1, 2.5f, -3, 40}));

  const auto headed = decode_csv("\xef\xbb\xbfx,\"y, \"\"z\"\"\"\r\n 1 ,\"2\"\r\n\r\n3,4", "f");
  BOOST_TEST(headed.columns == (std::vector<std::string>{"x", "y, \"z\""}));
  BOOST_TEST(floats(headed.data) == (std::vector<float>{1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(another_separator_may_be_given) {
  BOOST_TEST(floats(decode_csv("1;2\n", "f", ';').data) == (std::vector<float>{1, 2}));
}

BOOST_AUTO_TEST_CASE(nan_and_infinity_are_numbers) {
  const auto v = floats(decode_csv("nan,-inf,1e39\n", "f").data);
  BOOST_TEST(std::isnan(v[0]));
  BOOST_TEST(v[1] < 0);
  BOOST_TEST(std::isinf(v[2]));
}

BOOST_AUTO_TEST_CASE(errors_name_line_and_column) {
  check_refused("1,2\n3,x\n", "line 2, column 2: 'x' is not a number");
  check_refused("1,2\n\n3\n", "line 3: it has 1 fields, the first line 2");
  check_refused("1,2\n3,\n", "line 2, column 2: '' is not a number");
  check_refused("a,\"b\n1\n", "line 1, column 2: a quote is not closed");
  check_refused("\"a\nb\",c\n1,?\n", "line 3, column 2: '?' is not a number");
  check_refused("\"a\"b,c\n", "line 1, column 1: text behind a closing quote");
  check_refused("", "it holds no numbers");
  check_refused("a,b\n", "it holds no numbers");
}

BOOST_AUTO_TEST_CASE(tensors_are_written_by_rows_and_read_back) {
  const auto v = tensor::of<float>({2, 1, 2}, {0.1f, 2, 3, -4e-20f});
  const auto text = encode_csv(v, std::vector<std::string>{"a", "b"});
  BOOST_TEST(text == "\"a\",\"b\"\n0.1,2\n3,-4e-20\n");
  BOOST_TEST(floats(decode_csv(text, "f").data) == floats(v));
  BOOST_TEST(encode_csv(tensor::of_scalar<std::int64_t>(7)) == "7\n");
  BOOST_TEST(encode_csv(tensor::of<std::string>({2}, {"a\"b", "c"})) == "\"a\"\"b\"\n\"c\"\n");
  BOOST_TEST(encode_csv(tensor::of<float>({0, 2}, {})).empty());
  BOOST_CHECK_THROW(static_cast<void>(encode_csv(tensor::of<std::complex<float>>({1}, {{1, 2}}))), error);
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_opened_are_named) {
  const test::temporary_folder folder;
  save_csv(folder / "a.csv", tensor::of<float>({1, 2}, {1, 2}));
  BOOST_TEST(floats(load_csv(folder / "a.csv").data) == (std::vector<float>{1, 2}));
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_csv(folder / "b.csv")), error, says(errc::io_failed, "b.csv"));
  BOOST_CHECK_EXCEPTION(save_csv(folder / "no/a.csv", tensor::of_scalar(1.0f)), error,
                        says(errc::io_failed, "a.csv"));
}

BOOST_AUTO_TEST_SUITE_END()
