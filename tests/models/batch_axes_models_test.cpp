#include "files.hpp"

#include <sluice/graph/onnx_import.hpp>

#include <tests/scheduler/batch_graphs.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

// Which real models can be cut into items, and that a batch gives what its items give.

using namespace sluice;
using namespace sluice::test;

namespace {

struct model_case {
  std::string file;
  std::vector<shape> one;                      ///< shapes of the inputs for one item
  std::vector<std::optional<std::size_t>> fed; ///< the axes that must be found
  std::vector<std::size_t> fetched;
  bool fixes_one = false; ///< the model is for one item, and is rewritten
  double tolerance = 1e-4;
};

void check(const model_case& m) {
  const auto operators = standard_operators();
  auto g = load_onnx(asset(m.file), operators->schemas());
  auto verdict = axes_of(*g, m.one, m.fixes_one ? fixed_batch::may_grow : fixed_batch::stays);
  BOOST_REQUIRE_MESSAGE(verdict.axes, verdict.reason);
  if (m.fixes_one) {
    BOOST_TEST(!axes_of(*g, m.one).axes);
    g = with_batch_dimension(*g, operators->schemas(), request_for(*g, m.one), *verdict.axes);
  }
  std::vector<value> inputs;
  auto three = m.one;
  for (std::size_t i = 0; i < three.size(); ++i) {
    if (m.fed[i])
      three[i] = three[i].with(*m.fed[i], 3);
    const auto element = g->at_edge(g->inputs()[i]).type.element();
    inputs.push_back(three[i].rank() == 0 ? value{tensor::of_scalar<std::int64_t>(16000)}
                                          : numbered(element, three[i], i + 1));
  }
  verdict = axes_of(*g, three);
  BOOST_REQUIRE_MESSAGE(verdict.axes, verdict.reason);
  BOOST_TEST((verdict.axes->fed == m.fed));
  BOOST_TEST(verdict.axes->fetched == m.fetched, boost::test_tools::per_element());
  BOOST_TEST(verdict.axes->items == 3);
  const auto worst = batch_against_singles(*g, inputs, 3, *verdict.axes);
  BOOST_TEST_MESSAGE(m.file << ": a batch of three differs from three items by " << worst);
  BOOST_TEST(worst <= m.tolerance);
}

bool register_cases() {
  using namespace boost::unit_test;
  auto* all = BOOST_TEST_SUITE("batch_axes_of_models");
  std::vector<model_case> cases;
  for (const std::string name : {"squeezenet", "densenet121"})
    cases.push_back({"light_" + name + ".onnx", {{1, 3, 224, 224}}, {0}, {0}, true});
  for (const std::string name :
       {"bvlc_alexnet", "inception_v1", "inception_v2", "resnet50", "shufflenet", "zfnet512"})
    cases.push_back({"light_" + name + ".onnx", {{1, 3, 224, 224}}, {0}, {0}, true});
  cases.push_back({"mnist_cntk.onnx", {{1, 1, 28, 28}}, {0}, {0}, true, 0.1});
  cases.push_back({"ch_PP-OCRv4_det_infer.onnx", {{1, 3, 64, 96}}, {0}, {0}});
  cases.push_back({"ch_PP-OCRv4_rec_infer.onnx", {{1, 3, 48, 64}}, {0}, {0}});
  cases.push_back({"ch_ppocr_mobile_v2.0_cls_infer.onnx", {{1, 3, 48, 192}}, {0}, {0}});
  cases.push_back({"magika_standard_v3_3.onnx", {{1, 2048}}, {0}, {0}});
  cases.push_back({"silero_vad.onnx", {{1, 576}, {2, 1, 128}, {}}, {0, 1, std::nullopt}, {0, 1}});
  for (const auto& m : cases) {
    auto* unit = make_test_case([=] { check(m); }, m.file, __FILE__, __LINE__);
    unit->add_precondition(needs({m.file}));
    all->add(unit);
  }
  framework::master_test_suite().add(all);
  return true;
}

[[maybe_unused]] const bool registered = register_cases();

} // namespace
