#include <sluice/devices/control_groups.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace sluice {

namespace {

double least_along(const std::string& root, std::string path,
                   const std::function<double(const std::string&)>& limit_of) {
  auto least = std::numeric_limits<double>::infinity();
  for (;;) {
    if (const auto limit = limit_of(root + path); limit >= 0)
      least = std::min(least, limit);
    if (path.empty() || path == "/")
      return least;
    path.erase(path.find_last_of('/'));
  }
}

bool names(const std::string& controllers, const std::string& wanted) {
  std::istringstream list{controllers};
  for (std::string name; std::getline(list, name, ',');)
    if (name == wanted)
      return true;
  return false;
}

} // namespace

double least_group_limit(const std::string& controller,
                         const std::function<double(const std::string&)>& version_1,
                         const std::function<double(const std::string&)>& version_2) {
  auto least = std::numeric_limits<double>::infinity();
  std::ifstream groups{"/proc/self/cgroup"};
  // Lines of "ID:CONTROLLERS:PATH"; version 2 has no controllers.
  for (std::string id, controllers, path;
       std::getline(groups, id, ':') && std::getline(groups, controllers, ':') && std::getline(groups, path);)
    if (controllers.empty())
      least = std::min(least, least_along("/sys/fs/cgroup", path, version_2));
    else if (names(controllers, controller))
      least = std::min(least, least_along("/sys/fs/cgroup/" + controller, path, version_1));
  return least;
}

} // namespace sluice
