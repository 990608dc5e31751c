#include <sluice/actors/cut_run.hpp>

#include <sluice/actors/batch_items.hpp>
#include <sluice/graph/tensor_block.hpp>

#include <algorithm>
#include <cstdio>

namespace sluice {

namespace {

/// Plans of these sizes tell what any other size needs. Not one: kernels may treat that in their own way.
constexpr std::int64_t small_sample = 4;
constexpr std::int64_t large_sample = 32;

/// The first part, which shows what the others need, has at most this share of the items.
constexpr std::int64_t first_part_share = 8;

std::string rounded(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

/// Bytes that may be in use by frames at most, when all that is not a frame's is.
std::uint64_t free_for_frames(const memory_ledger& ledger) {
  std::uint64_t taken = 0;
  for (const auto use : {memory_use::weights, memory_use::packed, memory_use::held})
    taken += ledger.in_use(use);
  return ledger.budget() > taken ? ledger.budget() - taken : 0;
}

double item_time(const plan& p, std::int64_t items) {
  double ns = 0;
  for (const auto& s : p.steps)
    ns += s.estimated_ns.value_or(0);
  return ns / static_cast<double>(items);
}

} // namespace

void cut_run::cannot(const std::string& why, const memory_ledger& ledger) const {
  throw error{errc::out_of_memory, "a frame needs " + std::to_string(what_.frame_bytes) + " bytes; " +
                                       ledger.report() + "; it cannot be cut into parts: " + why};
}

bool cut_run::prepare(const cut_resources& r, const std::map<std::string, cut_experience>& before) {
  if (kind_.empty()) {
    auto verdict = find_batch_axes(*r.model, *r.operators, r.constants, what_.request);
    if (!verdict.axes)
      cannot(verdict.reason, r.ledger);
    axes_ = std::move(*verdict.axes);
    if (axes_.items < 2)
      cannot("it is one item", r.ledger);
    for (std::size_t i = 0; i < what_.result_types.size(); ++i) {
      const auto& t = what_.result_types[i];
      if (!t.concrete())
        cannot("the shape of result '" + (*what_.result_names)[i] + "' is not known before it runs",
               r.ledger);
      result_bytes_ += tensor_block_bytes(t.bytes().value_or(0));
    }
    for (const auto& f : request_for(0).fed)
      kind_ += std::to_string(f.edge) + to_string(f.type);
    for (const auto e : what_.request.fetch)
      kind_ += '|' + std::to_string(e);
  }
  if (!take_result_memory(r))
    return false;
  if (const auto known = before.find(kind_); known != before.end()) {
    known_items_ = known->second.items;
    need_ = known->second.need;
    need_of_one_ = need_.at(1);
    item_ns_ = known->second.item_ns;
    variant_ = known->second.variant;
  } else {
    estimate(r);
  }
  const auto p = problem(r);
  const auto most = std::max<std::int64_t>(need_.most_items(p.bytes), need_of_one_ <= p.bytes ? 1 : 0);
  if (most == 0)
    cannot("one item alone needs " + std::to_string(need_of_one_) +
               " bytes, and its results, the weights and their packed copies leave " +
               std::to_string(p.bytes),
           r.ledger);
  schedule_.emplace(
      axes_.items, std::clamp<std::int64_t>(axes_.items / first_part_share, 1, std::min(most, large_sample)));
  make_results();
  return true;
}

bool cut_run::take_result_memory(const cut_resources& r) {
  if (memory_)
    return true;
  memory_lease lease;
  switch (r.ledger.try_lease(result_bytes_, memory_use::frames, lease)) {
  case lease_outcome::never_fits:
    cannot("its results alone take " + std::to_string(result_bytes_) + " bytes", r.ledger);
  case lease_outcome::full:
    if (result_bytes_ > free_for_frames(r.ledger) && r.ledger.in_use(memory_use::held) == 0)
      cannot("its results alone take " + std::to_string(result_bytes_) + " bytes", r.ledger);
    return false;
  case lease_outcome::granted:
    break;
  }
  memory_ = new frame_memory{r.ledger.name(), r.blocks};
  memory_->open({}, std::move(lease));
  return true;
}

void cut_run::estimate(const cut_resources& r) {
  const auto a = std::min(small_sample, axes_.items);
  const auto b = std::min(large_sample, axes_.items);
  const auto sample = [&](std::int64_t items) {
    auto request = request_for(items);
    request.places = r.places;
    const auto p = make_plan(r.model, r.constants, request, r.kernels);
    packed_bytes_ = std::max(packed_bytes_, packed_need(*p));
    item_ns_ = item_time(*p, items);
    variant_ = batch_variant_node(*p);
    auto bytes = frame_need(*p);
    for (std::size_t i = 0; i < axes_.fed.size(); ++i)
      if (axes_.fed[i] && copies_rows(*what_.request.fed[i].type.shape().to_shape(), *axes_.fed[i]))
        bytes += tensor_block_bytes(request.fed[i].type.bytes().value_or(0));
    return bytes;
  };
  need_of_one_ = sample(1);
  const auto bytes_a = sample(a);
  need_ = line_through(a, bytes_a, b, a == b ? bytes_a : sample(b));
}

split_problem cut_run::problem(const cut_resources& r) const {
  // Parts of two sizes at a time have plans: those of the best size, and the remainder.
  const auto overhead = 2 * packed_bytes_;
  const auto taken = [&](const memory_ledger& l) {
    return free_for_frames(l) - std::min(free_for_frames(l), result_bytes_ + overhead);
  };
  return {axes_.items, std::min(taken(r.ledger), taken(r.device)), r.in_flight, need_, item_ns_};
}

void cut_run::learn(std::int64_t items, std::uint64_t frame_bytes, const cut_resources& r) {
  if (const auto expected = items == 1 ? need_of_one_ : need_.at(items); frame_bytes > expected) {
    // Kernels take memory of their own, which grows with the batch as the rest does.
    const auto factor =
        static_cast<double>(frame_bytes) / static_cast<double>(std::max<std::uint64_t>(1, expected));
    need_ = {need_.fixed * factor, need_.per_item * factor};
    need_of_one_ = static_cast<std::uint64_t>(static_cast<double>(need_of_one_) * factor);
  }
  if (!schedule_->undecided())
    return;
  const auto p = problem(r);
  auto split = choose_split(p);
  if (split.in_flight == 0) {
    // So many did fit.
    const auto each = items == 1 ? need_of_one_ : p.bytes;
    const auto at_once = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(p.bytes / std::max<std::uint64_t>(1, each), 1, p.in_flight));
    split = {.in_flight = at_once, .items = items, .worth_try = {items}};
  } else if (known_items_ > 0 && need_.at(known_items_) * split.in_flight <= p.bytes) {
    split.items = known_items_;
    split.worth_try = {known_items_};
  }
  schedule_->decide(split);
}

cut_experience cut_run::experience() const {
  return {schedule_->search().items(), need_, item_ns_, variant_};
}

void cut_run::make_results() {
  for (const auto& t : what_.result_types)
    results_.emplace_back(tensor::make(t.element(), *t.shape().to_shape(), *memory_));
}

plan_request cut_run::request_for(std::int64_t items) const {
  return request_for_items(what_.request, axes_, items);
}

std::shared_ptr<const executable_plan> cut_run::plan_for(std::int64_t items) const {
  const auto at = plans_.find(items);
  return at == plans_.end() ? nullptr : at->second;
}

void cut_run::keep_plan(std::int64_t items, std::shared_ptr<const executable_plan> p) {
  plans_[items] = std::move(p);
}

void cut_run::forget_plans_but(std::int64_t items) {
  std::erase_if(plans_, [items](const auto& p) { return p.first != items; });
}

std::vector<value> cut_run::feeds_of(const part& p) const {
  std::vector<value> feeds;
  for (std::size_t i = 0; i < axes_.fed.size(); ++i)
    feeds.push_back(axes_.fed[i] ? rows_of(what_.whole->feeds[i], *axes_.fed[i], p.first, p.items, *memory_)
                                 : what_.whole->feeds[i]);
  return feeds;
}

std::vector<value> cut_run::into_of(const part& p) const {
  std::vector<value> into;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const auto rows = axes_.fetched_rows[i];
    const auto copied = copies_rows(results_[i].tensor().shape(), axes_.fetched[i]);
    into.push_back(copied ? value{}
                          : rows_of(results_[i], axes_.fetched[i], p.first * rows, p.items * rows, *memory_));
  }
  return into;
}

