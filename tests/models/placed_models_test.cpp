#include "files.hpp"
#include "golden.hpp"
#include "placed_models.hpp"

#include <sluice/actors/engine.hpp>
#include <sluice/graph/tensor.hpp>

#include <tests/scheduler/placement_reference.hpp>
#include <tests/scheduler/placement_replay.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
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

/// With room for everything, the list scheduler HEFT is the measure.
void check_without_budget(const placed_model& m, const plan& p) {
  const auto placed = place_plan(p, cpu_and_accelerator(std::numeric_limits<std::size_t>::max()));
  const auto ratio = placed.made.schedule.finish_ns / heft_finish(placed.described.problem);
  BOOST_TEST_MESSAGE(m.file << ", no budget: finish " << ratio << " of HEFT's");
  BOOST_TEST(ratio <= 1.05);
}

value random_input(const shape& s) {
  auto t = tensor::make(element_type::float32, s);
  auto elements = t->data<float>();
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = random_float(seed_of("placed"), i, 0, 1);
  return t;
}

values run_once(engine& e, const placed_model& m, const plan& p, bool by_cost) {
  auto s = e.load(p.source, {.name = m.file, .place_by_cost = by_cost});
  return s.run({{p.source->at_edge(p.fed[0].edge).name, random_input(m.input)}});
}

/// A session with half the memory on the accelerator gives what the host alone gives.
void check_results(const placed_model& m, const plan& p) {
  engine host;
  const auto expected = run_once(host, m, p, false);
  const auto budget = need_of(p, true) / 2;
  engine_options o;
  o.devices.add_flag("sim:0=rate=10,bandwidth=10GB/s,memory=" + std::to_string(budget) + "B");
  engine e{std::move(o)};
  const auto got = run_once(e, m, p, true);
  BOOST_TEST_MESSAGE(m.file << ", " << budget << " bytes: " << e.memory_peak("sim:0") << " in use");
  BOOST_TEST(e.memory_peak("sim:0") > 0u);
  BOOST_TEST(e.memory_peak("sim:0") <= budget);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto a = got.at(i).tensor().data<float>();
    const auto b = expected.at(i).tensor().data<float>();
    BOOST_TEST(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

void check_model(const placed_model& m) {
  const auto p = plan_of(m);
  check_without_budget(m, *p);
  check_results(m, *p);
  const auto need = need_of(*p);
  for (const auto part : {std::size_t{2}, std::size_t{4}})
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
