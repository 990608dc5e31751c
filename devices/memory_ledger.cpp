#include <sluice/devices/memory_ledger.hpp>

#include <string_view>

namespace sluice {

std::string_view to_string(memory_use use) noexcept {
  static constexpr std::array<std::string_view, memory_use_count> names = {"weights", "packed", "frames",
                                                                           "held by callers", "cached"};
  return names[static_cast<std::size_t>(use)];
}

std::shared_ptr<memory_ledger> memory_ledger::make(std::string name, std::size_t budget,
                                                   std::shared_ptr<memory_ledger> parent) {
  return std::shared_ptr<memory_ledger>{new memory_ledger{std::move(name), budget, std::move(parent)}};
}

lease_outcome memory_ledger::try_lease(std::size_t bytes, memory_use use, memory_lease& lease) {
  const auto outcome = take(bytes, use);
  if (outcome == lease_outcome::granted)
    lease = memory_lease{shared_from_this(), bytes, use};
  return outcome;
}

lease_outcome memory_ledger::take(std::size_t bytes, memory_use use) noexcept {
  auto outcome = take_free(bytes, use);
  while (outcome == lease_outcome::full && use != memory_use::cached && reclaim())
    outcome = take_free(bytes, use);
  return outcome;
}

bool memory_ledger::reclaim() noexcept {
  const std::lock_guard lock{reclaim_mutex_};
  return reclaim_ && reclaim_();
}

void memory_ledger::reclaim_by(std::function<bool()> reclaim) {
  const std::lock_guard lock{reclaim_mutex_};
  reclaim_ = std::move(reclaim);
}

lease_outcome memory_ledger::take_free(std::size_t bytes, memory_use use) noexcept {
  if (bytes == 0)
    return lease_outcome::granted;
  if (bytes > budget_)
    return lease_outcome::never_fits;
  auto before = in_use_.load(std::memory_order_relaxed);
  do {
    if (bytes > budget_ - before)
      return lease_outcome::full;
  } while (!in_use_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  if (parent_) {
    if (const auto outcome = parent_->take(bytes, use); outcome != lease_outcome::granted) {
      in_use_.fetch_sub(bytes, std::memory_order_relaxed);
      return outcome;
    }
  }
  by_use_[static_cast<std::size_t>(use)].fetch_add(bytes, std::memory_order_relaxed);
  const auto now = before + bytes;
  for (auto seen = peak_.load(std::memory_order_relaxed);
       seen < now && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed);) {
  }
  return lease_outcome::granted;
}

void memory_ledger::give_back(std::size_t bytes, memory_use use) noexcept {
  by_use_[static_cast<std::size_t>(use)].fetch_sub(bytes, std::memory_order_relaxed);
  in_use_.fetch_sub(bytes, std::memory_order_seq_cst);
  if (parent_) // who waits, waits there, and may find these bytes free here already
    return parent_->give_back(bytes, use);
  if (!anybody_waits_.load(std::memory_order_seq_cst))
    return;
  std::vector<std::function<void()>> waiters;
  {
    const std::lock_guard lock{waiters_mutex_};
    waiters.swap(waiters_);
    anybody_waits_.store(false, std::memory_order_seq_cst);
  }
  for (const auto& retry : waiters)
    retry();
}

void memory_ledger::change_use(std::size_t bytes, memory_use from, memory_use to) noexcept {
  if (parent_)
    parent_->change_use(bytes, from, to);
  by_use_[static_cast<std::size_t>(from)].fetch_sub(bytes, std::memory_order_relaxed);
  by_use_[static_cast<std::size_t>(to)].fetch_add(bytes, std::memory_order_relaxed);
}

void memory_ledger::when_freed(std::function<void()> retry) {
  if (parent_) // bytes that become free here become free there too
    return parent_->when_freed(std::move(retry));
  const std::lock_guard lock{waiters_mutex_};
  waiters_.push_back(std::move(retry));
  anybody_waits_.store(true, std::memory_order_seq_cst);
}

std::string memory_ledger::report() const {
  auto text = name_ + ": " + std::to_string(in_use());
  if (budget_ != unlimited)
    text += " of " + std::to_string(budget_);
  text += " bytes in use (";
  for (std::size_t i = 0; i < memory_use_count; ++i) {
    const auto use = static_cast<memory_use>(i);
    text += (i ? ", " : "") + std::string{to_string(use)} + ' ' + std::to_string(in_use(use));
  }
  return text + ')';
}

memory_lease::~memory_lease() {
  if (bytes_ > 0)
    ledger_->give_back(bytes_, use_);
}

bool memory_lease::try_grow(std::size_t more) {
  if (!ledger_ || ledger_->take(more, use_) != lease_outcome::granted)
    return false;
  bytes_ += more;
  return true;
}

void memory_lease::shrink_to(std::size_t bytes) noexcept {
  if (!ledger_ || bytes >= bytes_)
    return;
  ledger_->give_back(bytes_ - bytes, use_);
  bytes_ = bytes;
}

void memory_lease::use_for(memory_use use) noexcept {
  if (bytes_ > 0 && use != use_)
    ledger_->change_use(bytes_, use_, use);
  use_ = use;
}

} // namespace sluice