void cut_run::take_results(const part& p, values results) {
  for (std::size_t i = 0; i < results_.size(); ++i)
    if (copies_rows(results_[i].tensor().shape(), axes_.fetched[i]))
      put_rows(results.at(i), results_[i], axes_.fetched[i], p.first * axes_.fetched_rows[i]);
}

run_state::outcome cut_run::outcome() {
  plans_.clear();
  what_.whole->feeds.clear();
  auto results = std::move(results_);
  results_.clear();
  auto& into = what_.whole->into;
  std::exception_ptr failure = schedule_ ? schedule_->failure() : nullptr;
  try {
    for (std::size_t i = 0; !failure && i < into.size(); ++i) {
      if (into[i].empty())
        continue;
      if (into[i].tensor().shape() != results[i].tensor().shape())
        throw error{errc::invalid_argument, "result '" + (*what_.result_names)[i] + "' is " +
                                                describe(results[i]) + "; the caller's buffer is " +
                                                describe(into[i])};
      put_rows(results[i], into[i], axes_.fetched[i], 0);
      results[i] = into[i];
    }
  } catch (const error&) {
    failure = std::current_exception();
  }
  if (failure)
    results.clear();
  if (memory_)
    memory_->close();
  memory_ = nullptr;
  if (failure)
    return failure;
  return values{what_.result_names, std::move(results)};
}

std::string cut_run::explain() const {
  const auto& search = schedule_->search();
  auto text = std::to_string(axes_.items) + " items cut into " + std::to_string(schedule_->parts()) +
              " parts of at most " + std::to_string(search.items()) + ", " +
              std::to_string(schedule_->most_in_flight()) + " at once: in one piece they need " +
              std::to_string(what_.frame_bytes) + " bytes, such a part " +
              std::to_string(search.items() == 1 ? need_of_one_ : need_.at(search.items())) +
              "\n  estimated: " + rounded(item_ns_ / 1e3) + " us an item";
  for (const auto& [items, ns] : search.times())
    text += "\n  measured, parts of " + std::to_string(items) + ": " + rounded(ns / 1e3) + " us an item";
  text += variant_.empty()
              ? "\n  the same bits as in one piece: every kernel is batch-invariant"
              : "\n  other bits than in one piece, within rounding: " + variant_ + " is not batch-invariant";
  return text + '\n';
}

} // namespace sluice
