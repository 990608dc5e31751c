#include <tools/conformance/suite.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

namespace sluice::tools {

std::vector<case_result> run_suite(std::span<const onnx_case> cases,
                                   const std::shared_ptr<const op_registry>& operators,
                                   const graph_opener& open, const suite_options& options) {
  std::vector<case_result> results(cases.size());
  std::atomic<std::size_t> next = 0, ended = 0;
  const auto work = [&] {
    for (auto i = next.fetch_add(1); i < cases.size(); i = next.fetch_add(1)) {
      results[i] = run_case(cases[i], operators, open, options.allowed);
      const auto n = ended.fetch_add(1) + 1;
      if (options.done)
        options.done(n);
    }
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < std::min<std::size_t>(options.jobs, cases.size()); ++i)
    others.emplace_back(work);
  work();
  others.clear();
  return results;
}

std::map<std::string, std::size_t> missing_operators(std::span<const case_result> results) {
  std::map<std::string, std::size_t> counts;
  for (const auto& r : results)
    for (const auto& o : r.missing_operators)
      ++counts[o];
  return counts;
}

} // namespace sluice::tools
