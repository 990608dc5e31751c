#include <sluice/scheduler/memory_plan.hpp>

#include <sluice/scheduler/arena_packing.hpp>

namespace sluice {

memory_plan plan_memory(const memory_graph& g, const step_schedule& allowed) {
  const auto links = link(g);
  const step_precedence precedence{links, allowed};
  const lifetimes life{g, links, precedence};
  const auto least = least_units(life, precedence);
  const auto packing = pack(life, least);
  memory_plan made;
  made.bytes = packing.units * memory_unit;
  made.least_bytes = least * memory_unit;
  for (memory_graph::index b = 0; b < g.buffers.size(); ++b) {
    const auto block = life.block_of(b);
    made.offsets.push_back(block == memory_graph::none ? memory_plan::not_placed
                                                       : packing.offsets[block] * memory_unit);
    made.takes_over.push_back(life.takes_over(b));
  }
  return made;
}

std::uint64_t least_memory(const memory_graph& g, const step_schedule& allowed) {
  const auto links = link(g);
  const step_precedence precedence{links, allowed};
  return least_units({g, links, precedence}, precedence) * memory_unit;
}

} // namespace sluice
