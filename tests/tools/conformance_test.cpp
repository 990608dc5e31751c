#include "tiny_models.hpp"

#include <tools/conformance/suite.hpp>
#include <tools/exit_code.hpp>

#include <sluice/graph/onnx_tensor.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>

#include <boost/test/unit_test.hpp>

#include <tests/support/temporary_folder.hpp>

using namespace sluice;
using namespace sluice::tools;
namespace fs = std::filesystem;

namespace {

/// A folder of one case whose model passes its input on.
void make_case(const fs::path& folder, const std::string& model, const value& input, const value& output) {
  fs::create_directories(folder / "test_data_set_0");
  write_file(folder / "model.onnx", model);
  write_onnx_value(folder / "test_data_set_0/input_0.pb", input);
  write_onnx_value(folder / "test_data_set_0/output_0.pb", output);
}

std::shared_ptr<const op_registry> identity_only() {
  auto operators = std::make_shared<op_registry>();
  operators->add({.name = "Identity", .infer = [](const op_view& op) { return std::vector{op.input(0)}; }});
  return operators;
}

graph_runner pass_on(std::shared_ptr<const graph>) {
  return [](std::span<const value> inputs) { return std::vector<value>(inputs.begin(), inputs.end()); };
}

case_result result_of(const fs::path& folder, const graph_opener& open = pass_on) {
  const auto cases = find_cases(folder);
  BOOST_REQUIRE(cases.size() == 1u);
  return run_case(cases.front(), identity_only(), open);
}

const value one = tensor::of<float>({1}, {1});
const value two = tensor::of<float>({1}, {2});

} // namespace

BOOST_AUTO_TEST_SUITE(conformance)

BOOST_AUTO_TEST_CASE(a_case_passes_if_its_outputs_are_as_expected) {
  const test::temporary_folder folder;
  make_case(folder / "good", test::identity_model(), one, one);
  const auto r = result_of(folder / "good");
  BOOST_TEST((r.status == case_status::passed));
  BOOST_TEST(r.name == "good");
  BOOST_TEST(r.reason.empty());
}

BOOST_AUTO_TEST_CASE(every_data_set_counts) {
  const test::temporary_folder folder;
  make_case(folder / "c", test::identity_model(), one, one);
  fs::create_directories(folder / "c/test_data_set_10");
  write_onnx_value(folder / "c/test_data_set_10/input_0.pb", one);
  write_onnx_value(folder / "c/test_data_set_10/output_0.pb", two);
  const auto r = result_of(folder / "c");
  BOOST_TEST((r.status == case_status::failed));
  BOOST_TEST(r.reason == "test_data_set_10: output 'y': element [0] is 1, expected 2 (1 of 1 differ)");
}

BOOST_AUTO_TEST_CASE(whatever_goes_wrong_is_the_result) {
  const test::temporary_folder folder;
  make_case(folder / "thrown", test::identity_model(), one, one);
  const auto thrown = result_of(folder / "thrown", [](auto) -> graph_runner {
    return [](auto) -> std::vector<value> { throw error{errc::kernel_failed, "it burns"}; };
  });
  BOOST_TEST((thrown.status == case_status::failed));
  BOOST_TEST(thrown.reason == "it burns");

  make_case(folder / "broken", "no model", one, one);
  BOOST_TEST((result_of(folder / "broken").status == case_status::failed));

  make_case(folder / "short", test::identity_model(), one, one);
  fs::remove(folder / "short/test_data_set_0/input_0.pb");
  BOOST_TEST(result_of(folder / "short").reason == "test_data_set_0: it has files for 0 of 1 inputs");

  make_case(folder / "silent", test::identity_model(), one, one);
  fs::remove(folder / "silent/test_data_set_0/output_0.pb");
  BOOST_TEST(result_of(folder / "silent").reason == "test_data_set_0: it has no expected outputs");

  make_case(folder / "empty", test::identity_model(), one, one);
  fs::remove_all(folder / "empty/test_data_set_0");
  BOOST_TEST((result_of(folder / "empty").status == case_status::failed));
}

BOOST_AUTO_TEST_CASE(unsupported_operators_are_counted) {
  const test::temporary_folder folder;
  make_case(folder / "odd", test::nonsense_model(), one, one);
  const auto r = result_of(folder / "odd");
  BOOST_TEST((r.status == case_status::unsupported));
  BOOST_TEST(r.reason.find("Nonsense") != std::string::npos);
  BOOST_TEST(missing_operators(std::vector{r, r}).at("Nonsense") == 2u);
}

BOOST_AUTO_TEST_CASE(a_suite_keeps_the_order_of_its_cases) {
  const test::temporary_folder folder;
  for (const auto* name : {"a", "b", "c", "nested/d"})
    make_case(folder / name, test::identity_model(), one, *name == 'b' ? two : one);
  const auto cases = find_cases(folder / ".");
  std::atomic<std::size_t> ended = 0;
  const auto results =
      run_suite(cases, identity_only(), pass_on, {.jobs = 3, .done = [&](auto) { ++ended; }});
  BOOST_TEST(ended == 4u);
  BOOST_REQUIRE(results.size() == 4u);
  BOOST_TEST(results[1].name == "b");
  BOOST_TEST((results[1].status == case_status::failed));
  BOOST_TEST((results[3].status == case_status::passed));
}

BOOST_AUTO_TEST_CASE(folders_without_tests_are_refused) {
  const test::temporary_folder folder;
  for (const auto* name : {".", "absent"})
    BOOST_CHECK_EXCEPTION(static_cast<void>(find_cases(folder / name)), command_error,
                          [](const auto& e) { return e.code() == exit_code::bad_file; });
}

BOOST_AUTO_TEST_SUITE_END()
