#include <sluice/stream/npy.hpp>

#include <sluice/stream/file_bytes.hpp>

#include <zip.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace sluice {

namespace {

constexpr std::string_view suffix = ".npy";

struct close_archive {
  void operator()(zip_t* z) const noexcept { zip_discard(z); }
};
struct close_entry {
  void operator()(zip_file_t* f) const noexcept { zip_fclose(f); }
};
using archive = std::unique_ptr<zip_t, close_archive>;

archive open_archive(const std::filesystem::path& path, int flags) {
  int code = 0;
  archive z{zip_open(path.c_str(), flags, &code)};
  if (!z) {
    zip_error_t problem;
    zip_error_init_with_code(&problem, code);
    const std::string why = zip_error_strerror(&problem);
    const auto kind =
        code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS ? errc::invalid_argument : errc::io_failed;
    zip_error_fini(&problem);
    throw error{kind, "'" + path.string() + "' cannot be opened as a .npz file: " + why};
  }
  return z;
}

/// Reads a .npz file by entries.
class npz_reader {
public:
  explicit npz_reader(const std::filesystem::path& path)
    : path_(path), archive_(open_archive(path, ZIP_RDONLY | ZIP_CHECKCONS)),
      file_size_(std::filesystem::file_size(path)) {}

  /// The names of the arrays, by the number of their entry.
  [[nodiscard]] std::map<std::string, zip_uint64_t> names() const {
    std::map<std::string, zip_uint64_t> result;
    const auto count =
        static_cast<zip_uint64_t>(std::max<zip_int64_t>(0, zip_get_num_entries(archive_.get(), 0)));
    for (zip_uint64_t i = 0; i < count; ++i) {
      const auto* raw = zip_get_name(archive_.get(), i, ZIP_FL_ENC_GUESS);
      std::string name = raw ? raw : "";
      if (!name.ends_with(suffix))
        throw bad_file(path_, "its entry '" + name + "' is not an array");
      name.resize(name.size() - suffix.size());
      if (!result.emplace(name, i).second)
        throw bad_file(path_, "it holds '" + name + "' twice");
    }
    return result;
  }

  [[nodiscard]] value read(const std::string& name, zip_uint64_t entry) {
    const auto label = path_.string() + ":" + name;
    const auto size = declared_size(entry, label);
    const std::unique_ptr<zip_file_t, close_entry> f{zip_fopen_index(archive_.get(), entry, 0)};
    if (!f)
      throw bad_file(label, zip_strerror(archive_.get()));
    std::string bytes(size, '\0');
    std::size_t done = 0;
    while (done < size) {
      const auto got = zip_fread(f.get(), bytes.data() + done, size - done);
      if (got <= 0)
        throw bad_file(label, got < 0 ? zip_file_strerror(f.get()) : "it is truncated");
      done += static_cast<std::size_t>(got);
    }
    // The checksum is compared when the end is seen.
    char more = 0;
    if (zip_fread(f.get(), &more, 1) != 0)
      throw bad_file(label, "it is damaged");
    return decode_npy(bytes, label);
  }

private:
  std::size_t declared_size(zip_uint64_t entry, const std::string& label) {
    constexpr zip_uint64_t best_deflate = 1032; // to 1: the most that deflate can compress
    zip_stat_t stat;
    if (zip_stat_index(archive_.get(), entry, 0, &stat) != 0)
      throw bad_file(label, zip_strerror(archive_.get()));
    constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((stat.valid & needed) != needed)
      throw bad_file(label, "its size is not known");
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
      throw bad_file(label, "it is compressed by a method other than deflate");
    const auto most = stat.comp_method == ZIP_CM_STORE ? stat.comp_size : stat.comp_size * best_deflate + 64;
    compressed_ += stat.comp_size; // entries of an honest file do not overlap
    if (stat.comp_size > file_size_ || compressed_ > file_size_ || stat.size > most)
      throw bad_file(label, "it says that it is larger than the file can hold");
    return static_cast<std::size_t>(stat.size);
  }

  const std::filesystem::path path_;
  const archive archive_;
  const std::uintmax_t file_size_;
  std::uintmax_t compressed_ = 0;
};

} // namespace

std::map<std::string, value> load_npz(const std::filesystem::path& path) {
  npz_reader reader{path};
  std::map<std::string, value> arrays;
  for (const auto& [name, entry] : reader.names())
    arrays.emplace(name, reader.read(name, entry));
  return arrays;
}

value load_npz(const std::filesystem::path& path, const std::string& key) {
  npz_reader reader{path};
  const auto names = reader.names();
  if (const auto found = names.find(key); found != names.end())
    return reader.read(key, found->second);
  std::string list;
  for (const auto& [name, entry] : names)
    list += (list.empty() ? "" : ", ") + name;
  throw bad_file(path, "it holds no array '" + key + "', but: " + (list.empty() ? "nothing" : list));
}

void save_npz(const std::filesystem::path& path, const std::map<std::string, value>& arrays) {
  std::vector<std::string> contents; // libzip reads them when the archive is closed
  contents.reserve(arrays.size());
  auto z = open_archive(path, ZIP_CREATE | ZIP_TRUNCATE);
  const auto fail = [&]() -> error {
    return {errc::io_failed, "'" + path.string() + "' cannot be written: " + zip_strerror(z.get())};
  };
  for (const auto& [name, array] : arrays) {
    const auto& bytes = contents.emplace_back(encode_npy(array));
    auto* source = zip_source_buffer(z.get(), bytes.data(), bytes.size(), 0);
    if (!source)
      throw fail();
    const auto entry = zip_file_add(z.get(), (name + std::string{suffix}).c_str(), source, ZIP_FL_ENC_UTF_8);
    if (entry < 0) {
      zip_source_free(source);
      throw fail();
    }
    const auto index = static_cast<zip_uint64_t>(entry);
    constexpr zip_uint16_t new_year_1980 = (1 << 5) | 1; // one content, one file, whenever it is written
    if (zip_set_file_compression(z.get(), index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(z.get(), index, 0, new_year_1980, 0) != 0)
      throw fail();
  }
  if (zip_close(z.get()) != 0)
    throw fail();
  static_cast<void>(z.release()); // closed
}

} // namespace sluice
