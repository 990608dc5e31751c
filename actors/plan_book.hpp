#pragma once

#include <sluice/actors/executable.hpp>
#include <sluice/actors/feeds.hpp>
#include <sluice/actors/run_state.hpp>
#include <sluice/graph/graph.hpp>
#include <sluice/scheduler/plan.hpp>

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// The plans of a session, by what is fed with which types and what is fetched; and the requests that wait
/// for one. Bounded: the plan used longest ago is forgotten.
///
/// @threadsafe all members.
class plan_book {
public:
  /// A plan to be made.
  struct ticket {
    std::string key;
    plan_request request;
    std::vector<std::string> result_names;
  };

  /// A request's feeds in a plan's order.
  struct resolved {
    std::shared_ptr<const executable_plan> plan; ///< null: make the plan for `order`
    std::vector<value> feeds;                    ///< by fed edge of the plan
    std::vector<std::uint32_t> positions;        ///< in those, by input of the call, then by external input
    std::vector<std::uint32_t> external;         ///< positions of those that come as tokens
    std::unique_ptr<ticket> order;
  };

  /// @param like  of the requests for plans: threads, order of memory
  plan_book(const graph& g, plan_request like, std::size_t capacity = 64);

  /// Looks names up and checks types. Throws errc::invalid_argument that says what the graph takes.
  [[nodiscard]] resolved resolve(feeds& inputs, std::span<const std::string> fetch,
                                 std::span<const std::string> external);

  /// What a plan was made for, to be made again.
  [[nodiscard]] std::unique_ptr<ticket> order_of(const executable_plan& p) const;
  /// Forgets the plans that use device `d`.
  void forget_users_of(std::uint32_t d);

  /// Notes that `r` waits for a plan. True if somebody has to make it: the first who waits.
  [[nodiscard]] bool wait_for(const std::string& key, run_state& r);
  /// Files a plan (null: it could not be made) and returns who waits for it.
  [[nodiscard]] std::vector<intrusive_ptr<run_state>> file(const std::string& key,
                                                           std::shared_ptr<const executable_plan> p);
  /// Forgets that `r` waits. False if it does not.
  bool leave(run_state& r);
  [[nodiscard]] std::vector<intrusive_ptr<run_state>> take_waiting();
  [[nodiscard]] bool nobody_waits() const;
  /// Forgets a plan.
  void forget(const executable_plan& p);

  /// The newest plan that has all outputs of the graph, or else the newest at all; null if there is none.
  [[nodiscard]] std::shared_ptr<const executable_plan> newest() const;

private:
  struct entry {
    std::string key;
    std::shared_ptr<const executable_plan> plan;
  };

  [[nodiscard]] edge_index fed_edge(const std::string& name, const char* what) const;
  [[nodiscard]] edge_index fetched_edge(const std::string& name) const;

  const graph& graph_;
  const plan_request like_;
  const std::size_t capacity_;

  mutable std::mutex mutex_; // guards what follows
  std::list<entry> plans_;   // the one used last in front
  std::map<std::string, std::vector<intrusive_ptr<run_state>>> waiting_;
};

} // namespace sluice
