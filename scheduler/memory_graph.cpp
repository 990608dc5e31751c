#include <sluice/scheduler/memory_graph.hpp>

#include <sluice/graph/error.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace sluice {

namespace {

using index = memory_graph::index;

[[noreturn]] void refuse(std::size_t step, const std::string& what) {
  throw error{errc::invalid_argument, "step " + std::to_string(step) + " of a memory graph " + what};
}

void sort_unique(std::vector<index>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

std::vector<std::uint64_t> units_of(const memory_graph& g) {
  std::vector<std::uint64_t> units;
  std::uint64_t sum = 0;
  for (const auto& b : g.buffers) {
    const auto n = b.leaves ? 0 : b.bytes / memory_unit + (b.bytes % memory_unit != 0 ? 1 : 0);
    sum += n;
    if (sum > std::numeric_limits<std::uint64_t>::max() / memory_unit)
      throw error{errc::out_of_memory, "the buffers of a plan together have more than 2^64 bytes"};
    units.push_back(n);
  }
  return units;
}

void find_makers(const memory_graph& g, memory_links& made) {
  made.maker.assign(g.buffers.size(), memory_graph::none);
  for (index s = 0; s < g.steps.size(); ++s)
    for (const auto b : g.steps[s].makes) {
      if (b >= g.buffers.size())
        refuse(s, "makes a buffer that is not there");
      if (made.maker[b] != memory_graph::none)
        refuse(s, "makes a buffer that another makes");
      made.maker[b] = s;
    }
  if (const auto b = std::find(made.maker.begin(), made.maker.end(), memory_graph::none);
      b != made.maker.end())
    throw error{errc::invalid_argument,
                "no step makes buffer " + std::to_string(b - made.maker.begin()) + " of a memory graph"};
}

void check_in_place(const memory_graph& g, index s) {
  const auto& step = g.steps[s];
  const auto in = [](const std::vector<index>& list, index b) {
    return std::find(list.begin(), list.end(), b) != list.end();
  };
  for (const auto& pair : step.in_place)
    if (!in(step.makes, pair.made) || !in(step.reads, pair.read))
      refuse(s, "works in place on buffers that it does not make and read");
}

} // namespace

memory_links link(const memory_graph& g) {
  if (g.steps.size() >= memory_graph::none || g.buffers.size() >= memory_graph::none)
    throw error{errc::invalid_argument, "a memory graph has too many steps or buffers"};
  memory_links made;
  made.units = units_of(g);
  find_makers(g, made);
  made.readers.resize(g.buffers.size());
  made.before.resize(g.steps.size());
  made.after.resize(g.steps.size());
  for (index s = 0; s < g.steps.size(); ++s) {
    auto& before = made.before[s];
    before = g.steps[s].after;
    for (const auto b : g.steps[s].reads) {
      if (b >= g.buffers.size())
        refuse(s, "reads a buffer that is not there");
      before.push_back(made.maker[b]);
      if (made.readers[b].empty() || made.readers[b].back() != s)
        made.readers[b].push_back(s);
    }
    sort_unique(before);
    if (!before.empty() && before.back() >= s)
      refuse(s, "comes before a step that it waits for");
    for (const auto b : before)
      made.after[b].push_back(s);
    check_in_place(g, s);
  }
  return made;
}

} // namespace sluice
