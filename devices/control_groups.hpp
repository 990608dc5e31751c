#pragma once

#include <functional>
#include <limits>
#include <string>

namespace sluice {

/// The least limit of a kind that this process' control groups set, its own and those around it; infinity if
/// none does. A limit is read from a group's folder; a negative number says that there is none. Internal to
/// `devices/`.
/// @param controller  "cpu", "memory": where version 1 keeps it
[[nodiscard]] double least_group_limit(const std::string& controller,
                                       const std::function<double(const std::string& folder)>& version_1,
                                       const std::function<double(const std::string& folder)>& version_2);

} // namespace sluice
