#include <sluice/graph/onnx/scoping.hpp>

#include <sluice/graph/error.hpp>

#include <functional>
#include <queue>

namespace sluice::proto {

std::vector<onnx::AttributeProto*> bodies_of(onnx::NodeProto& n) {
  std::vector<onnx::AttributeProto*> result;
  for (auto& a : *n.mutable_attribute())
    if (a.has_g())
      result.push_back(&a);
  return result;
}

std::string title(const onnx::NodeProto& n) {
  const auto& name = !n.name().empty() ? n.name() : n.output_size() > 0 ? n.output(0) : n.name();
  const auto domain = domain_of(n.domain());
  return (domain.empty() ? n.op_type() : domain + "::" + n.op_type()) + " '" + name + '\'';
}

const std::unordered_set<std::string>& scoping::defined(const onnx::GraphProto& g) {
  const auto [entry, fresh] = defined_.try_emplace(&g);
  auto& names = entry->second;
  if (!fresh)
    return names;
  const auto twice = [&g](const std::string& name) {
    throw error{errc::invalid_model, "graph '" + g.name() + "' defines '" + name + "' twice"};
  };
  for (const auto& input : g.input())
    if (!names.insert(input.name()).second)
      twice(input.name());
  // An initializer may stand for an input's default, but not for another initializer.
  std::unordered_set<std::string> initializers;
  const auto add_initializer = [&](const std::string& name) {
    if (!initializers.insert(name).second)
      twice(name);
    names.insert(name);
  };
  for (const auto& t : g.initializer())
    add_initializer(t.name());
  for (const auto& t : g.sparse_initializer())
    add_initializer(t.values().name());
  for (const auto& n : g.node())
    for (const auto& output : n.output())
      if (!output.empty() && !names.insert(output).second)
        twice(output);
  return names;
}

const std::vector<std::string>& scoping::free_names(const onnx::GraphProto& g) {
  if (const auto known = free_.find(&g); known != free_.end())
    return known->second;
  const auto& own = defined(g);
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  const auto use = [&](const std::string& name) {
    if (!name.empty() && !own.contains(name) && seen.insert(name).second)
      names.push_back(name);
  };
  for (const auto& n : g.node()) {
    for (const auto& input : n.input())
      use(input);
    for (const auto& a : n.attribute())
      if (a.has_g())
        for (const auto& name : free_names(a.g()))
          use(name);
  }
  for (const auto& output : g.output())
    use(output.name());
  return free_[&g] = std::move(names);
}

std::vector<onnx::NodeProto*> scoping::ordered(node_list& nodes) {
  const auto count = static_cast<std::size_t>(nodes.size());
  std::unordered_map<std::string, std::size_t> producers;
  for (std::size_t i = 0; i < count; ++i)
    for (const auto& output : nodes[static_cast<int>(i)].output())
      if (!output.empty() && !producers.try_emplace(output, i).second)
        throw error{errc::invalid_model,
                    "node " + title(nodes[static_cast<int>(i)]) + " makes '" + output + "', which node " +
                        title(nodes[static_cast<int>(producers[output])]) + " makes too"};

  std::vector<std::vector<std::size_t>> consumers(count);
  std::vector<std::size_t> missing(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto& n = nodes[static_cast<int>(i)];
    const auto wait_for = [&](const std::string& name) {
      const auto producer = producers.find(name);
      if (name.empty() || producer == producers.end())
        return;
      consumers[producer->second].push_back(i);
      ++missing[i];
    };
    for (const auto& input : n.input())
      wait_for(input);
    for (auto* body : bodies_of(n))
      for (const auto& name : free_names(body->g()))
        wait_for(name);
  }

  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready; // first listed, first out
  for (std::size_t i = 0; i < count; ++i)
    if (missing[i] == 0)
      ready.push(i);
  std::vector<onnx::NodeProto*> result;
  while (!ready.empty()) {
    const auto i = ready.top();
    ready.pop();
    result.push_back(&nodes[static_cast<int>(i)]);
    for (const auto consumer : consumers[i])
      if (--missing[consumer] == 0)
        ready.push(consumer);
  }
  if (result.size() < count)
    for (std::size_t i = 0; i < count; ++i)
      if (missing[i] > 0)
        throw error{errc::invalid_model,
                    "node " + title(nodes[static_cast<int>(i)]) + " is on a cycle, or waits for one"};
  return result;
}

} // namespace sluice::proto
