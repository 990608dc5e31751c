#include <tools/command/commands.hpp>

#include <tools/feeds/feeds.hpp>
#include <tools/feeds/numbers.hpp>
#include <tools/model/lenient_model.hpp>
#include <tools/model/picture.hpp>
#include <tools/model/summary.hpp>
#include <tools/results/table.hpp>

#include <sluice/stream/file_bytes.hpp>

#include <algorithm>
#include <iostream>

namespace sluice::tools {

namespace {

std::string joined(const std::vector<std::pair<std::string, value_type>>& values) {
  std::string text;
  for (const auto& [name, type] : values)
    text += (text.empty() ? "" : ", ") + name + ' ' + to_string(type);
  return text;
}

void print_head(const inspect_arguments& a, const onnx_model& m) {
  std::cout << a.model << ": graph '" << m.graph->name() << "', ONNX IR " << m.info.ir_version;
  for (const auto& [domain, opset] : m.info.opsets)
    std::cout << ", " << (domain.empty() ? "" : domain + ' ') << "opset " << opset;
  if (!m.info.producer.empty())
    std::cout << ", by " << m.info.producer << (m.info.producer_version.empty() ? "" : " ")
              << m.info.producer_version;
  std::cout << '\n';
  if (!m.info.description.empty())
    std::cout << m.info.description << '\n';
  for (const auto& note : m.info.notes)
    std::cout << "note: " << note << '\n';
}

void print_values(const graph& g) {
  table_writer t{{"", "name", "type"}};
  for (const auto e : g.inputs())
    t.row({"input", g.at_edge(e).name, to_string(g.at_edge(e).type)});
  for (std::size_t i = 0; i < g.outputs().size(); ++i)
    t.row({"output", g.output_names()[i], to_string(g.at_edge(g.outputs()[i]).type)});
  t.print(std::cout);
}

void print_operators(const model_summary& s) {
  std::vector<std::pair<std::string, operator_total>> operators{s.operators.begin(), s.operators.end()};
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.second.flops > b.second.flops; });
  table_writer t{{"operator", ">nodes", ">flops", ">bytes"}};
  std::size_t nodes = 0;
  for (const auto& [name, total] : operators) {
    const auto known = total.without_cost < total.count;
    t.row({name, std::to_string(total.count), known ? readable_count(total.flops) : "?",
           known ? readable_bytes(total.bytes) : "?"});
    nodes += total.count;
  }
  const auto any_known = nodes == 0 || std::any_of(operators.begin(), operators.end(), [](const auto& o) {
                           return o.second.without_cost < o.second.count;
                         });
  t.row({"all", std::to_string(nodes), any_known ? readable_count(s.cost.flops) : "?",
         any_known ? readable_bytes(s.cost.bytes) : "?"});
  t.print(std::cout);
  if (s.without_cost > 0)
    std::cout << "Not in these sums: " << s.without_cost
              << (s.without_cost == 1 ? " node whose cost is" : " nodes whose costs are")
              << " not known before the model runs. Bodies of control flow count once.\n";
}

void print_missing(const std::vector<unsupported_operator>& missing) {
  if (missing.empty())
    return;
  std::cout << "\nThis model cannot be run: Sluice lacks these operators.\n";
  table_writer t{{"operator", ">opset", ">nodes", "first node", "why"}};
  for (const auto& m : missing)
    t.row({m.domain.empty() ? m.name : m.domain + "::" + m.name, std::to_string(m.opset),
           std::to_string(m.count), m.first_node, m.reason});
  t.print(std::cout);
}

void print_nodes(const model_summary& s) {
  table_writer t{{"node", "operator", ">flops", ">bytes", "values"}};
  for (const auto& n : s.nodes)
    t.row({n.name, n.op, n.cost ? readable_count(n.cost->flops) : "?",
           n.cost ? readable_bytes(n.cost->bytes) : "?", joined(n.outputs)});
  t.print(std::cout);
}

} // namespace

exit_code inspect(const inspect_arguments& a) {
  const auto [m, missing] = read_leniently(a.model, known_operators());
  check_symbols(*m.graph, a.dims);
  if (!a.dot.empty())
    write_file(a.dot, to_dot(*m.graph));
  if (!a.svg.empty())
    save_svg(a.svg, *m.graph);
  const auto s = summarize(*m.graph, a.dims);
  print_head(a, m);
  std::cout << '\n';
  print_values(*m.graph);
  std::cout << "\nweights: " << s.weights << " tensors, " << readable_count(static_cast<double>(s.parameters))
            << " elements, " << readable_bytes(static_cast<double>(s.weight_bytes)) << "\n\n";
  print_operators(s);
  if (!s.note.empty())
    std::cout << "The shapes could not be followed with open extents as 1 (set others with --dim): " << s.note
              << '\n';
  print_missing(missing);
  if (a.nodes) {
    std::cout << '\n';
    print_nodes(s);
  }
  return exit_code::success;
}

} // namespace sluice::tools
