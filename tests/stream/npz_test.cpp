#include <tests/support/says.hpp>
#include <tests/support/temporary_folder.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>
#include <sluice/stream/npy.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstring>

using namespace sluice;
using sluice::test::says;
using namespace std::string_literals;

namespace {

/// A file that Python's zipfile deflated: x.npy, the bytes 0 to 39.
constexpr std::string_view deflated_hex =
    "504b0304140000000800000021007d824ed56d000000a800000005000000782e6e70799bec17ea1b10c9c850c650ad9e"
    "925a9c5ca46ea5a05e536aa8aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a26063a9a"
    "3a0ab50ae4032e06462666165636760e4e2e6e1e5e3e7e01412161115131710949296919593979054525651555357500"
    "504b01021403140000000800000021007d824ed56d000000a8000000050000000000000000000000800100000000782e"
    "6e7079504b0506000000000100010033000000900000000000";

std::string unhexed(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16)));
  return bytes;
}

std::string with_bytes(std::string file, std::string_view signature, std::size_t offset, std::uint32_t n) {
  const auto at = file.find(signature);
  BOOST_REQUIRE(at != std::string::npos);
  std::memcpy(file.data() + at + offset, &n, sizeof n);
  return file;
}

} // namespace

BOOST_AUTO_TEST_SUITE(npz_files)

BOOST_AUTO_TEST_CASE(arrays_are_read_back_by_name) {
  const test::temporary_folder folder;
  const auto file = folder / "a.npz";
  save_npz(file,
           {{"image", tensor::of<float>({2}, {1, 2})}, {"words", tensor::of<std::string>({1}, {"hi"})}});
  const auto all = load_npz(file);
  BOOST_TEST(all.size() == 2u);
  BOOST_TEST(all.at("image").tensor().data<float>()[1] == 2.0f);
  BOOST_TEST(load_npz(file, "words").scalar<std::string>() == "hi");
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_npz(file, "sound")), error,
                        says(errc::invalid_argument, "holds no array 'sound', but: image, words"));
}

BOOST_AUTO_TEST_CASE(deflated_arrays_are_read) {
  const test::temporary_folder folder;
  write_file(folder / "a.npz", unhexed(deflated_hex));
  const auto x = load_npz(folder / "a.npz", "x");
  const auto data = x.tensor().data<std::uint8_t>();
  BOOST_TEST(data.size() == 40u);
  BOOST_TEST(data[39] == 39);
}

BOOST_AUTO_TEST_CASE(the_same_arrays_give_the_same_file) {
  const test::temporary_folder folder;
  const std::map<std::string, value> arrays{{"x", tensor::of<float>({1}, {1})}};
  save_npz(folder / "a.npz", arrays);
  save_npz(folder / "b.npz", arrays);
  BOOST_TEST(read_file(folder / "a.npz") == read_file(folder / "b.npz"));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_archive_is_refused) {
  const test::temporary_folder folder;
  write_file(folder / "a.npz", "certainly no archive");
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_npz(folder / "a.npz")), error,
                        says(errc::invalid_argument, "a.npz"));
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_npz(folder / "b.npz")), error, says(errc::io_failed, "b.npz"));
  BOOST_CHECK_EXCEPTION(save_npz(folder / "no/a.npz", {{"x", tensor::of_scalar(1.0f)}}), error,
                        says(errc::io_failed, "a.npz"));
}

BOOST_AUTO_TEST_CASE(damage_and_false_sizes_are_refused) {
  const test::temporary_folder folder;
  const auto file = folder / "a.npz";
  save_npz(file, {{"x", tensor::of<float>({4}, {1, 2, 3, 4})}});
  const auto good = read_file(file);
  const auto refused = [&](const std::string& bytes) {
    write_file(file, bytes);
    BOOST_CHECK_THROW(static_cast<void>(load_npz(file)), error);
  };
  for (std::size_t n = 0; n < good.size(); n += 7)
    refused(good.substr(0, n));
  auto flipped = good;
  flipped[flipped.find("'descr'") - 20] ^= 1; // in the middle of the entry
  refused(flipped);
  for (const auto n : {0xfffffff0u, 0x10000000u})
    refused(with_bytes(with_bytes(good, "PK\1\2", 24, n), "PK\3\4", 22, n)); // the size when unpacked
}

BOOST_AUTO_TEST_SUITE_END()
