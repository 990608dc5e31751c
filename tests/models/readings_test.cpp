#include "files.hpp"
#include "golden.hpp"

#include <sluice/graph/onnx_tensor.hpp>
#include <sluice/sluice.hpp>
#include <sluice/stream/npy.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

// What models read in real inputs, and what ONNX says of those with constant weights.

using namespace sluice;
using namespace sluice::test;

namespace {

/// The first output of a case's model on the case's inputs.
value answer(const std::string& golden_name) {
  const auto g = load_golden(golden_name);
  engine e;
  auto s = e.load(asset(g.model));
  feeds inputs;
  for (const auto& i : g.inputs)
    inputs.set(i.name, i.content);
  return s.run(inputs, {.fetch = {g.outputs.front().name}}).at(0);
}

/// Position of the largest element of each row.
std::vector<std::size_t> best_of_rows(std::span<const float> scores, std::size_t columns) {
  std::vector<std::size_t> best;
  for (; scores.size() >= columns; scores = scores.subspan(columns)) {
    const auto row = scores.first(columns);
    best.push_back(static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return best;
}

constexpr const char* mnist = "mnist_cntk.onnx";
constexpr const char* magika = "magika_standard_v3_3.onnx";
constexpr const char* recognition = "ch_PP-OCRv4_rec_infer.onnx";
constexpr const char* characters = "ppocr_keys_v1.txt";

void check_expected_output(const std::string& model, const std::filesystem::path& expected_file) {
  auto pixels = tensor::make(element_type::float32, {1, 3, 224, 224});
  const auto x = pixels->data<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i) / static_cast<float>(x.size());
  engine e;
  auto s = e.load(asset(model));
  const auto results = s.run({{s.model().at_edge(s.model().inputs().front()).name, pixels}});
  const auto wanted = read_onnx_value(asset(expected_file));
  const auto& actual = results.at(0).tensor();
  BOOST_REQUIRE(to_string(actual.shape()) == to_string(wanted.tensor().shape()));
  const auto found = actual.data<float>();
  const auto expected = wanted.tensor().data<float>();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    wrong += std::abs(found[i] - expected[i]) <= 1e-3f * std::abs(expected[i]) + 1e-7f ? 0 : 1;
  BOOST_TEST(wrong == 0u, wrong << " of " << found.size() << " values differ, " << found.front()
                                << " instead of " << expected.front() << " is the first value");
}

bool register_cases() {
  using namespace boost::unit_test;
  auto* all = BOOST_TEST_SUITE("expected_outputs");
  for (const std::string name : {"bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                 "shufflenet", "squeezenet", "vgg19", "zfnet512"}) {
    const auto model = "light_" + name + ".onnx";
    const auto expected = std::filesystem::path{"light_expected"} / ("light_" + name + "_output_0.pb");
    auto* unit =
        make_test_case([=] { check_expected_output(model, expected); }, "light_" + name, __FILE__, __LINE__);
    unit->add_precondition(needs({model, expected}, name == "vgg19"));
    all->add(unit);
  }
  framework::master_test_suite().add(all);
  return true;
}

[[maybe_unused]] const bool registered = register_cases();

} // namespace

BOOST_AUTO_TEST_SUITE(readings)

BOOST_AUTO_TEST_CASE(the_classifier_of_the_demo_reads_199_of_its_200_sample_digits) {
  const auto archive = in_repository("examples/digits/sample_digits.npz");
  const auto stored = load_npz(archive, "images");
  const auto labels = load_npz(archive, "labels");
  auto images = tensor::make(element_type::float32, {200, 1, 28, 28});
  std::ranges::transform(stored.tensor().data<std::uint8_t>(), images->data<float>().begin(),
                         [](auto byte) { return static_cast<float>(byte) / 255.f; });
  engine e;
  auto s = e.load(in_repository("examples/digits/digits.onnx"));
  const auto results = s.run({{"image", images}});
  const auto read = best_of_rows(results["scores"].tensor().data<float>(), 10);
  const auto expected = labels.tensor().data<std::uint8_t>();
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (read.at(i) != expected[i])
      wrong.push_back(i);
  BOOST_TEST(wrong == std::vector<std::size_t>{166}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_classifier_of_the_demo_reads_held_out_digits) {
  const std::vector<std::size_t> digits{5, 0, 6, 2, 3, 1, 3, 3, 1, 7, 6, 9, 9, 2, 8, 1};
  const auto scores = answer("digits");
  BOOST_TEST(best_of_rows(scores.tensor().data<float>(), 10) == digits, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(mnist_cntk_reads_a_five, *boost::unit_test::precondition(needs({mnist}))) {
  BOOST_TEST(argmax(answer("mnist_cntk_digit")) == 5);
}

BOOST_AUTO_TEST_CASE(magika_takes_a_program_for_one, *boost::unit_test::precondition(needs({magika}))) {
  BOOST_TEST(argmax(answer("magika_text")) == 26);
}

BOOST_AUTO_TEST_CASE(a_line_of_text_is_read_letter_by_letter,
                     *boost::unit_test::precondition(needs({recognition, characters}))) {
  std::vector<std::string> labels{""}; // 0: nothing new at this place
  std::ifstream in{asset(characters)};
  for (std::string line; std::getline(in, line);)
    labels.push_back(line);
  labels.emplace_back(" ");
  const auto scores = answer("ocr_rec_text");
  std::string text;
  std::size_t before = 0;
  for (const auto label : best_of_rows(scores.tensor().data<float>(), labels.size())) {
    if (label != before)
      text += labels[label];
    before = label;
  }
  BOOST_TEST(text == "actors fire at 10:42");
}

BOOST_AUTO_TEST_SUITE_END()
