// Requests that never fit in one piece, as the session sees them: handed to the batching actor, and their
// parts.

#include <sluice/actors/batching_actor.hpp>
#include <sluice/actors/next_frames.hpp>
#include <sluice/actors/session_core.hpp>

#include <algorithm>
#include <bit>

namespace sluice {

namespace {

/// Explanations that are kept.
constexpr std::size_t most_explained = 8;

value_type type_of_result(const plan& p, edge_index e) {
  const auto& edge = p.source->at_edge(e);
  if (edge.producer != no_node && p.step_of[edge.producer] != plan::no_step)
    return p.steps[p.step_of[edge.producer]].output_types[edge.port];
  for (const auto& f : p.fed)
    if (f.edge == e)
      return f.type;
  return {};
}

/// What there is to know of `p` once it is gone.
oversized_request oversized(const executable_plan& p, const plan_request& request) {
  oversized_request what{{}, request, p.result_names, {}, p.frame_bytes()};
  what.request.lanes = 1; // parts run beside each other, each in the order that takes least memory
  for (const auto e : request.fetch)
    what.result_types.push_back(type_of_result(*p.source, e));
  return what;
}

} // namespace

bool session_core::must_cut(const executable_plan& p) const {
  const auto packed = packed_need(*p.source);
  std::uint64_t most = memory_ledger::unlimited;
  if (ledger_->budget() != memory_ledger::unlimited)
    most = ledger_->budget() - std::min<std::uint64_t>(ledger_->budget(), weights_.bytes() + packed);
  if (const auto& device = *setup_.device; device.budget() != memory_ledger::unlimited) {
    const auto others = device.in_use(memory_use::weights) + packed;
    most = std::min<std::uint64_t>(most, device.budget() - std::min<std::uint64_t>(device.budget(), others));
  }
  return p.frame_bytes() > most;
}

void session_core::cut_waiting(const plan_book::ticket& t, std::shared_ptr<const executable_plan> p) {
  auto what = oversized(*p, t.request);
  p = nullptr; // its kernels may have packed weights
  for (const auto& r : plans_.file(t.key, nullptr)) {
    what.whole = r;
    cut_up(*r, what);
  }
}

bool session_core::runs_in_parts(run_state& r, const run_state::outcome& o) {
  const auto keep = std::exchange(r.kept_feeds, {});
  const auto* failure = std::get_if<std::exception_ptr>(&o);
  const auto whole = r.cut == run_state::cutting::none || r.cut == run_state::cutting::alone;
  if (!failure || !whole || !r.external.empty())
    return false;
  try {
    std::rethrow_exception(*failure);
  } catch (const error& e) {
    if (e.code() != errc::out_of_memory)
      return false;
  } catch (...) {
    return false;
  }
  auto what = oversized(*r.plan, plans_.order_of(*r.plan)->request);
  plans_.forget(*r.plan);
  {
    const std::lock_guard lock{mutex_};
    recent_.forget(*r.plan);
    if (r.stopped_by)
      return false;
    note_deadline(r);
  }
  r.plan = nullptr;
  r.feeds = keep;
  r.keeps_session = shared_from_this();
  what.whole = &r;
  cut_up(r, std::move(what));
  return true;
}

void session_core::cut_up(run_state& r, oversized_request what) {
  if (!r.external.empty())
    return finish_cut(r, std::make_exception_ptr(error{
                             errc::out_of_memory, "a frame needs " + std::to_string(what.frame_bytes) +
                                                      " bytes; " + ledger_->report() +
                                                      "; a frame that takes tokens is not cut into parts"}));
  {
    const std::lock_guard lock{mutex_};
    if (r.stopped_by)
      return; // whoever stopped it answers
    r.cut = run_state::cutting::in_parts;
    cut_.emplace_back(&r);
  }
  cut_request(batching_actor_, std::move(what));
}

cut_resources session_core::resources_for_cuts() {
  const auto lanes = std::clamp(setup_.threads->concurrency(), 1U, setup_.window);
  return {setup_.model,  setup_.operators, constants_, *services_.kernels, *ledger_, *setup_.device,
          setup_.blocks, scoped_places(),  lanes};
}

std::shared_ptr<const executable_plan>
session_core::make_part_plan(plan_request request, const std::vector<std::string>& result_names) {
  return make_plan({.key = {}, .request = std::move(request), .result_names = result_names});
}

intrusive_ptr<run_state> session_core::make_part(const run_state& whole,
                                                 std::shared_ptr<const executable_plan> p,
                                                 std::vector<value> inputs, std::vector<value> into) {
  intrusive_ptr<run_state> r{new run_state{setup_.threads}};
  r->keeps_session = shared_from_this();
  r->session = r->keeps_session;
  r->plan = std::move(p);
  r->feeds = std::move(inputs);
  r->into = std::move(into);
  r->priority = whole.priority;
  r->cut = run_state::cutting::part;
  return r;
}

void session_core::admit_part(run_state& r) {
  std::unique_lock lock{mutex_};
  frame* f = nullptr;
  try {
    if (life_ == life::closed)
      throw closed_error();
    f = entrance_.queue_empty() ? try_open(r) : nullptr;
    note_deadline(r);
    if (!f)
      return entrance_.enqueue(r); // also into a full queue: the request that it belongs to was accepted
  } catch (const error&) {
    deadlines_.forget(r);
    lock.unlock();
    return r.settle(std::current_exception(), true);
  }
  lock.unlock();
  opened(*f, r);
  next_frames::start_later(*f, *setup_.threads);
}

bool session_core::joins(run_state& first) {
  if (!entrance_.slot_free() || !first.plan->joinable.load(std::memory_order_relaxed))
    return false;
  auto alike = entrance_.next_alike(setup_.options.join_requests);
  if (alike.size() < 2)
    return false;
  alike.resize(std::bit_floor(alike.size())); // so that a few plans serve all
  for (const auto& r : alike) {
    static_cast<void>(entrance_.remove(*r));
    r->waits_for_memory = false;
    if (r->deadline_of_patience) {
      deadlines_.forget(*r);
      r->deadline.reset();
      r->deadline_of_patience = false;
    }
    r->cut = run_state::cutting::joined;
    cut_.push_back(r);
  }
  join_requests(batching_actor_, std::move(alike));
  return true;
}

void session_core::run_alone(const std::vector<intrusive_ptr<run_state>>& requests) {
  for (const auto& r : requests) {
    {
      const std::lock_guard lock{mutex_};
      if (r->stopped_by)
        continue;
      r->cut = run_state::cutting::alone;
    }
    admit_part(*r);
    const std::lock_guard lock{mutex_};
    std::erase(cut_, r);
    changed_.notify_all();
  }
}

void session_core::finish_cut(run_state& whole, run_state::outcome o) {
  const intrusive_ptr<run_state> keep{&whole};
  {
    const std::lock_guard lock{mutex_};
    deadlines_.forget(whole);
    std::erase(cut_, keep);
    changed_.notify_all();
  }
  whole.settle(std::move(o), true);
}

void session_core::note_cut(std::string explanation) {
  const std::lock_guard lock{mutex_};
  cuts_explained_.push_back(std::move(explanation));
  if (cuts_explained_.size() > most_explained)
    cuts_explained_.erase(cuts_explained_.begin());
}

std::uint64_t session_core::memory_needed(feeds inputs) {
  const auto resolved = plans_.resolve(inputs, {}, {});
  const auto planned = resolved.plan ? resolved.plan->source
                                     : sluice::make_plan(setup_.model, constants_, resolved.order->request,
                                                         *services_.kernels);
  return weights_.bytes() + packed_need(*planned) + frame_need(*planned);
}

std::string session_core::explain_cuts() {
  const std::lock_guard lock{mutex_};
  std::string text;
  for (const auto& e : cuts_explained_)
    text += e;
  return text;
}

} // namespace sluice
