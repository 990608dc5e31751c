#include <sluice/scheduler/placement.hpp>

#include <cstdio>

namespace sluice {

namespace {

std::string in_us(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g us", ns / 1000);
  return text;
}

std::string whose_word(const placement_problem& problem, const placement_problem::step& step,
                       const placement_decision& decision) {
  switch (decision.by) {
  case placed_by::scope:
    return "by its scope '" + step.scope + "'";
  case placed_by::colocation:
    return "with its colocation group '" + step.colocation + "'";
  case placed_by::only_kernel:
    if (problem.devices.size() == 1)
      return "the only device";
    return "the only device that has a kernel" +
           (step.scope.empty() || decision.scope_broken ? "" : " within its scope '" + step.scope + "'");
  case placed_by::cost:
    break;
  }
  std::string costs;
  for (std::size_t d = 0; d < decision.finish_ns.size(); ++d)
    costs += (costs.empty() ? "" : ", ") + problem.devices[d].name +
             (decision.finish_ns[d] == placement_problem::no_kernel ? " not possible"
                                                                    : " " + in_us(decision.finish_ns[d]));
  return "by cost; it would have finished at: " + costs;
}

std::string in_words(const placement_problem& problem, const placement_decision::revision& r) {
  auto text = "; moved from " + problem.devices[r.from].name + " when the plan changed: ";
  text += r.fits_before ? "finish " + in_us(r.finish_before_ns) : std::string{"over a budget"};
  return text + " -> " + in_us(r.finish_after_ns) + ", bytes over links " + std::to_string(r.bytes_before) +
         " -> " + std::to_string(r.bytes_after);
}

} // namespace

std::string explain(const placement_problem& problem, const made_placement& made, std::uint32_t step) {
  const auto& s = problem.steps[step];
  const auto& decision = made.decisions[step];
  auto text =
      s.name + ": " + problem.devices[made.places[step]].name + ", " + whose_word(problem, s, decision);
  if (decision.scope_broken)
    text += "; its scope '" + s.scope + "' has no kernel for it";
  if (decision.colocation_broken)
    text += "; it left its colocation group '" + s.colocation + "', which cannot go where it must";
  for (const auto& r : decision.revisions)
    text += in_words(problem, r);
  return text;
}

} // namespace sluice
