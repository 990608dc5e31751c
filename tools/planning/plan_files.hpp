#pragma once

#include <tools/planning/model_plan.hpp>

#include <string>

namespace sluice::tools {

/// Writes a plan as JSON to a file, or to standard output for "-". Throws errc::io_failed.
void write_plan_json(const std::string& file, const std::string& model, const model_plan& p);

/// One page of HTML that needs no other file: timeline, parts and what goes between them, tensors, the arena
/// over the steps, transfers.
[[nodiscard]] std::string plan_page(const std::string& model, const model_plan& p);

} // namespace sluice::tools
