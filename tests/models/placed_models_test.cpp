#include "files.hpp"
#include "placed_models.hpp"

#include <tests/scheduler/placement_replay.hpp>

#include <boost/test/unit_test.hpp>

#include <numeric>

// Real models on a CPU and an accelerator with too little memory.

using namespace sluice;
using namespace sluice::test;

namespace {

double milliseconds(double ns) {
  return ns / 1e6;
}

void check_with_budget(const placed_model& m, const plan& p, std::size_t need, std::size_t part) {
  const auto devices = cpu_and_accelerator(need / part);
  const auto placed = place_plan(p, devices);
  const auto& problem = placed.described.problem;
  const auto& schedule = placed.made.schedule;
  BOOST_TEST(replay(problem, placed.made).faults == std::vector<std::string>{},
             boost::test_tools::per_element());
  const auto estimated = schedule.finish_ns;
  const auto simulated = simulated_finish(problem, placed.made);
  BOOST_TEST_MESSAGE(
      m.file << ", " << problem.steps.size() << " steps, budget " << need / part << ": estimated "
             << milliseconds(estimated) << " ms, simulated " << milliseconds(simulated) << " ms, "
             << schedule.transfers.size() << " transfers, "
             << std::accumulate(schedule.link_bytes.begin(), schedule.link_bytes.end(), std::size_t{0}) / 1000
             << " kB");
  BOOST_TEST(simulated <= 1.15 * estimated);
  BOOST_TEST(simulated >= estimated / 1.15);
}

void check_model(const placed_model& m) {
  const auto p = plan_of(m);
  const auto need = need_of(*p);
  for (const std::size_t part : {2, 4})
    check_with_budget(m, *p, need, part);
}

bool register_cases() {
  using namespace boost::unit_test;
  auto* all = BOOST_TEST_SUITE("placed_models");
  for (const auto& m : placed_models()) {
    auto* unit = make_test_case([=] { check_model(m); }, m.file, __FILE__, __LINE__);
    unit->add_precondition(needs({m.file}, m.file == "light_vgg19.onnx"));
    all->add(unit);
  }
  framework::master_test_suite().add(all);
  return true;
}

[[maybe_unused]] const bool registered = register_cases();

} // namespace
