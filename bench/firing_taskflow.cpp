#include "support/contender.hpp"
#include "support/spin.hpp"

#ifdef SLUICE_BENCH_TASKFLOW

#  include <taskflow/taskflow.hpp>

namespace sluice::bench {

namespace {

/// A task for each node; each frame in flight has a copy of the graph that runs its share of the frames.
class taskflow_contender final : public contender {
public:
  explicit taskflow_contender(const firing_setting& s) : executor_(s.workers), flows_(s.frames) {
    const spin_work work{s.work_ns};
    for (auto& flow : flows_) {
      std::vector<tf::Task> tasks;
      for (std::size_t i = 0; i < s.shape.nodes.size(); ++i)
        tasks.push_back(flow.emplace([work] { work(); }));
      for (std::size_t i = 0; i < s.shape.nodes.size(); ++i)
        for (const auto& [to, port] : s.shape.nodes[i].to)
          tasks[i].precede(tasks[to]);
    }
  }

  const std::string& name() const override { return name_; }
  void run(std::uint64_t count) override {
    for (auto& flow : flows_)
      executor_.run_n(flow, count / flows_.size());
    executor_.wait_for_all();
  }

private:
  const std::string name_ = "taskflow run_n";
  tf::Executor executor_;
  std::vector<tf::Taskflow> flows_;
};

} // namespace

std::vector<std::unique_ptr<contender>> make_taskflow(const firing_setting& s) {
  std::vector<std::unique_ptr<contender>> made;
  made.push_back(std::make_unique<taskflow_contender>(s));
  return made;
}

} // namespace sluice::bench

#else

namespace sluice::bench {

std::vector<std::unique_ptr<contender>> make_taskflow(const firing_setting&) {
  return {};
}

} // namespace sluice::bench

#endif
