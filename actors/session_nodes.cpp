// What the actors of nodes want of their session: tokens from outside, kills, successors.

#include <sluice/actors/session_core.hpp>

#include <sluice/actors/firing_loop.hpp>
#include <sluice/actors/next_frames.hpp>
#include <sluice/actors/session_actor.hpp>

namespace sluice {

namespace {

/// A value of a frame that comes from outside, delivered on a worker.
struct external_delivery final : job {
  external_delivery(frame& f, std::size_t p, value v) : to(f), position(p), content(std::move(v)) {}
  void run(worker& here) noexcept override {
    const next_frames::turn turn{here};
    {
      firing_loop loop{here, to};
      for (const auto& direct : to.plan->source->direct)
        if (direct.fed == to.plan->source->fed[position].edge)
          to.results[direct.result] = content;
      auto given = content;
      send(to, to.plan->feed_routes[position], {&given, 1}, loop);
      loop.drain();
    }
    to.release(here);
    delete this;
  }
  frame& to;
  const std::size_t position;
  const value content;
};

} // namespace

void session_core::deliver_external(frame& f, std::size_t fed, value v) {
  setup_.threads->submit(*new external_delivery{f, fed, std::move(v)});
}

std::string session_core::take_token(node_cell& cell, std::uint64_t number, std::uint32_t port, value v) {
  const std::lock_guard lock{mutex_};
  const auto at = external_frames_.find(number);
  if (at == external_frames_.end())
    return "frame " + std::to_string(number) +
           " takes no tokens: it is not open, or was not opened with external inputs";
  if (cell.index >= runtime_.cells().size() || &runtime_.cells()[cell.index] != &cell ||
      port >= cell.node->inputs.size())
    return "node '" + cell.node->name + "' has no such input of an open frame";
  auto& r = *running_[at->second];
  const auto e = cell.node->inputs[port];
  const auto position = std::find_if(r.external.begin(), r.external.end(),
                                     [&](auto p) { return r.plan->source->fed[p].edge == e; });
  if (position == r.external.end())
    return "input " + std::to_string(port) + " of node '" + cell.node->name + "' is not external to frame " +
           std::to_string(number) + ", or has come already";
  const auto& type = setup_.model->at_edge(e).type;
  if (v.empty() || !type.admits(v))
    return "the value takes " + to_string(type) + ", not " + describe(v);
  const auto fed = *position;
  r.external.erase(position);
  deliver_external(runtime_.slot(at->second), fed, std::move(v));
  return {};
}

void session_core::node_killed(node_cell& cell) noexcept {
  const std::lock_guard lock{mutex_};
  nodes_.killed(cell);
  for (std::uint32_t slot = 0; slot < running_.size(); ++slot)
    if (running_[slot])
      runtime_.slot(slot).bereave();
}

void session_core::restart_node(const caf::actor_addr& dead) {
  {
    const std::lock_guard lock{mutex_};
    if (life_ == life::closed)
      return;
    const auto successor = nodes_.replace(dead);
    if (!successor)
      return;
    monitor_node(session_actor_, *successor);
  }
  admit_waiting();
}

std::optional<caf::actor> session_core::node(std::string_view name) {
  const std::lock_guard lock{mutex_};
  return nodes_.find(name);
}

} // namespace sluice
