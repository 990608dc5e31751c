#include "files.hpp"

#include <sluice/graph/onnx_import.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/branch_order.hpp>
#include <sluice/scheduler/memory_plan.hpp>
#include <sluice/scheduler/plan.hpp>
#include <sluice/scheduler/plan_memory.hpp>

#include <tests/scheduler/memory_graphs.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

// How near the arenas of real models come to their bounds, and that they are safe.

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* detection = "ch_PP-OCRv4_det_infer.onnx";

struct model_case {
  std::string file;
  std::vector<std::vector<std::int64_t>> inputs; ///< shapes, in the model's order
};

void add_with_bodies(const plan& p, std::vector<memory_graph>& to) {
  to.push_back(memory_of(p).graph);
  BOOST_TEST(to.back().steps.size() == p.steps.size());
  for (const auto& s : p.steps)
    for (const auto& body : s.bodies)
      if (body)
        add_with_bodies(*body, to);
}

/// Of the model and of all its bodies.
std::vector<memory_graph> memory_of(const model_case& m) {
  const auto operators = standard_operators();
  const auto g = load_onnx(asset(m.file), operators->schemas());
  kernel_cache kernels{operators};
  plan_request request;
  BOOST_REQUIRE(g->inputs().size() == m.inputs.size());
  for (std::size_t i = 0; i < m.inputs.size(); ++i)
    request.fed.push_back(
        {g->inputs()[i], {g->at_edge(g->inputs()[i]).type.element(), partial_shape{shape{m.inputs[i]}}}, {}});
  std::sort(request.fed.begin(), request.fed.end(),
            [](const auto& a, const auto& b) { return a.edge < b.edge; });
  request.fetch.assign(g->outputs().begin(), g->outputs().end());
  const auto p = make_plan(g, fold_constants(*g, *operators, memory::heap()), request, kernels);
  std::vector<memory_graph> made;
  add_with_bodies(*p, made);
  return made;
}

double megabytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

void check(const std::string& file, const memory_graph& g) {
  std::mt19937_64 random{1};
  const auto serial = best_serial_order(g);
  BOOST_TEST(serial.optimal);
  const auto two = best_branch_order(g, serial, 2);
  BOOST_TEST_MESSAGE(file << ", " << g.steps.size() << " steps; listed "
                          << megabytes(least_memory(g, listed_order(g))) << " MB; two branches take "
                          << two.schedule.ns / std::max(1., serial.schedule.ns)
                          << " of the serial time, with " << two.schedule.waits.size() << " waits");
  for (const auto& [name, allowed] : {std::pair{"serial", serial.schedule}, std::pair{"two", two.schedule},
                                      std::pair{"unrestricted", unrestricted_order()}}) {
    const auto p = plan_memory(g, allowed);
    const auto ratio =
        p.least_bytes == 0 ? 1 : static_cast<double>(p.bytes) / static_cast<double>(p.least_bytes);
    BOOST_TEST_MESSAGE("  " << name << ": " << megabytes(p.least_bytes) << " MB, arena " << ratio);
    BOOST_TEST(ratio <= 1.05, name << ": " << ratio);
    for (int i = 0; i < 10; ++i)
      BOOST_TEST(mistakes(g, allowed, p, random) == 0u);
  }
  if (file == detection)
    BOOST_TEST(megabytes(two.least_bytes) <= 1.15 * megabytes(serial.peak));
  BOOST_TEST(two.schedule.ns <= 1.05 * two.fastest_ns);
}

void check_model(const model_case& m) {
  for (const auto& g : memory_of(m))
    check(m.file, g);
}

bool register_cases() {
  using namespace boost::unit_test;
  auto* all = BOOST_TEST_SUITE("memory_plans");
  std::vector<model_case> cases;
  for (const std::string name : {"bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                 "shufflenet", "squeezenet", "vgg19", "zfnet512"})
    cases.push_back({"light_" + name + ".onnx", {{1, 3, 224, 224}}});
  cases.push_back({detection, {{1, 3, 640, 960}}});
  cases.push_back({"ch_PP-OCRv4_rec_infer.onnx", {{1, 3, 48, 320}}});
  cases.push_back({"ch_ppocr_mobile_v2.0_cls_infer.onnx", {{1, 3, 48, 192}}});
  cases.push_back({"magika_standard_v3_3.onnx", {{1, 2048}}});
  cases.push_back({"mnist_cntk.onnx", {{1, 1, 28, 28}}});
  cases.push_back({"silero_vad.onnx", {{1, 576}, {2, 1, 128}, {}}});
  for (const auto& m : cases) {
    auto* unit = make_test_case([=] { check_model(m); }, m.file, __FILE__, __LINE__);
    unit->add_precondition(needs({m.file}, m.file == "light_vgg19.onnx"));
    all->add(unit);
  }
  framework::master_test_suite().add(all);
  return true;
}

[[maybe_unused]] const bool registered = register_cases();

} // namespace
