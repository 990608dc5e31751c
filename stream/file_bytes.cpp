#include <sluice/stream/file_bytes.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace sluice {

namespace {

error failed(const std::filesystem::path& path, std::string_view what, std::string_view why) {
  return {errc::io_failed, "'" + path.string() + "' " + std::string{what} + ": " + std::string{why}};
}

std::string last_error() {
  return errno != 0 ? std::strerror(errno) : "unknown reason";
}

} // namespace

std::string read_file(const std::filesystem::path& path) {
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (problem)
    throw failed(path, "cannot be read", problem.message());
  if (!std::filesystem::is_regular_file(status))
    throw failed(path, "cannot be read", "it is not a regular file");
  const auto size = std::filesystem::file_size(path, problem);
  if (problem)
    throw failed(path, "cannot be read", problem.message());

  errno = 0;
  std::ifstream in{path, std::ios::binary};
  if (!in)
    throw failed(path, "cannot be read", last_error());
  std::string content(size, '\0');
  in.read(content.data(), static_cast<std::streamsize>(size));
  if (in.gcount() != static_cast<std::streamsize>(size))
    throw failed(path, "cannot be read", last_error());
  return content;
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  write_file(path, [content](std::ostream& out) {
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
  });
}

void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& content) {
  errno = 0;
  std::ofstream out{path, std::ios::binary | std::ios::trunc};
  if (!out)
    throw failed(path, "cannot be written", last_error());
  const auto remove = [&] {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored))
      std::filesystem::remove(path, ignored);
  };
  try {
    content(out);
  } catch (...) {
    remove();
    throw;
  }
  out.close();
  if (!out) {
    const auto why = last_error();
    remove();
    throw failed(path, "cannot be written", why);
  }
}

error bad_file(const std::filesystem::path& path, std::string_view what) {
  return {errc::invalid_argument, "'" + path.string() + "': " + std::string{what}};
}

} // namespace sluice
