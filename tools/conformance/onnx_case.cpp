#include <tools/conformance/onnx_case.hpp>

#include <tools/exit_code.hpp>

#include <sluice/graph/onnx_import.hpp>
#include <sluice/graph/onnx_tensor.hpp>
#include <sluice/graph/tensor.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

namespace sluice::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view model_file = "model.onnx";

/// The N of "PREFIX_N" + ending.
std::optional<int> number_in(std::string_view name, std::string_view prefix, std::string_view ending) {
  if (!name.starts_with(prefix) || !name.ends_with(ending) || name.size() <= prefix.size() + ending.size())
    return {};
  name = name.substr(prefix.size(), name.size() - prefix.size() - ending.size());
  int n = 0;
  const auto* end = name.data() + name.size();
  const auto [at, problem] = std::from_chars(name.data(), end, n);
  return problem == std::errc{} && at == end ? std::optional{n} : std::nullopt;
}

/// What is called PREFIX_N + ending in a folder, ordered by N.
std::map<int, fs::path> numbered(const fs::path& folder, std::string_view prefix,
                                 std::string_view ending = "") {
  std::map<int, fs::path> found;
  for (const auto& entry : fs::directory_iterator{folder})
    if (const auto n = number_in(entry.path().filename().string(), prefix, ending))
      found.emplace(*n, entry.path());
  return found;
}

bool is_random(const graph& g) {
  constexpr std::array<std::string_view, 6> random_operators{
      "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  return std::any_of(g.nodes().begin(), g.nodes().end(), [&](const graph::node& n) {
    return std::find(random_operators.begin(), random_operators.end(), n.op) != random_operators.end();
  });
}

/// `v` as the model declares it. ONNX's tests keep bfloat16 as the uint16 of its bits, because numpy has no
/// such type.
value as_declared(const value& v, const value_type& declared) {
  if (!declared.is_tensor() || declared.element() != element_type::bfloat16 || !v.is(value_kind::tensor) ||
      v.tensor().type() != element_type::uint16)
    return v;
  const auto bits = v.tensor().data<std::uint16_t>();
  auto t = tensor::make(element_type::bfloat16, v.tensor().shape());
  std::transform(bits.begin(), bits.end(), t->data<bfloat16>().begin(), [](std::uint16_t b) {
    bfloat16 x;
    x.bits = b;
    return x;
  });
  return t;
}

/// Values of the files of a data set, one for each of the graph's edges named by `edges`, as far as there are
/// files.
std::vector<value> load_values(const fs::path& data_set, std::string_view prefix, const graph& g,
                               std::span<const edge_index> edges) {
  std::vector<value> values;
  for (const auto& [n, file] : numbered(data_set, prefix, ".pb")) {
    if (static_cast<std::size_t>(n) != values.size() || values.size() == edges.size())
      throw error{errc::invalid_argument, "'" + file.string() + "' does not belong to the model's " +
                                              std::to_string(edges.size()) + " values of that kind"};
    const auto& declared = g.at_edge(edges[values.size()]).type;
    const auto v = read_onnx_value(file, declared.kind().value_or(value_kind::tensor));
    values.push_back(as_declared(v, declared));
  }
  return values;
}

/// Why the results of a data set are wrong; nullopt if they are right.
std::optional<std::string> check(const fs::path& data_set, const graph& g, const graph_runner& run,
                                 const tolerance& allowed) {
  const auto inputs = load_values(data_set, "input_", g, g.inputs());
  const auto expected = load_values(data_set, "output_", g, g.outputs());
  if (inputs.size() != g.inputs().size())
    return "it has files for " + std::to_string(inputs.size()) + " of " + std::to_string(g.inputs().size()) +
           " inputs";
  if (expected.empty())
    return "it has no expected outputs";
  const auto results = run(inputs);
  const auto random = is_random(g);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto wrong = random ? type_difference(results.at(i), expected[i])
                              : difference(results.at(i), expected[i], allowed);
    if (wrong)
      return "output '" + g.output_names()[i] + "': " + *wrong;
  }
  return {};
}

} // namespace

std::vector<onnx_case> find_cases(const fs::path& folder) try {
  std::vector<onnx_case> cases;
  const auto look = [&](const fs::path& at) {
    if (!fs::is_regular_file(at / model_file))
      return;
    onnx_case c{
        .name = fs::weakly_canonical(at).filename().string(), .model = at / model_file, .data_sets = {}};
    for (const auto& [n, data_set] : numbered(at, "test_data_set_"))
      c.data_sets.push_back(data_set);
    cases.push_back(std::move(c));
  };
  look(folder);
  for (const auto& entry : fs::recursive_directory_iterator{folder})
    if (entry.is_directory())
      look(entry.path());
  if (cases.empty())
    throw command_error{exit_code::bad_file,
                        "'" + folder.string() + "' holds no test: no folder with a model.onnx"};
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.model < b.model; });
  return cases;
} catch (const fs::filesystem_error& e) {
  throw command_error{exit_code::bad_file, "'" + folder.string() + "' cannot be read: " + e.code().message()};
}

std::string_view to_string(case_status s) noexcept {
  switch (s) {
  case case_status::passed:
    return "passed";
  case case_status::failed:
    return "failed";
  case case_status::unsupported:
    break;
  }
  return "unsupported";
}

case_result run_case(const onnx_case& c, const std::shared_ptr<const op_registry>& operators,
                     const graph_opener& open, const tolerance& allowed) {
  case_result result{.name = c.name};
  const auto ends = [&](case_status status, std::string reason) {
    result.status = status;
    result.reason = std::move(reason);
    return result;
  };
  try {
    if (c.data_sets.empty())
      return ends(case_status::failed, "it has no test_data_set_0");
    const auto g = load_onnx(c.model, operators);
    const auto run = open(g);
    for (const auto& data_set : c.data_sets)
      if (const auto wrong = check(data_set, *g, run, allowed))
        return ends(case_status::failed, data_set.filename().string() + ": " + *wrong);
    return ends(case_status::passed, {});
  } catch (const unsupported_operators& e) {
    for (const auto& o : e.operators())
      result.missing_operators.push_back(o.domain.empty() ? o.name : o.domain + "::" + o.name);
    return ends(case_status::unsupported, e.what());
  } catch (const error& e) {
    return ends(e.code() == errc::unsupported ? case_status::unsupported : case_status::failed, e.what());
  } catch (const std::exception& e) {
    return ends(case_status::failed, e.what());
  }
}

} // namespace sluice::tools
