#include <sluice/graph/collections.hpp>
#include <sluice/graph/onnx_import.hpp>
#include <sluice/graph/onnx_tensor.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/evaluate.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

using namespace sluice;
namespace fs = std::filesystem;

namespace {

// ONNX's own tolerances.
constexpr double relative = 1e-3;
constexpr double absolute = 1e-7;

/// Operators whose results are random: their tests compare shapes only.
const std::set<std::string> random_operators = {"Bernoulli",     "RandomUniformLike", "RandomNormalLike",
                                                "RandomUniform", "RandomNormal",      "Multinomial"};

bool has_random_operator(const graph& g) {
  for (const auto& n : g.nodes())
    if (random_operators.contains(n.op) ||
        (n.op == "Dropout" && n.attributes.get<std::int64_t>("seed", 0) == 0 && n.inputs.size() > 2))
      return true;
  return false;
}

template <class T>
bool close(const T& actual, const T& expected) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(expected) || std::isnan(actual))
      return std::isnan(expected) && std::isnan(actual);
    if (actual == expected)
      return true;
    return std::abs(static_cast<double>(actual) - static_cast<double>(expected)) <=
           absolute + relative * std::abs(static_cast<double>(expected));
  } else if constexpr (std::is_same_v<T, float16>) {
    return close(static_cast<float>(actual), static_cast<float>(expected));
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    // The files were made by cutting bits off, which ONNX says is to round: a unit of the last place apart.
    return actual.bits == expected.bits || actual.bits == expected.bits + 1;
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return close(actual.real(), expected.real()) && close(actual.imag(), expected.imag());
  } else {
    return actual == expected;
  }
}

/// Empty if `actual` is what is expected, otherwise what differs.
std::string difference(const value& actual, const value& expected, bool shapes_only) {
  if (expected.is(value_kind::optional) && !actual.is(value_kind::optional))
    return difference(actual, expected.optional().content, shapes_only);
  if (actual.empty() || expected.empty())
    return actual.empty() == expected.empty() ? "" : "one is empty";
  if (actual.kind() != expected.kind())
    return describe(actual) + " instead of " + describe(expected);
  if (actual.is(value_kind::sequence)) {
    const auto& a = actual.sequence().items;
    const auto& e = expected.sequence().items;
    if (a.size() != e.size())
      return describe(actual) + " instead of " + describe(expected);
    for (std::size_t i = 0; i < a.size(); ++i)
      if (auto d = difference(a[i], e[i], shapes_only); !d.empty())
        return "item " + std::to_string(i) + ": " + d;
    return "";
  }
  if (actual.is(value_kind::optional))
    return difference(actual.optional().content, expected.optional().content, shapes_only);
  if (!actual.is(value_kind::tensor))
    return "";
  const auto& a = actual.tensor();
  const auto& e = expected.tensor();
  if (a.type() != e.type() || a.shape() != e.shape())
    return describe(actual) + " instead of " + describe(expected);
  if (shapes_only)
    return "";
  return visit_element_type(a.type(), [&]<class T>(std::type_identity<T>) -> std::string {
    for (std::size_t i = 0; i < a.data<T>().size(); ++i)
      if (!close(a.data<T>()[i], e.data<T>()[i]))
        return "element " + std::to_string(i) + " of " + describe(actual) + " differs";
    return "";
  });
}

/// The value in a file. Some files hold the bits of bfloat16 elements as uint16.
value read(const fs::path& file, const value_type& type) {
  const auto v = read_onnx_value(file, type.kind().value_or(value_kind::tensor));
  if (!v.is(value_kind::tensor) || type.element() != element_type::bfloat16 ||
      v.tensor().type() != element_type::uint16)
    return v;
  const auto bits = v.tensor().data<std::uint16_t>();
  auto t = tensor::make(element_type::bfloat16, v.tensor().shape());
  std::memcpy(t->raw(), bits.data(), bits.size_bytes());
  return t;
}

/// Runs one model on one data set; returns what differs.
std::string run(const graph& g, const fs::path& data) {
  std::vector<value> inputs;
  for (std::size_t i = 0; i < g.inputs().size(); ++i) {
    const auto file = data / ("input_" + std::to_string(i) + ".pb");
    inputs.push_back(fs::exists(file) ? read(file, g.at_edge(g.inputs()[i]).type) : value{});
  }
  const auto outputs = evaluate(*standard_operators(), g, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto file = data / ("output_" + std::to_string(i) + ".pb");
    if (!fs::exists(file))
      continue;
    if (auto d = difference(outputs[i], read(file, g.at_edge(g.outputs()[i]).type), has_random_operator(g));
        !d.empty())
      return "output " + std::to_string(i) + ": " + d;
  }
  return "";
}

} // namespace

BOOST_AUTO_TEST_SUITE(onnx_conformance_test)

/// SLUICE_ONNX_CASES narrows it to the models whose names contain it.
BOOST_AUTO_TEST_CASE(every_onnx_test_whose_operators_are_there_passes) {
  const fs::path root = "/usr/share/libonnx-testdata/data";
  if (!fs::exists(root)) {
    BOOST_TEST_MESSAGE("libonnx-testdata is not installed");
    return;
  }
  const auto* wanted = std::getenv("SLUICE_ONNX_CASES");
  std::size_t run_models = 0;
  for (const auto* group : {"node", "simple", "pytorch-operator", "pytorch-converted"})
    for (const auto& folder : fs::directory_iterator{root / group}) {
      const auto name = folder.path().filename().string();
      const auto model = folder.path() / "model.onnx";
      if (!fs::exists(model) || (wanted && name.find(wanted) == std::string::npos))
        continue;
      try {
        const auto g = load_onnx(model, standard_operators()->schemas());
        ++run_models;
        const auto d = run(*g, folder.path() / "test_data_set_0");
        BOOST_CHECK_MESSAGE(d.empty(), name << ": " << d);
      } catch (const unsupported_operators& e) {
        if (wanted)
          BOOST_TEST_MESSAGE(e.what());
      } catch (const error& e) {
        BOOST_ERROR(name + ": " + e.what());
      }
    }
  BOOST_TEST_MESSAGE(run_models << " models were run");
  BOOST_TEST(run_models > 0u);
}

BOOST_AUTO_TEST_SUITE_END()
