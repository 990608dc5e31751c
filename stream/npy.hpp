#pragma once

#include <sluice/graph/export.hpp>
#include <sluice/graph/value.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Numpy's array files: .npy holds one array, .npz is a zip of them by name.
///
/// Read are format versions 1 to 3, both byte orders, C and Fortran order, booleans, integers, floats of 2, 4
/// and 8 bytes, complex numbers, and strings (`<U`, and `S`, whose bytes are taken as they are). Pickled
/// objects, records and dates are refused. bfloat16, which numpy has not, is written as float32.
///
/// All throw errc::io_failed if a file cannot be read or written, and errc::invalid_argument if its content
/// is malformed or of a kind that is refused; both name the file.

/// The array in a .npy file.
[[nodiscard]] SLUICE_API value load_npy(const std::filesystem::path& path);

/// Writes a tensor, in C order. Throws errc::invalid_argument for anything but a plain tensor.
SLUICE_API void save_npy(const std::filesystem::path& path, const value& array);

/// The array in the bytes of a .npy file; `name` is what errors call it.
[[nodiscard]] SLUICE_API value decode_npy(std::string_view bytes, const std::string& name);

/// The bytes of a .npy file that holds `array`.
[[nodiscard]] SLUICE_API std::string encode_npy(const value& array);

/// All arrays of a .npz file, stored or deflated, by their names.
[[nodiscard]] SLUICE_API std::map<std::string, value> load_npz(const std::filesystem::path& path);

/// One array of a .npz file. Throws errc::invalid_argument, listing the names, if it is not there.
[[nodiscard]] SLUICE_API value load_npz(const std::filesystem::path& path, const std::string& key);

/// Writes tensors by name, not compressed.
SLUICE_API void save_npz(const std::filesystem::path& path, const std::map<std::string, value>& arrays);

} // namespace sluice
