// What a session does about devices: where its nodes go, and what becomes of runs when one is lost.
#include <sluice/actors/session_core.hpp>

#include <sluice/actors/cost_places.hpp>
#include <sluice/actors/session_actor.hpp>
#include <sluice/scheduler/placement_file.hpp>

#include <algorithm>

namespace sluice {

std::shared_ptr<const node_places> session_core::places(const plan_request* request) {
  const auto& rules = setup_.options.placement_rules;
  const auto& g = *setup_.model;
  const auto scoped = [](const graph::node& n) { return !n.device.empty(); };
  if (devices_.count() == 1 && !rules && std::none_of(g.nodes().begin(), g.nodes().end(), scoped))
    return nullptr;
  std::vector<plan_device> all;
  {
    const std::lock_guard lock{mutex_};
    all = devices_.for_plans();
  }
  const auto strict =
      rules && rules->strict() ? *rules->strict() : setup_.options.placement == placement::strict;
  auto made = std::make_shared<node_places>(place_by_scope(g, all, rules.get(), strict));
  if (request && setup_.options.place_by_cost && all.size() > 1) {
    const auto on_host = sluice::make_plan(setup_.model, constants_, *request, *services_.kernels);
    place_by_cost(*made, *on_host, described_devices(all), rules.get());
  }
  made->bring = [this](const value& constant, std::uint32_t d) { return devices_.bring(constant, d); };
  return made;
}

std::vector<described_device> session_core::described_devices(std::span<const plan_device> known) const {
  std::vector<described_device> all;
  for (std::uint32_t d = 0; d < known.size(); ++d) {
    const auto& device = devices_.at(d);
    if (d == 0) {
      const auto lanes = std::max(1U, setup_.threads->concurrency() / std::max(1U, setup_.intra_op));
      all.push_back(describe_host(lanes, std::min(ledger_->budget(), device.ledger->budget())));
      continue;
    }
    all.push_back(
        device.accelerator
            ? describe(*device.accelerator, setup_.operators)
            : described_device{.name = device.name, .lanes = std::max(1U, device.threads->concurrency())});
    all.back().budget = std::min({devices_.ledger(d)->budget(), device.ledger->budget(), all.back().budget});
    all.back().keeps_values = true; // a frame leases the sum
    if (!known[d].lost.empty())
      all.back().has_kernel = [](const graph::node&) { return false; };
  }
  return all;
}

void session_core::device_lost(std::uint32_t d) {
  const auto& lost = devices_.at(d).accelerator;
  std::string why = devices_.at(d).name + " is gone";
  try {
    if (const auto failure = lost ? lost->loss()->failure() : nullptr)
      std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    why = e.what();
  }
  const std::lock_guard lock{mutex_};
  if (life_ == life::closed || !devices_.lose(d, std::move(why)))
    return;
  recent_ = {};
  plans_.forget_users_of(d);
  for (const auto& r : entrance_.take_users_of(d))
    plan_again(*r);
  for (const auto& r : std::exchange(awaiting_loss_, {}))
    if (!r->stopped_by)
      run_again(*r);
  changed_.notify_all();
}

bool session_core::may_run_again(const run_state& r) const {
  const auto& p = *r.plan;
  const auto has_state = [](const executable_step& s) {
    return s.what == executable_step::kind::stateful_function;
  };
  return p.source->devices.size() > 1 && r.external.empty() && !r.when_opened &&
         std::none_of(p.steps.begin(), p.steps.end(), has_state);
}

bool session_core::runs_again(const run_state& r, const run_state::outcome& o) const {
  const auto* const failure = std::get_if<std::exception_ptr>(&o);
  if (!failure || !r.may_run_again || r.stopped_by || life_ == life::closed)
    return false;
  try {
    std::rethrow_exception(*failure);
  } catch (const error& e) {
    return e.code() == errc::device_lost;
  } catch (...) {
    return false;
  }
}

void session_core::run_again(run_state& r) {
  if (!r.keeps_session)
    r.keeps_session = shared_from_this();
  if (devices_.lost(*r.plan->source)) {
    r.feeds = std::move(r.kept_feeds);
    plan_again(r);
  } else { // the device's actor has yet to say so
    note_deadline(r);
    awaiting_loss_.emplace_back(&r);
  }
}

void session_core::plan_again(run_state& r) {
  auto order = plans_.order_of(*r.plan);
  r.plan = nullptr;
  note_deadline(r);
  if (plans_.wait_for(order->key, r))
    ask_for_plan(placement_actor_, std::move(order));
}

} // namespace sluice
