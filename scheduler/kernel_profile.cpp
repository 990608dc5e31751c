#include <sluice/scheduler/kernel_profile.hpp>

#include <sluice/devices/cpu_level.hpp>
#include <sluice/devices/strict_json.hpp>
#include <sluice/graph/error.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include <unistd.h>

namespace sluice {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* title = "sluice kernel times";
constexpr int format = 1;
/// A kernel takes about 300 bytes: more than this is no profile.
constexpr std::uintmax_t most_bytes = std::uintmax_t{256} << 20;

std::string cpu_model() {
  std::ifstream info{"/proc/cpuinfo"};
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      if (const auto at = line.find(": "); at != std::string::npos)
        return line.substr(at + 2);
  return "unknown CPU";
}

/// Reads one file, and names the place where it is not as it must be.
class reader {
public:
  explicit reader(const std::string& origin) : origin_(origin) {}

  [[nodiscard]] json open(std::string_view text) const {
    auto all = parse_strict_json(text, origin_);
    if (!all.is_object() || all.value("what", json{}) != title)
      refuse("this is no file of kernel times");
    if (all.value("format", json{}) != format)
      refuse("its format is not " + std::to_string(format) + ", which this version of Sluice reads");
    return all;
  }

  [[nodiscard]] const json& list(const json& in, const char* key, const std::string& where) const {
    if (!in.is_object() || !in.contains(key) || !in[key].is_array())
      refuse(where + " has no list '" + key + "'");
    return in[key];
  }

  [[nodiscard]] std::string text(const json& in, const char* key, const std::string& where) const {
    if (!in.is_object() || !in.contains(key) || !in[key].is_string())
      refuse(where + " has no text '" + key + "'");
    return in[key].get<std::string>();
  }

  [[nodiscard]] double number(const json& in, const char* key, const std::string& where) const {
    if (!in.is_object() || !in.contains(key) || !in[key].is_number())
      refuse(where + " has no number '" + key + "'");
    const auto x = in[key].get<double>();
    if (!std::isfinite(x) || x < 0)
      refuse(where + " has a '" + key + "' below zero or out of range");
    return x;
  }

  [[nodiscard]] profile_machine machine(const json& section, const std::string& where) const {
    const auto threads = number(section, "threads", where);
    if (threads < 1 || threads > 65536 || threads != std::floor(threads))
      refuse(where + " has a number of 'threads' that makes no sense");
    return {text(section, "cpu", where), text(section, "library", where), text(section, "kernels", where),
            static_cast<unsigned>(threads)};
  }

  [[nodiscard]] kernel_profile::table times(const json& section, const std::string& where) const {
    kernel_profile::table all;
    std::size_t i = 0;
    for (const auto& k : list(section, "times", where)) {
      const auto here = where + ", time " + std::to_string(++i);
      const kernel_id id{text(k, "op", here), text(k, "inputs", here), text(k, "outputs", here),
                         text(k, "attributes", here)};
      all.insert_or_assign(id, kernel_profile::time{number(k, "ns", here), number(k, "flops", here),
                                                    number(k, "bytes", here)});
    }
    return all;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw error{errc::invalid_argument, origin_ + ": " + why};
  }

private:
  const std::string origin_;
};

json section_of(const profile_machine& m, const kernel_profile::table& times_of) {
  auto times = json::array();
  for (const auto& [id, t] : times_of)
    times.push_back({{"op", id.op},
                     {"inputs", id.inputs},
                     {"outputs", id.outputs},
                     {"attributes", id.attributes},
                     {"ns", std::round(t.ns)},
                     {"flops", t.flops},
                     {"bytes", t.bytes}});
  return {{"cpu", m.cpu},
          {"library", m.library},
          {"kernels", m.kernels},
          {"threads", m.threads},
          {"times", std::move(times)}};
}

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why) {
  throw error{errc::io_failed, "file '" + file.string() + "' " + why};
}

} // namespace

profile_machine this_machine(std::string kernels, unsigned threads) {
  return {cpu_model() + ", x86-64-" + std::string{to_string(active_cpu_level())}, SLUICE_VERSION,
          std::move(kernels), threads};
}

kernel_profile kernel_profile::read(const std::filesystem::path& file, profile_machine machine) {
  std::error_code problem;
  const auto status = std::filesystem::status(file, problem);
  if (status.type() == std::filesystem::file_type::not_found)
    return kernel_profile{std::move(machine)};
  if (!std::filesystem::is_regular_file(status))
    fail(file, "is not a regular file that can be read");
  if (std::filesystem::file_size(file, problem) > most_bytes || problem)
    fail(file, "is too large for a file of kernel times");
  std::ifstream in{file, std::ios::binary};
  std::ostringstream text;
  if (!in || (in.peek() != std::ifstream::traits_type::eof() && !(text << in.rdbuf())))
    fail(file, "cannot be read");
  return parse(text.str(), "file '" + file.string() + "'", std::move(machine));
}

kernel_profile kernel_profile::parse(std::string_view text, const std::string& origin,
                                     profile_machine machine) {
  const reader r{origin};
  const auto all = r.open(text);
  kernel_profile made{std::move(machine)};
  std::size_t i = 0;
  for (const auto& section : r.list(all, "machines", "the file")) {
    const auto where = "machine " + std::to_string(++i);
    auto whose = r.machine(section, where);
    auto times = r.times(section, where);
    if (whose == made.machine_)
      made.kernels_.merge(times);
    else
      made.others_.emplace_back(std::move(whose), std::move(times));
  }
  return made;
}

void kernel_profile::write(const std::filesystem::path& file) const {
  auto machines = json::array();
  machines.push_back(section_of(machine_, kernels_));
  for (const auto& [machine, times] : others_)
    machines.push_back(section_of(machine, times));
  const json all{{"what", title}, {"format", format}, {"machines", std::move(machines)}};

  std::error_code problem;
  if (file.has_parent_path())
    std::filesystem::create_directories(file.parent_path(), problem);
  // Written beside it and renamed. The process's number keeps two writers apart.
  auto beside = file;
  beside += ".new" + std::to_string(getpid());
  {
    std::ofstream out{beside, std::ios::binary | std::ios::trunc};
    out << all.dump(1, ' ', false, json::error_handler_t::replace) << '\n' << std::flush;
    if (!out) {
      std::filesystem::remove(beside, problem);
      fail(file, "cannot be written");
    }
  }
  std::filesystem::rename(beside, file, problem);
  if (problem) {
    const auto why = problem.message();
    std::filesystem::remove(beside, problem);
    fail(file, "cannot be written: " + why);
  }
}

const kernel_profile::time* kernel_profile::find(const kernel_id& kernel) const {
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? nullptr : &found->second;
}

std::filesystem::path default_profile_file() {
  const auto folder = [](const char* name) {
    const auto* text = std::getenv(name);
    return std::filesystem::path{text ? text : ""};
  };
  if (const auto cache = folder("XDG_CACHE_HOME"); cache.is_absolute())
    return cache / "sluice" / "kernels.json";
  if (const auto home = folder("HOME"); !home.empty())
    return home / ".cache" / "sluice" / "kernels.json";
  return {};
}

} // namespace sluice
