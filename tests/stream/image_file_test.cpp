#include <tests/support/says.hpp>
#include <tests/support/temporary_folder.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>
#include <sluice/stream/image_file.hpp>

#include <tests/support/elements.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::test;
using namespace std::string_literals;

namespace {

/// Two pixels wide, one high: red, then white.
value red_and_white() {
  return tensor::of<std::uint8_t>({3, 1, 2}, {255, 255, 0, 255, 0, 255});
}

} // namespace

BOOST_AUTO_TEST_SUITE(image_files)

BOOST_AUTO_TEST_CASE(channels_come_first_or_last_as_the_shape_says) {
  const test::temporary_folder folder;
  save_png(folder / "a.png", red_and_white());
  BOOST_TEST(floats(load_image(folder / "a.png", {1, 3, 1, 2})) == (std::vector<float>{1, 1, 0, 1, 0, 1}));
  BOOST_TEST(floats(load_image(folder / "a.png", {1, 1, 2, 3}, {.channels = channel_axis::last})) ==
             (std::vector<float>{1, 0, 0, 1, 1, 1}));
  BOOST_TEST(floats(load_image(folder / "a.png", {3, 1, 2})) == (std::vector<float>{1, 1, 0, 1, 0, 1}));
}

BOOST_AUTO_TEST_CASE(the_size_is_read_from_the_head) {
  const test::temporary_folder folder;
  save_png(folder / "a.png", red_and_white());
  const auto size = size_of_image(folder / "a.png");
  BOOST_TEST(size.height == 1);
  BOOST_TEST(size.width == 2);
  BOOST_TEST(size.channels == 3);
}

BOOST_AUTO_TEST_CASE(colour_becomes_grey_and_grey_colour) {
  const test::temporary_folder folder;
  save_png(folder / "a.png", red_and_white());
  const auto grey = floats(load_image(folder / "a.png", {1, 2}));
  BOOST_TEST(grey[0] < 0.5f);
  BOOST_TEST(grey[1] == 1.0f);
  save_png(folder / "b.png", tensor::of<float>({1, 1, 1, 1}, {0.2f}));
  for (const auto x : floats(load_image(folder / "b.png", {3, 1, 1})))
    BOOST_TEST(std::abs(x - 0.2f) < 1e-6f);
}

BOOST_AUTO_TEST_CASE(scale_mean_and_deviation_are_applied) {
  const test::temporary_folder folder;
  save_png(folder / "a.png", tensor::of<std::uint8_t>({1, 1}, {100}));
  const auto v =
      load_image(folder / "a.png", {3, 1, 1}, {.scale = 1.0f, .mean = {0, 50, 100}, .deviation = {2}});
  BOOST_TEST(floats(v) == (std::vector<float>{50, 25, 0}));
}

BOOST_AUTO_TEST_CASE(another_size_is_resized_within_the_range) {
  const test::temporary_folder folder;
  std::vector<std::uint8_t> half(64 * 64);
  for (std::size_t i = 0; i < half.size(); ++i)
    half[i] = i % 64 < 32 ? 0 : 255;
  save_png(folder / "a.png", tensor::of<std::uint8_t>({64, 64}, std::span<const std::uint8_t>{half}));
  for (const std::int64_t size : {8, 200}) {
    const auto v = floats(load_image(folder / "a.png", {size, size}));
    BOOST_TEST(v.front() == 0.0f);
    BOOST_TEST(v.back() > 0.9999f);
    BOOST_TEST(std::all_of(v.begin(), v.end(), [](float x) { return x >= 0.0f && x <= 1.0f; }));
  }
}

BOOST_AUTO_TEST_CASE(shapes_that_hold_no_image_are_refused) {
  const test::temporary_folder folder;
  save_png(folder / "a.png", red_and_white());
  for (const shape& s :
       {shape{4}, shape{2, 3, 1, 2}, shape{5, 5, 5}, shape{1, 3, 0, 2}, shape{1 << 20, 1 << 20}})
    BOOST_CHECK_EXCEPTION(static_cast<void>(load_image(folder / "a.png", s)), error,
                          says(errc::invalid_argument, "cannot hold an image"));
  BOOST_CHECK_THROW(static_cast<void>(load_image(folder / "a.png", {3, 1, 2}, {.mean = {1, 2}})), error);
  BOOST_CHECK_THROW(static_cast<void>(load_image(folder / "a.png", {3, 1, 2}, {.deviation = {0}})), error);
  BOOST_CHECK_THROW(save_png(folder / "b.png", tensor::of<double>({1, 1}, {1.0})), error);
}

BOOST_AUTO_TEST_CASE(damaged_pictures_are_refused) {
  const test::temporary_folder folder;
  const auto file = folder / "a.png";
  save_png(file, red_and_white());
  const auto good = read_file(file);
  for (std::size_t n = 0; n + 16 < good.size(); ++n) { // the last chunk may be missing
    write_file(file, good.substr(0, n));
    BOOST_CHECK_EXCEPTION(static_cast<void>(load_image(file, {3, 1, 2})), error,
                          says(errc::invalid_argument, "a.png"));
  }
}

BOOST_AUTO_TEST_CASE(a_png_whose_bits_have_changed_is_refused) {
  const test::temporary_folder folder;
  const auto file = folder / "a.png";
  save_png(file, red_and_white());
  const auto good = read_file(file);
  constexpr std::size_t signature = 8, last_chunk = 12;
  for (auto at = signature; at + last_chunk < good.size(); ++at) {
    auto bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    write_file(file, bytes);
    BOOST_TEST_CONTEXT("byte " << at)
    BOOST_CHECK_EXCEPTION(static_cast<void>(load_image(file, {3, 1, 2})), error,
                          says(errc::invalid_argument, "a.png"));
  }
}

BOOST_AUTO_TEST_CASE(what_is_missing_of_a_picture_is_not_taken_for_black) {
  const test::temporary_folder folder;
  const auto file = folder / "a.bmp";
  // Two rows of one pixel of 24 bits, each padded to 4 bytes, the lower first.
  const auto whole = "BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\x18\0"s +
                     std::string(24, '\0') + "\xff\xff\xff\0\xff\xff\xff\0"s;
  write_file(file, whole);
  BOOST_TEST(floats(load_image(file, {2, 1})) == (std::vector<float>{1, 1}));
  for (const auto missing : {2u, 4u, 5u, 8u}) {
    write_file(file, whole.substr(0, whole.size() - missing));
    BOOST_TEST_CONTEXT(missing << " bytes are missing")
    BOOST_CHECK_EXCEPTION(static_cast<void>(load_image(file, {2, 1})), error,
                          says(errc::invalid_argument, "cut off"));
  }
}

BOOST_AUTO_TEST_CASE(a_picture_that_says_it_is_huge_is_refused) {
  const test::temporary_folder folder;
  const auto file = folder / "a.png";
  save_png(file, red_and_white());
  auto bytes = read_file(file);
  bytes.replace(16, 8, "\0\xff\0\0\0\xff\0\0"s); // width and height in the head
  write_file(file, bytes);
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_image(file, {3, 1, 2})), error,
                        says(errc::invalid_argument, "a.png"));
}

BOOST_AUTO_TEST_SUITE_END()
