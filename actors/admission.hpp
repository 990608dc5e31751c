#pragma once

#include <sluice/actors/run_state.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace sluice {

/// The entrance of a session: which requests wait, which slots of the window are free. Highest priority
/// first, then first come, first served. No threads: the session calls it under its lock.
class admission {
public:
  admission(std::uint32_t window, std::size_t queue_limit);

  [[nodiscard]] bool queue_empty() const noexcept { return queue_.empty(); }
  [[nodiscard]] std::size_t queued() const noexcept { return queue_.size(); }
  [[nodiscard]] bool queue_full() const noexcept { return queue_.size() >= queue_limit_; }
  [[nodiscard]] std::uint32_t in_flight() const noexcept {
    return window_ - static_cast<std::uint32_t>(free_.size());
  }
  [[nodiscard]] bool slot_free() const noexcept { return !free_.empty(); }

  void enqueue(run_state& r);
  /// The request that is next; null if none waits.
  [[nodiscard]] run_state* front() const noexcept { return queue_.empty() ? nullptr : queue_.begin()->get(); }
  /// Takes a request out of the queue.
  intrusive_ptr<run_state> remove(run_state& r);

  /// Those that come next, have the plan and the priority of the first, and may be joined; at most `most`.
  [[nodiscard]] std::vector<intrusive_ptr<run_state>> next_alike(std::size_t most) const;

  /// A free slot; the one freed last, whose memory is warm.
  [[nodiscard]] std::uint32_t take_slot();
  void give_slot(std::uint32_t slot) { free_.push_back(slot); }

  /// Those that wait with a plan that uses device `d`, taken out.
  [[nodiscard]] std::vector<intrusive_ptr<run_state>> take_users_of(std::uint32_t d);
  /// All that wait, taken out.
  [[nodiscard]] std::vector<intrusive_ptr<run_state>> take_all();

private:
  struct order {
    bool operator()(const intrusive_ptr<run_state>& a, const intrusive_ptr<run_state>& b) const noexcept {
      return a->priority != b->priority ? a->priority > b->priority : a->sequence < b->sequence;
    }
  };

  const std::uint32_t window_;
  const std::size_t queue_limit_;
  std::vector<std::uint32_t> free_;
  std::set<intrusive_ptr<run_state>, order> queue_;
  std::uint64_t arrivals_ = 0;
};

} // namespace sluice
