#include <sluice/actors/node_supervisor.hpp>

#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>

namespace sluice {

namespace {

node_actor& node_of(const caf::actor& handle) {
  return *static_cast<node_actor*>(caf::actor_cast<caf::abstract_actor*>(handle));
}

} // namespace

void node_supervisor::start(std::weak_ptr<node_actor::host> h) {
  host_ = std::move(h);
  runtime_.for_each_cell([this](node_cell& cell) { static_cast<void>(spawn(cell)); });
}

caf::actor node_supervisor::spawn(node_cell& cell) {
  auto handle = runtime_.services().system.spawn<node_actor, caf::hidden>(cell, host_);
  cells_.insert_or_assign(handle.address(), &cell);
  actors_.insert_or_assign(&cell, handle);
  cell.actor.store(&node_of(handle), std::memory_order_release);
  return handle;
}

std::vector<caf::actor> node_supervisor::actors() const {
  std::vector<caf::actor> all;
  for (const auto& [cell, actor] : actors_)
    all.push_back(actor);
  return all;
}

std::optional<caf::actor> node_supervisor::find(std::string_view name) const {
  auto* const cell = runtime_.find(name);
  const auto at = actors_.find(cell);
  return at == actors_.end() ? std::nullopt : std::optional{at->second};
}

void node_supervisor::killed(node_cell& cell) {
  ++down_;
  // Released, so that a frame that is opened later, and by its number does not fail, meets the successor.
  auto& kills = runtime_.services().kills;
  cell.killed.store(kills.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::optional<caf::actor> node_supervisor::replace(const caf::actor_addr& dead) {
  const auto at = cells_.find(dead);
  if (at == cells_.end())
    return std::nullopt;
  auto& cell = *at->second;
  cells_.erase(at);
  dead_.push_back(actors_.at(&cell));
  --down_;
  return spawn(cell);
}

void node_supervisor::end() {
  for (const auto& [cell, actor] : actors_)
    node_of(actor).cleanup(caf::exit_reason::user_shutdown, nullptr);
}

} // namespace sluice
