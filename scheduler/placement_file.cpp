#include <sluice/scheduler/placement_file.hpp>

#include <sluice/devices/device_name.hpp>
#include <sluice/devices/strict_json.hpp>
#include <sluice/graph/error.hpp>
#include <sluice/graph/mapped_file.hpp>

#include <utility>

namespace sluice {

namespace {

using json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw error{errc::invalid_argument, where + ": " + why};
}

std::string title_of(const std::string& file, std::size_t rule) {
  return file + ": rule " + std::to_string(rule);
}

/// `*` stands for any characters, `?` for one.
bool matches(std::string_view pattern, std::string_view text) {
  auto p = std::size_t{0};
  auto t = std::size_t{0};
  auto star = std::string_view::npos;
  auto after_star = std::size_t{0};
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

placement_file::rule read_rule(const json& given, const std::string& title) {
  placement_file::rule made;
  const std::pair<const char*, std::string*> fields[] = {
      {"node", &made.node}, {"op", &made.op},         {"from", &made.from},
      {"to", &made.to},     {"device", &made.device}, {"colocate", &made.colocate}};
  if (!given.is_object())
    refuse(title, "is no object");
  for (const auto& [key, content] : given.items()) {
    auto* field = static_cast<std::string*>(nullptr);
    for (const auto& [name, place] : fields)
      if (key == name)
        field = place;
    if (!field)
      refuse(title, "has '" + key + "'; known are node, op, from, to, device, colocate");
    if (!content.is_string() || content.get_ref<const std::string&>().empty())
      refuse(title, "'" + key + "' must be a text that is not empty");
    *field = content.get<std::string>();
  }
  if (made.from.empty() != made.to.empty())
    refuse(title, "has 'from' or 'to' alone; a subgraph needs both");
  if (made.node.empty() && made.op.empty() && made.from.empty())
    refuse(title, "does not say which nodes it means; give node, op, or from and to");
  if (made.device.empty() && made.colocate.empty())
    refuse(title, "decides nothing; give device or colocate");
  if (!made.device.empty())
    try {
      static_cast<void>(device_name::parse(made.device));
    } catch (const error& e) {
      refuse(title, e.what());
    }
  return made;
}

/// By node: whether a way leads from `first` to it, itself included; against the arrows if `back`.
std::vector<bool> reached(const graph& g, node_index first, bool back) {
  std::vector<bool> there(g.nodes().size());
  there[first] = true;
  const auto count = static_cast<node_index>(there.size());
  for (node_index i = 0; i < count; ++i) {
    const auto n = back ? count - 1 - i : i; // nodes are in topological order
    for (const auto e : g.at(n).inputs) {
      if (e == no_edge || g.at_edge(e).producer == no_node)
        continue;
      const auto p = g.at_edge(e).producer;
      if (back && there[n])
        there[p] = true;
      if (!back && there[p])
        there[n] = true;
    }
  }
  return there;
}

std::vector<bool> between(const graph& g, const placement_file::rule& r, const std::string& title) {
  const auto find = [&](const std::string& name) {
    const auto n = g.find_node(name);
    if (n == no_node)
      refuse(title, "the graph has no node '" + name + "'");
    return n;
  };
  const auto from = find(r.from);
  const auto to = find(r.to);
  auto there = reached(g, from, false);
  if (!there[to])
    refuse(title, "no way leads from '" + r.from + "' to '" + r.to + "'");
  const auto back = reached(g, to, true);
  for (std::size_t n = 0; n < there.size(); ++n)
    there[n] = there[n] && back[n];
  return there;
}

} // namespace

placement_file placement_file::parse(std::string_view text, const std::string& name) {
  const auto given = parse_strict_json(text, name);
  placement_file made;
  made.name_ = name;
  if (!given.is_object())
    refuse(name, "is no JSON object");
  for (const auto& [key, content] : given.items())
    if (key == "mode") {
      if (content != "soft" && content != "strict")
        refuse(name, "'mode' must be \"soft\" or \"strict\"");
      made.strict_ = content == "strict";
    } else if (key == "rules") {
      if (!content.is_array())
        refuse(name, "'rules' must be an array");
      for (const auto& rule : content)
        made.rules_.push_back(read_rule(rule, title_of(name, made.rules_.size() + 1)));
    } else {
      refuse(name, "has '" + key + "'; known are mode, rules");
    }
  return made;
}

placement_file placement_file::read(const std::filesystem::path& path) {
  const auto content = mapped_file::open(path);
  return parse({reinterpret_cast<const char*>(content->bytes().data()), content->bytes().size()},
               path.string());
}

placement_file::outcome placement_file::apply(const graph& g) const {
  outcome said;
  said.colocations.resize(g.nodes().size());
  said.devices.resize(g.nodes().size());
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const auto& r = rules_[i];
    const auto part = r.from.empty() ? std::vector<bool>{} : between(g, r, title_of(name_, i + 1));
    auto met = false;
    for (node_index n = 0; n < g.nodes().size(); ++n) {
      const auto& node = g.at(n);
      const auto op = node.domain.empty() ? node.op : node.domain + "::" + node.op;
      if ((!r.node.empty() && !matches(r.node, node.name)) || (!r.op.empty() && !matches(r.op, op)) ||
          (!part.empty() && !part[n]))
        continue;
      met = true;
      if (said.devices[n].empty())
        said.devices[n] = r.device;
      if (said.colocations[n].empty())
        said.colocations[n] = r.colocate;
    }
    if (!met)
      said.idle_rules.push_back(i + 1);
  }
  for (node_index n = 0; n < g.nodes().size(); ++n)
    if (said.devices[n].empty())
      said.devices[n] = g.at(n).device;
  return said;
}

} // namespace sluice
