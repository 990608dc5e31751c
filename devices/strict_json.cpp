#include <sluice/devices/strict_json.hpp>

#include <sluice/graph/error.hpp>

#include <set>
#include <vector>

namespace sluice {

using json = nlohmann::ordered_json;

json parse_strict_json(std::string_view text, const std::string& origin) {
  const auto refuse = [&origin](const std::string& why) {
    throw error{errc::invalid_argument, origin + ": " + why};
  };
  std::vector<std::set<std::string>> keys;
  const auto look = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      refuse("'" + parsed.get<std::string>() + "' is there twice");
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), look);
  } catch (const json::exception& e) {
    const std::string_view why = e.what(); // "[json.exception.parse_error.101] parse error at line 1, …"
    const auto begin = why.find("] ");
    throw error{errc::invalid_argument,
                origin + ": " + std::string{begin == std::string_view::npos ? why : why.substr(begin + 2)}};
  }
}

} // namespace sluice
