#include <tools/conformance/onnx_case.hpp>
#include <tools/execution.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

// Every model of ONNX's own tests is a case of its own: onnx/GROUP/NAME.

using namespace sluice::tools;

namespace {

constexpr const char* data_folder = "/usr/share/libonnx-testdata/data";
constexpr int skipped = 77; // as ctest is told

/// Operators that may be missing, and "case NAME" for single models that may not pass: one a line.
std::set<std::string> known_gaps() {
  std::set<std::string> gaps;
  std::ifstream in{CONFORMANCE_GAPS};
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && !line.starts_with('#'))
      gaps.insert(line);
  return gaps;
}

struct tally {
  std::size_t ran = 0, passed = 0;
  std::set<std::string> gaps; // that were met
};
tally total;

void check(const onnx_case& c) {
  static const graph_executor executor{{}};
  static const auto gaps = known_gaps();
  const auto r = run_case(c, known_operators(), [](auto g) { return executor.open(std::move(g)); });
  ++total.ran;
  if (r.status == case_status::passed) {
    ++total.passed;
    return;
  }
  auto met = r.missing_operators;
  if (met.empty())
    met.push_back("case " + c.name);
  for (const auto& gap : met) {
    BOOST_TEST(gaps.contains(gap), to_string(r.status) << ": " << r.reason);
    total.gaps.insert(gap);
  }
}

/// After all others: what is listed as a gap is one.
void check_gaps(std::size_t cases) {
  if (total.ran < cases)
    return; // only some cases were asked for
  std::cout << "ONNX's tests: " << total.passed << " of " << total.ran << " pass; the others need, or are:\n";
  for (const auto& gap : total.gaps)
    std::cout << gap << '\n';
  for (const auto& gap : known_gaps())
    BOOST_TEST(total.gaps.contains(gap), gap << " is listed as a gap, but is none");
}

bool register_cases() {
  using namespace boost::unit_test;
  if (!std::filesystem::exists(data_folder)) {
    std::cerr << "ONNX's tests are skipped: the package libonnx-testdata is not installed\n";
    std::exit(skipped);
  }
  auto* all = BOOST_TEST_SUITE("onnx");
  std::map<std::string, test_suite*> groups;
  const auto cases = find_cases(data_folder);
  for (const auto& c : cases) {
    const auto group = c.model.parent_path().parent_path().filename().string();
    auto& suite = groups[group];
    if (!suite) {
      suite = BOOST_TEST_SUITE(group);
      all->add(suite);
    }
    suite->add(make_test_case([c] { check(c); }, c.name, __FILE__, __LINE__));
  }
  framework::master_test_suite().add(all);
  auto* last = BOOST_TEST_SUITE("gaps");
  last->add(make_test_case([n = cases.size()] { check_gaps(n); }, "what_is_listed_as_a_gap_is_one", __FILE__,
                           __LINE__));
  framework::master_test_suite().add(last);
  return true;
}

[[maybe_unused]] const bool registered = register_cases();

} // namespace
