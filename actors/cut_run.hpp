#pragma once

#include <sluice/actors/cut_schedule.hpp>
#include <sluice/actors/executable.hpp>
#include <sluice/actors/run_state.hpp>
#include <sluice/devices/block_pool.hpp>
#include <sluice/devices/frame_memory.hpp>
#include <sluice/devices/memory_ledger.hpp>
#include <sluice/scheduler/batch_axes.hpp>
#include <sluice/scheduler/plan.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// A request whose frame would never fit, and what its plan said. The plan itself is gone: it would keep
/// packed weights.
struct oversized_request {
  intrusive_ptr<run_state> whole;
  plan_request request;
  std::shared_ptr<const std::vector<std::string>> result_names;
  std::vector<value_type> result_types;
  std::uint64_t frame_bytes = 0; ///< that it would need in one piece
};

/// What a cut request takes from its session.
struct cut_resources {
  std::shared_ptr<const graph> model;
  std::shared_ptr<const operator_library> operators;
  std::span<const value> constants; ///< by edge, folded
  kernel_cache& kernels;
  memory_ledger& ledger; ///< of the session
  const memory_ledger& device;
  std::shared_ptr<block_pool> blocks;
  std::shared_ptr<const node_places> places;
  std::uint32_t in_flight = 1; ///< parts that should run at once
};

/// What one request learns for others of its kind.
struct cut_experience {
  std::int64_t items = 0; ///< the best size of its parts
  batch_bytes need;       ///< of a part, as measured
  double item_ns = 0;     ///< estimated
  std::string variant;    ///< a node whose bits depend on the size of a batch
};

/// A large request that runs in parts: how it is cut, where its results go. No threads and no messages: the
/// batching actor drives it.
class cut_run {
public:
  using part = cut_schedule::part;

  explicit cut_run(oversized_request what) : what_(std::move(what)) {}

  /// Decides how to cut and takes memory for the results. False if that is not free now. Throws
  /// errc::out_of_memory with the reason where the request cannot be cut.
  /// @param before  what requests learned before
  [[nodiscard]] bool prepare(const cut_resources& r, const std::map<std::string, cut_experience>& before);

  /// What tells requests apart whose parts are alike. Once it is prepared.
  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }
  [[nodiscard]] cut_schedule& schedule() noexcept { return *schedule_; }
  [[nodiscard]] run_state& whole() const noexcept { return *what_.whole; }

  /// What to plan for parts of `items`.
  [[nodiscard]] plan_request request_for(std::int64_t items) const;
  [[nodiscard]] const std::shared_ptr<const std::vector<std::string>>& result_names() const noexcept {
    return what_.result_names;
  }
  /// Their plan, if it was kept.
  [[nodiscard]] std::shared_ptr<const executable_plan> plan_for(std::int64_t items) const;
  void keep_plan(std::int64_t items, std::shared_ptr<const executable_plan> p);
  /// Forgets the plans of other sizes; frames in flight keep theirs.
  void forget_plans_but(std::int64_t items);

  /// The feeds of a part, in the order of the fed edges.
  [[nodiscard]] std::vector<value> feeds_of(const part& p) const;
  /// Where a part's frame writes its results itself; empty where take_results() copies them.
  [[nodiscard]] std::vector<value> into_of(const part& p) const;
  void take_results(const part& p, values results);
  /// What the frames of parts of so many items needed. After the first part, the others' size is decided.
  void learn(std::int64_t items, std::uint64_t frame_bytes, const cut_resources& r);
  [[nodiscard]] cut_experience experience() const;

  /// The outcome, when the schedule is finished: all results, or why there are none. Gives up the memory.
  [[nodiscard]] run_state::outcome outcome();
  /// What was decided, and why.
  [[nodiscard]] std::string explain() const;

private:
  [[noreturn]] void cannot(const std::string& why, const memory_ledger& ledger) const;
  void estimate(const cut_resources& r);
  [[nodiscard]] split_problem problem(const cut_resources& r) const;
  [[nodiscard]] bool take_result_memory(const cut_resources& r);
  void make_results();

  oversized_request what_;
  batch_axes axes_;
  std::string kind_;
  batch_bytes need_;              // of a part, copies of its feeds included
  std::uint64_t need_of_one_ = 0; // of a part of one item, for which kernels may have their own way
  std::uint64_t result_bytes_ = 0;
  std::uint64_t packed_bytes_ = 0;
  double item_ns_ = 0;
  std::string variant_;          // a node whose bits depend on the size of a batch
  std::int64_t known_items_ = 0; // the best size of a request like it
  std::optional<cut_schedule> schedule_;
  std::map<std::int64_t, std::shared_ptr<const executable_plan>> plans_; // by items
  intrusive_ptr<frame_memory> memory_;                                   // of results and copied feeds
  std::vector<value> results_;
};

} // namespace sluice
