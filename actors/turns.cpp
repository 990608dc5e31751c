#include <sluice/actors/turns.hpp>

namespace sluice {

bool turns::enter(std::uint64_t number, frame* f) {
  const std::lock_guard lock{mutex_};
  if (number == next_) {
    taken_ = true;
    return true;
  }
  waiting_.emplace(number, f);
  return false;
}

frame* turns::leave() {
  const std::lock_guard lock{mutex_};
  taken_ = false;
  ++next_;
  return advance();
}

frame* turns::skip(std::uint64_t number) {
  const std::lock_guard lock{mutex_};
  absent_.insert(number);
  return taken_ ? nullptr : advance();
}

bool turns::idle() const {
  const std::lock_guard lock{mutex_};
  return !taken_ && waiting_.empty();
}

frame* turns::advance() {
  while (absent_.erase(next_) > 0)
    ++next_;
  const auto waiter = waiting_.find(next_);
  if (waiter == waiting_.end())
    return nullptr;
  auto* f = waiter->second;
  waiting_.erase(waiter);
  taken_ = true;
  return f;
}

} // namespace sluice
