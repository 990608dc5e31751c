#include "files.hpp"
#include "golden.hpp"
#include "weights.hpp"

#include <sluice/sluice.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>

// Every file of tests/data/parity is a case of its own: parity/NAME.

using namespace sluice;
using namespace sluice::test;

namespace {

/// How far a value may be from the expected one.
double allowed(const golden::output& o, double expected) {
  return o.kind == "probability" ? 1e-4 : 1e-3 * std::abs(expected) + 1e-5 * o.largest;
}

void check_samples(const golden::output& o, std::span<const float> actual) {
  std::size_t wrong = 0;
  double worst = 0;
  std::string example;
  for (const auto& s : o.samples) {
    BOOST_REQUIRE(s.position < actual.size());
    const auto distance = std::abs(double{actual[s.position]} - s.expected) / allowed(o, s.expected);
    if (distance <= 1) // and not if it is no number
      continue;
    if (++wrong == 1 || distance > worst) {
      worst = distance;
      example = std::to_string(actual[s.position]) + " instead of " + std::to_string(s.expected) + " at " +
                std::to_string(s.position);
    }
  }
  BOOST_TEST(wrong == 0u, wrong << " of " << o.samples.size() << " values are too far off, at most by "
                                << worst << " times what is allowed: " << example);
}

/// ONNX Runtime's sigmoid comes in steps of 2^-25, which a sum of tiny probabilities consists of.
void check_sums(const golden::output& o, std::span<const float> actual) {
  double sum = 0, magnitudes = 0;
  for (const double x : actual) {
    sum += x;
    magnitudes += std::abs(x);
  }
  const auto steps = o.kind == "probability" ? 0x1p-25 * static_cast<double>(actual.size()) : 0;
  const auto most = 1e-3 * o.magnitudes + steps;
  BOOST_TEST(std::abs(sum - o.sum) <= most, "the sum is " << sum << " instead of " << o.sum);
  BOOST_TEST(std::abs(magnitudes - o.magnitudes) <= most,
             "the sum of magnitudes is " << magnitudes << " instead of " << o.magnitudes);
}

void check(const std::string& name) {
  const auto g = load_golden(name);
  const auto model = asset(g.model);
  BOOST_REQUIRE_MESSAGE(sha256_of(model) == g.sha256, model << " is another model than the expected one");
  engine e;
  auto s = g.weights.empty() ? e.load(model) : e.load(reweighted_model(g));
  feeds inputs;
  for (const auto& i : g.inputs)
    inputs.set(i.name, i.content);
  run_options options;
  for (const auto& o : g.outputs)
    options.fetch.push_back(o.name);
  const auto results = s.run(inputs, options);
  for (const auto& o : g.outputs) {
    BOOST_TEST_CONTEXT(o.kind << " " << o.name) {
      const auto& actual = results[o.name].tensor();
      BOOST_REQUIRE(to_string(actual.shape()) == to_string(o.dims));
      check_samples(o, actual.data<float>());
      check_sums(o, actual.data<float>());
    }
  }
}

bool register_cases() {
  using namespace boost::unit_test;
  auto* all = BOOST_TEST_SUITE("parity");
  for (const auto& name : golden_names()) {
    auto* unit = make_test_case([name] { check(name); }, name, __FILE__, __LINE__);
    unit->add_precondition(needs({model_of_golden(name)}, name == "light_vgg19"));
    all->add(unit);
  }
  framework::master_test_suite().add(all);
  return true;
}

[[maybe_unused]] const bool registered = register_cases();

} // namespace

BOOST_AUTO_TEST_CASE(the_generator_of_goldens_makes_the_documented_numbers) {
  const std::string name = "light_resnet50:gpu_0/conv1_w_0";
  const auto seed = seed_of(name);
  BOOST_TEST(seed == 0x2aeebc5ec41c3a7cu);
  BOOST_TEST(random_bits(seed, 0) == 0x1d8dfdf31ea266e5u);
  BOOST_TEST(random_bits(seed, 1) == 0x5949bb8d600ea99eu);
  BOOST_TEST(random_float(seed, 0, 0, 0.20203051f) == -0.155382544f);
  BOOST_TEST(random_float(seed, 1, 0, 0.20203051f) == -0.0611015856f);
  BOOST_TEST(random_float(seed, 9407, 0, 0.20203051f) == -0.164893955f);
  BOOST_TEST(random_float(seed_of("light_resnet50:gpu_0/res2_0_branch2a_bn_riv_0"), 63, 1, 0.25f) ==
             1.21294165f);
}
