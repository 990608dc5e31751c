#include "support/contender.hpp"
#include "support/spin.hpp"

#ifdef SLUICE_BENCH_TBB

#  include <tbb/flow_graph.h>
#  include <tbb/global_control.h>
#  include <tbb/task_arena.h>

#  include <atomic>
#  include <tuple>

namespace sluice::bench {

namespace {

namespace flow = tbb::flow;
using token = int*;

/// Runs in an arena of the setting's number of workers.
class tbb_contender : public contender {
public:
  tbb_contender(std::string name, const firing_setting& s)
    : name_(std::move(name)), workers_(s.workers), arena_(static_cast<int>(s.workers)) {}

  const std::string& name() const override { return name_; }
  void run(std::uint64_t count) final {
    const tbb::global_control limit{tbb::global_control::max_allowed_parallelism, workers_};
    arena_.execute([&] { run_in_arena(count); });
  }

protected:
  virtual void run_in_arena(std::uint64_t count) = 0;

  template <class F>
  void in_arena(F f) {
    arena_.execute(f);
  }

private:
  const std::string name_;
  const unsigned workers_;
  tbb::task_arena arena_;
};

/// A function_node for each node; a join_node before those with two inputs; those with more count their
/// inputs. The sink feeds the source.
template <class Policy>
class function_nodes final : public tbb_contender {
public:
  function_nodes(std::string name, const firing_setting& s, std::size_t concurrency)
    : tbb_contender(std::move(name), s), frames_(s.frames), tokens_(s.frames), nodes_(s.shape.nodes.size()) {
    in_arena([&] {
      graph_ = std::make_unique<flow::graph>();
      const spin_work work{s.work_ns};
      for (std::size_t i = 0; i < nodes_.size(); ++i)
        make_node(i, s.shape.nodes[i].ports, work, concurrency);
      for (std::size_t i = 0; i < nodes_.size(); ++i)
        for (const auto& [to, port] : s.shape.nodes[i].to)
          flow::make_edge(sender_of(i), receiver_of(to, port));
      flow::make_edge(sender_of(nodes_.size() - 1), receiver_of(0, 0));
    });
  }

private:
  using one = flow::function_node<token, token, Policy>;
  using two = flow::function_node<std::tuple<token, token>, token, Policy>;
  using join = flow::join_node<std::tuple<token, token>, flow::queueing>;
  using many = flow::multifunction_node<token, std::tuple<token>, Policy>;

  struct node {
    std::unique_ptr<one> plain;
    std::unique_ptr<join> pair;
    std::unique_ptr<two> after_pair;
    std::unique_ptr<many> counting;
    std::size_t arrived = 0;
  };

  void make_node(std::size_t i, std::size_t ports, const spin_work& work, std::size_t concurrency) {
    auto& n = nodes_[i];
    if (i == 0) {
      n.counting = std::make_unique<many>(*graph_, flow::serial,
                                          [this, work](token t, typename many::output_ports_type& out) {
                                            if (fired_ >= count_)
                                              return;
                                            ++fired_;
                                            work();
                                            std::get<0>(out).try_put(t);
                                          });
    } else if (ports == 1) {
      n.plain = std::make_unique<one>(*graph_, concurrency, [work](token t) {
        work();
        return t;
      });
    } else if (ports == 2) {
      n.pair = std::make_unique<join>(*graph_);
      n.after_pair = std::make_unique<two>(*graph_, concurrency, [work](const std::tuple<token, token>& t) {
        work();
        return std::get<0>(t);
      });
      flow::make_edge(*n.pair, *n.after_pair);
    } else {
      n.counting = std::make_unique<many>(*graph_, flow::serial,
                                          [&n, ports, work](token t, typename many::output_ports_type& out) {
                                            if (++n.arrived < ports)
                                              return;
                                            n.arrived = 0;
                                            work();
                                            std::get<0>(out).try_put(t);
                                          });
    }
  }

  flow::sender<token>& sender_of(std::size_t i) {
    auto& n = nodes_[i];
    if (n.counting)
      return flow::output_port<0>(*n.counting);
    if (n.after_pair)
      return *n.after_pair;
    return *n.plain;
  }

  flow::receiver<token>& receiver_of(std::size_t i, std::size_t port) {
    auto& n = nodes_[i];
    if (n.counting)
      return *n.counting;
    if (!n.pair)
      return *n.plain;
    if (port == 0)
      return flow::input_port<0>(*n.pair);
    return flow::input_port<1>(*n.pair);
  }

  void run_in_arena(std::uint64_t count) override {
    fired_ = 0;
    count_ = count;
    for (unsigned k = 0; k < frames_; ++k)
      nodes_[0].counting->try_put(&tokens_[k]);
    graph_->wait_for_all();
  }

  const unsigned frames_;
  std::vector<int> tokens_;
  std::vector<node> nodes_;
  std::unique_ptr<flow::graph> graph_;
  std::uint64_t fired_ = 0; // touched by the serial source only
  std::uint64_t count_ = 0;
};

/// A continue_node for each node: no values on the edges, one frame at a time.
template <class Node>
class continue_nodes final : public tbb_contender {
public:
  continue_nodes(std::string name, const firing_setting& s) : tbb_contender(std::move(name), s) {
    in_arena([&] {
      graph_ = std::make_unique<flow::graph>();
      const spin_work work{s.work_ns};
      for (std::size_t i = 0; i < s.shape.nodes.size(); ++i)
        nodes_.push_back(std::make_unique<Node>(*graph_, [work](const flow::continue_msg& m) {
          work();
          return m;
        }));
      for (std::size_t i = 0; i < nodes_.size(); ++i)
        for (const auto& [to, port] : s.shape.nodes[i].to)
          flow::make_edge(*nodes_[i], *nodes_[to]);
    });
  }

private:
  void run_in_arena(std::uint64_t count) override {
    for (std::uint64_t i = 0; i < count; ++i) {
      nodes_[0]->try_put(flow::continue_msg{});
      graph_->wait_for_all();
    }
  }

  std::unique_ptr<flow::graph> graph_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

} // namespace

std::vector<std::unique_ptr<contender>> make_tbb(const firing_setting& s) {
  std::vector<std::unique_ptr<contender>> made;
  using heavy = flow::queueing;
  using light = flow::queueing_lightweight;
  made.push_back(std::make_unique<function_nodes<heavy>>("tbb function_node serial", s, flow::serial));
  made.push_back(std::make_unique<function_nodes<heavy>>("tbb function_node unlimited", s, flow::unlimited));
  made.push_back(
      std::make_unique<function_nodes<light>>("tbb function_node serial lightweight", s, flow::serial));
  made.push_back(
      std::make_unique<function_nodes<light>>("tbb function_node unlimited lightweight", s, flow::unlimited));
  if (s.frames == 1) {
    made.push_back(
        std::make_unique<continue_nodes<flow::continue_node<flow::continue_msg>>>("tbb continue_node", s));
    made.push_back(
        std::make_unique<continue_nodes<flow::continue_node<flow::continue_msg, flow::lightweight>>>(
            "tbb continue_node lightweight", s));
  }
  return made;
}

} // namespace sluice::bench

#else

namespace sluice::bench {

std::vector<std::unique_ptr<contender>> make_tbb(const firing_setting&) {
  return {};
}

} // namespace sluice::bench

#endif
