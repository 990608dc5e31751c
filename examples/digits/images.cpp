#include "images.hpp"

#include <sluice/graph/error.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/stream/csv_file.hpp>
#include <sluice/stream/npy.hpp>

#include <algorithm>
#include <fstream>
#include <string>

namespace fs = std::filesystem;

namespace digits {

namespace {

constexpr std::int64_t pixels_each = 28 * 28;

[[noreturn]] void not_images(const fs::path& file, const std::string& what) {
  throw sluice::error{sluice::errc::invalid_argument,
                      file.string() + ": holds " + what +
                          "; images are bytes or numbers from 0 to 1, [N,28,28]"};
}

/// Pixels as the model takes them.
sluice::value as_floats(const sluice::value& given, const fs::path& file) {
  const auto& t = given.tensor();
  const auto count = t.elements() / pixels_each;
  if (count == 0 || t.elements() != count * pixels_each || t.shape().rank() < 2 || t.shape()[0] != count)
    not_images(file, sluice::describe(given));
  auto made = sluice::tensor::make(sluice::element_type::float32, {count, 1, 28, 28});
  const auto to = made->data<float>();
  if (t.type() == sluice::element_type::uint8) {
    const auto bytes = t.data<std::uint8_t>();
    std::transform(bytes.begin(), bytes.end(), to.begin(),
                   [](auto b) { return static_cast<float>(b) / 255; });
  } else if (t.type() == sluice::element_type::float32) {
    const auto numbers = t.data<float>();
    const auto most = *std::max_element(numbers.begin(), numbers.end());
    std::transform(numbers.begin(), numbers.end(), to.begin(),
                   [most](float n) { return most > 1 ? n / 255 : n; });
  } else {
    not_images(file, sluice::describe(given));
  }
  return made;
}

images from_table(const sluice::table& t, const fs::path& file) {
  const auto& all = t.data.tensor();
  const auto rows = all.shape()[0];
  const auto columns = all.shape()[1];
  if (columns == pixels_each)
    return {as_floats(t.data, file), {}};
  if (columns != pixels_each + 1)
    not_images(file, std::to_string(columns) + " columns");
  images made;
  auto pixels = sluice::tensor::make(sluice::element_type::float32, {rows, pixels_each});
  const auto from = all.data<float>();
  const auto to = pixels->data<float>();
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = from.subspan(static_cast<std::size_t>(r * columns), static_cast<std::size_t>(columns));
    made.labels.push_back(static_cast<std::uint8_t>(row[0]));
    std::copy(row.begin() + 1, row.end(), to.begin() + r * pixels_each);
  }
  made.pixels = as_floats(pixels, file);
  return made;
}

} // namespace

images load_images(const fs::path& file) {
  if (file.extension() == ".csv")
    return from_table(sluice::load_csv(file), file);
  if (file.extension() == ".npy")
    return {as_floats(sluice::load_npy(file), file), {}};
  const auto arrays = sluice::load_npz(file);
  const auto pixels = arrays.find("images");
  if (pixels == arrays.end())
    not_images(file, "no array named images");
  images made{as_floats(pixels->second, file), {}};
  if (const auto labels = arrays.find("labels"); labels != arrays.end()) {
    const auto known = labels->second.tensor().data<std::uint8_t>();
    if (static_cast<std::int64_t>(known.size()) != made.pixels.tensor().shape()[0])
      not_images(file, std::to_string(known.size()) + " labels for other images");
    made.labels.assign(known.begin(), known.end());
  }
  return made;
}

void save_labels(const fs::path& file, std::span<const std::int64_t> labels) {
  std::ofstream out{file};
  out << "ImageId,Label\n";
  for (std::size_t i = 0; i < labels.size(); ++i)
    out << i + 1 << ',' << labels[i] << '\n';
  if (!out.flush())
    throw sluice::error{sluice::errc::io_failed, file.string() + ": cannot be written"};
}

fs::path find_file(const fs::path& name) {
  const auto relative = fs::path{"examples"} / "digits" / name;
  std::error_code ignored;
  const auto program = fs::read_symlink("/proc/self/exe", ignored);
  for (const auto& start : {fs::current_path(), program.parent_path()})
    for (auto folder = start; !folder.empty(); folder = folder.parent_path()) {
      for (const auto& candidate : {folder / relative, folder / "share" / "sluice" / relative})
        if (fs::exists(candidate))
          return candidate;
      if (folder == folder.parent_path())
        break;
    }
  throw sluice::error{sluice::errc::io_failed, relative.string() +
                                                   " is neither in the current folder or one above it, nor "
                                                   "above the program: give --model and --input"};
}

} // namespace digits
