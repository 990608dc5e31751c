#include <tests/support/says.hpp>
#include <tests/support/temporary_folder.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>
#include <sluice/stream/npy.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using sluice::test::says;
using namespace std::string_literals;

namespace {

/// A .npy file as numpy writes it.
std::string npy(const std::string& descr, const std::string& shape, const std::string& elements,
                bool fortran = false, char version = 1) {
  auto head = "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
              ", 'shape': " + shape + ", }\n";
  auto file = "\x93NUMPY"s + version + '\0' + static_cast<char>(head.size()) + '\0';
  if (version > 1)
    file += "\0\0"s;
  return file + head + elements;
}

template <class T>
void check_round_trip(const shape& s, std::initializer_list<T> elements) {
  const value back = decode_npy(encode_npy(tensor::of<T>(s, elements)), "memory");
  BOOST_TEST((back.tensor().shape() == s));
  const auto data = back.tensor().data<T>();
  BOOST_TEST((std::equal(data.begin(), data.end(), elements.begin(), elements.end())));
}

} // namespace

BOOST_AUTO_TEST_SUITE(npy_files)

BOOST_AUTO_TEST_CASE(every_element_type_is_read_back_as_it_was) {
  check_round_trip<float>({2, 2}, {1.5f, -2.0f, 0.0f, 3e38f});
  check_round_trip<double>({}, {3.25});
  check_round_trip<float16>({2}, {float16{0.5f}, float16{-7.0f}});
  check_round_trip<std::int8_t>({1, 3}, {-128, 0, 127});
  check_round_trip<std::uint8_t>({2}, {0, 255});
  check_round_trip<std::int16_t>({2}, {-32768, 32767});
  check_round_trip<std::uint16_t>({1}, {65535});
  check_round_trip<std::int32_t>({1}, {-5});
  check_round_trip<std::uint32_t>({1}, {4000000000u});
  check_round_trip<std::int64_t>({1}, {std::int64_t{1} << 60});
  check_round_trip<std::uint64_t>({1}, {~std::uint64_t{0}});
  check_round_trip<bool>({3}, {true, false, true});
  check_round_trip<std::complex<float>>({1}, {{1.0f, -2.0f}});
  check_round_trip<std::complex<double>>({1}, {{1.0, -2.0}});
  check_round_trip<std::string>({2, 2}, {"", "grüße", "水", "😀a"});
  check_round_trip<float>({0, 3}, {});
}

BOOST_AUTO_TEST_CASE(strings_that_are_not_utf8_are_kept_as_bytes) {
  check_round_trip<std::string>({2}, {"\xff\xfe", "plain"});
  check_round_trip<std::string>({1}, {"\xc0\x80"});
}

BOOST_AUTO_TEST_CASE(bfloat16_becomes_float32) {
  const auto back = decode_npy(encode_npy(tensor::of<bfloat16>({1}, {bfloat16{2.5f}})), "memory");
  BOOST_TEST(back.scalar<float>() == 2.5f);
}

BOOST_AUTO_TEST_CASE(fortran_order_is_transposed) {
  const auto v = decode_npy(npy("|u1", "(2, 3)", "\1\4\2\5\3\6"s, true), "f");
  const auto data = v.tensor().data<std::uint8_t>();
  const std::uint8_t expected[] = {1, 2, 3, 4, 5, 6};
  BOOST_CHECK_EQUAL_COLLECTIONS(data.begin(), data.end(), std::begin(expected), std::end(expected));
  BOOST_TEST(decode_npy(npy("|u1", "(0, 3)", "", true), "f").tensor().elements() == 0);
}

BOOST_AUTO_TEST_CASE(the_other_byte_order_is_swapped) {
  BOOST_TEST(decode_npy(npy(">i4", "()", "\0\0\1\2"s), "f").scalar<std::int32_t>() == 258);
  const auto c = decode_npy(npy(">c8", "()", "\x3f\x80\0\0\x40\0\0\0"s), "f").scalar<std::complex<float>>();
  BOOST_TEST((c == std::complex<float>{1.0f, 2.0f}));
  BOOST_TEST(decode_npy(npy(">U2", "()", "\0\0\0A\0\0\0\0"s), "f").scalar<std::string>() == "A");
}

BOOST_AUTO_TEST_CASE(the_newer_format_versions_are_read) {
  BOOST_TEST(decode_npy(npy("|u1", "(1,)", "\7", false, 2), "f").scalar<std::uint8_t>() == 7);
  BOOST_TEST(decode_npy(npy("|u1", "(1L,)", "\7", false, 3), "f").scalar<std::uint8_t>() == 7);
}

BOOST_AUTO_TEST_CASE(any_byte_but_zero_is_true) {
  const auto v = decode_npy(npy("|b1", "(3,)", "\0\1\x80"s), "f");
  const auto data = v.tensor().data<bool>();
  BOOST_TEST(!data[0]);
  BOOST_TEST((data[1] == data[2]));
}

BOOST_AUTO_TEST_CASE(what_is_not_supported_is_refused_by_name) {
  const auto refused = [](const std::string& file, const std::string& words) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(decode_npy(file, "x.npy")), error,
                          says(errc::invalid_argument, "'x.npy': " + words));
  };
  refused(npy("|O", "(1,)", "x"), "it holds pickled Python objects");
  refused(npy("<M8[ns]", "(1,)", "12345678"), "its element type '<M8[ns]'");
  refused(npy("<f16", "(1,)", std::string(16, 'x')), "its element type '<f16'");
  refused(npy("|u1", "(1,)", "x", false, 9), "its format version 9");
  refused("{'descr': }", "it is not a .npy file");
  refused("", "it is not a .npy file");
}

BOOST_AUTO_TEST_CASE(hostile_heads_are_refused_before_memory_is_allocated) {
  const auto refused = [](const std::string& file) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(decode_npy(file, "x.npy")), error,
                          says(errc::invalid_argument, "'x.npy'"));
  };
  refused(npy("<f4", "(4000000000, 4000000000)", "abcd"));
  refused(npy("<f4", "(4611686018427387904,)", "abcd"));
  refused(npy("<f4", "(99999999999999999999999,)", "abcd"));
  refused(npy("<f4", "(-1,)", "abcd"));
  refused(npy("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1)", "abcd"));
  refused(npy("<f4", "(2,)", "abcd"));
  refused(npy("<U4611686018427387904", "(4,)", "abcd"));
  refused(npy("<U0", "(1000000000000,)", ""));
  refused(npy("<f4", "(1", ""));
  refused(npy("<f4", "(1,", ""));
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  const auto file = encode_npy(tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  for (std::size_t n = 0; n < file.size(); ++n)
    BOOST_CHECK_THROW(static_cast<void>(decode_npy(std::string_view{file}.substr(0, n), "x.npy")), error);
}

BOOST_AUTO_TEST_CASE(files_are_written_and_read) {
  const test::temporary_folder folder;
  save_npy(folder / "a.npy", tensor::of<float>({2}, {1, 2}));
  BOOST_TEST(load_npy(folder / "a.npy").tensor().data<float>()[1] == 2.0f);
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_npy(folder / "b.npy")), error, says(errc::io_failed, "b.npy"));
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_npy(folder / ".")), error,
                        says(errc::io_failed, "regular file"));
  BOOST_CHECK_EXCEPTION(save_npy(folder / "no/a.npy", tensor::of_scalar(1.0f)), error,
                        says(errc::io_failed, "a.npy"));
}

BOOST_AUTO_TEST_SUITE_END()
