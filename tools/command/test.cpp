#include <tools/command/commands.hpp>

#include <tools/conformance/suite.hpp>
#include <tools/console.hpp>
#include <tools/results/destination.hpp>
#include <tools/results/json_report.hpp>

#include <algorithm>
#include <iostream>

namespace sluice::tools {

namespace {

std::size_t count(std::span<const case_result> results, case_status s) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [s](const auto& r) { return r.status == s; }));
}

void print(std::span<const case_result> results, bool verbose) {
  for (const auto& r : results)
    if (verbose || r.status == case_status::failed)
      std::cout << to_string(r.status) << "  " << r.name << (r.reason.empty() ? "" : ": ") << r.reason
                << '\n';
  std::cout << results.size() << (results.size() == 1 ? " case: " : " cases: ")
            << count(results, case_status::passed) << " passed, " << count(results, case_status::failed)
            << " failed, " << count(results, case_status::unsupported) << " unsupported\n";
  const auto missing = missing_operators(results);
  if (missing.empty())
    return;
  std::vector<std::pair<std::string, std::size_t>> by_count{missing.begin(), missing.end()};
  std::stable_sort(by_count.begin(), by_count.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::cout << "Unsupported operators, with the cases that need them:";
  for (const auto& [name, n] : by_count)
    std::cout << ' ' << name << " (" << n << ")" << (name == by_count.back().first ? "" : ",");
  std::cout << '\n';
}

} // namespace

exit_code test(const test_arguments& a) {
  if (!a.json.empty() && a.json != "-")
    check_destination(a.json);
  std::vector<onnx_case> cases;
  for (const auto& folder : a.folders)
    for (auto& c : find_cases(folder))
      cases.push_back(std::move(c));
  std::vector<case_result> results;
  {
    const graph_executor executor{a.execution};
    progress line{"cases", cases.size()};
    results = run_suite(cases, known_operators(), [&](auto g) { return executor.open(std::move(g)); },
                        {.jobs = a.jobs, .allowed = a.allowed, .done = [&](std::size_t n) { line.set(n); }});
  }
  if (a.json != "-")
    print(results, a.verbose);
  if (!a.json.empty())
    write_json(a.json, results);
  return count(results, case_status::failed) == 0 ? exit_code::success : exit_code::failed;
}

} // namespace sluice::tools
