#include <tools/command/commands.hpp>

#include <tools/results/table.hpp>

#include <sluice/graph/op_schema.hpp>

#include <iostream>
#include <map>
#include <utility>

namespace sluice::tools {

namespace {

/// The versions ("1, 7, 13") by domain and name.
std::map<std::pair<std::string, std::string>, std::string> known() {
  std::map<std::pair<std::string, std::string>, std::string> all;
  const auto registry = known_operators();
  for (const auto* schema : registry->all()) {
    auto& versions = all[{schema->domain.empty() ? "ai.onnx" : schema->domain, schema->name}];
    versions += (versions.empty() ? "" : ", ") + std::to_string(schema->since_opset);
  }
  return all;
}

void print_markdown() {
  std::cout
      << "# Supported operators\n\n"
         "Made by `sluice operators --markdown`. An operator holds from each version named on until the "
         "next; models of\nopset 1 to 18 are read, and later ones as far as their operators mean the same. "
         "Operators that ONNX defines by\nothers are inlined, so models may use more than these.\n\n"
         "| domain | operator | since opset |\n|---|---|---|\n";
  for (const auto& [key, versions] : known())
    std::cout << "| " << key.first << " | " << key.second << " | " << versions << " |\n";
}

} // namespace

exit_code operators(const operators_arguments& a) {
  if (a.markdown) {
    print_markdown();
    return exit_code::success;
  }
  table_writer t{{"domain", "operator", "since opset"}};
  for (const auto& [key, versions] : known())
    t.row({key.first, key.second, versions});
  t.print(std::cout);
  return exit_code::success;
}

} // namespace sluice::tools
