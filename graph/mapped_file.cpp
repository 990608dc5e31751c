#include <sluice/graph/mapped_file.hpp>

#include <sluice/graph/error.hpp>

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice {

namespace {

struct descriptor {
  explicit descriptor(int n) noexcept : number(n) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (number >= 0)
      ::close(number);
  }
  int number;
};

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw error{errc::io_failed, path.string() + " cannot be read: " + why};
}

[[noreturn]] void fail(const std::filesystem::path& path) {
  fail(path, std::system_category().message(errno));
}

} // namespace

std::shared_ptr<const mapped_file> mapped_file::open(const std::filesystem::path& path) {
  // Not to wait for a writer if somebody passes a named pipe.
  const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0)
    fail(path);
  if (S_ISDIR(status.st_mode))
    fail(path, "it is a folder");
  if (!S_ISREG(status.st_mode))
    fail(path, "it is not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
    if (data == MAP_FAILED)
      fail(path);
  }
  return std::shared_ptr<const mapped_file>{new mapped_file{static_cast<const std::byte*>(data), size}};
}

mapped_file::~mapped_file() {
  if (size_ > 0)
    ::munmap(const_cast<std::byte*>(data_), size_);
}

} // namespace sluice
