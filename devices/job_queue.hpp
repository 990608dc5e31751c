#pragma once

#include <sluice/devices/executor.hpp>

#include <utility>

namespace sluice {

/// Jobs in the order they came, linked through themselves: nothing is allocated. Not thread-safe.
class job_queue {
public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  void push(job& j) noexcept {
    j.next_ = nullptr;
    (first_ ? last_->next_ : first_) = &j;
    last_ = &j;
  }

  /// The oldest job, or null.
  [[nodiscard]] job* pop() noexcept {
    auto* j = first_;
    if (j)
      first_ = std::exchange(j->next_, nullptr);
    return j;
  }

private:
  job* first_ = nullptr;
  job* last_ = nullptr;
};

} // namespace sluice
