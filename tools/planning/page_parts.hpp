#pragma once

#include <tools/planning/model_plan.hpp>

#include <string>
#include <string_view>

/// The pieces of the page that shows a plan.
namespace sluice::tools {

/// Text with what HTML means otherwise made harmless.
[[nodiscard]] std::string escaped(std::string_view text);

/// Firings by device and transfers by link, over time.
[[nodiscard]] std::string timeline_picture(const model_plan& p);

/// Parts as boxes, a row a device, with arrows for what goes from one to another.
[[nodiscard]] std::string parts_picture(const model_plan& p);

/// Where the buffers of a device lie in its arena from step to step, in the order of one at a time.
[[nodiscard]] std::string arena_picture(const planned_device& d, const model_plan& p);

} // namespace sluice::tools
