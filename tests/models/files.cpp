#include "files.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>

namespace sluice::test {

namespace {

namespace fs = std::filesystem;

#ifdef SLUICE_ASAN
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

boost::test_tools::assertion_result skipped(boost::unit_test::test_unit_id id, const std::string& reason) {
  std::cout << boost::unit_test::framework::get(id, boost::unit_test::TUT_ANY).full_name()
            << " is skipped: " << reason << '\n';
  boost::test_tools::assertion_result no{false};
  no.message() << reason;
  return no;
}

} // namespace

fs::path in_repository(const fs::path& file) {
  return fs::path{SLUICE_SOURCE_FOLDER} / file;
}

fs::path asset(const fs::path& file) {
  if (file.is_absolute())
    return file;
  if (*file.begin() == "examples")
    return in_repository(file);
  const auto* named = std::getenv("SLUICE_MODELS");
  const auto model = (named ? fs::path{named} : in_repository("../shared/models")) / file;
  return fs::exists(model) ? model : in_repository("build/assets") / file;
}

precondition needs(std::vector<fs::path> assets, bool heavy) {
  return [assets = std::move(assets), heavy](auto id) -> boost::test_tools::assertion_result {
    for (const auto& file : assets)
      if (!fs::exists(asset(file)))
        return skipped(id, file.string() + " is not here");
    if (heavy && sanitized)
      return skipped(id, "it is too large for a build with AddressSanitizer");
    return true;
  };
}

std::string sha256_of(const fs::path& file) {
  const auto command = "sha256sum -- '" + file.string() + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe{::popen(command.c_str(), "r"), ::pclose};
  std::array<char, 65> text{};
  return pipe && std::fgets(text.data(), text.size(), pipe.get()) ? text.data() : "";
}

} // namespace sluice::test
