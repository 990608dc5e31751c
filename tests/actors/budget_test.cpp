#include "branching_graph.hpp"

#include <sluice/actors/session_core.hpp>
#include <sluice/devices/cpu_threads.hpp>

#include <boost/test/unit_test.hpp>

#include <barrier>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <numeric>
#include <optional>
#include <sstream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

/// The budget of the process for one test.
struct budget_of_two {
  budget_of_two() : old_budget(cpu_threads::process().budget()) { cpu_threads::process().resize(2); }
  ~budget_of_two() { cpu_threads::process().resize(old_budget); }
  const unsigned old_budget;
};

/// Fills a tensor with one number.
value filled(const shape& s, float x) {
  auto t = tensor::make(element_type::float32, s);
  for (auto& element : t->data<float>())
    element = x;
  return t;
}

constexpr std::int64_t extent = 48;

/// A graph of two branches that can both use several threads, and meet: products of matrices, and, where the
/// build has it, a convolution that oneDNN computes.
std::shared_ptr<const graph> two_heavy_branches(const engine& e) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", {1, 32, extent, extent});
  auto left = x;
  for (const auto* name : {"first", "second"})
    left = g.relu(g.matmul(left, x, name));
  auto right = g.relu(x);
  try {
    const auto weights = g.constant("weights", filled({32, 32, 3, 3}, 0.01f));
    right = g.op("Conv", {right, weights}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}, "conv");
  } catch (const error&) {
    right = g.matmul(right, x); // a build without convolutions
  }
  g.output("y", g.add(left, right, "sum"));
  return g.build("heavy");
}

/// What the threads of this process do, looked at again and again while it lives.
class thread_sampler {
public:
  /// @param ignored  threads of this name are not counted
  explicit thread_sampler(std::string ignored)
    : ignored_(std::move(ignored)), sampler_([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          note(running());
          std::this_thread::yield();
        }
      }) {}

  /// How many ran at once, this class's own thread and the first one left out: the highest average of `span`
  /// looks in a row. One look takes a thread after the other, so that it may see one that has just handed its
  /// work over, and then the one that took it.
  [[nodiscard]] double most_running() {
    sampler_.request_stop();
    sampler_.join();
    return most_;
  }

private:
  static constexpr std::size_t span = 16;

  [[nodiscard]] int running() const {
    int count = 0;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
      std::ifstream stat{task.path() / "stat"};
      std::string text;
      std::getline(stat, text); // nothing, if the thread has just ended
      const auto open = text.find('(');
      const auto close = text.rfind(')');
      const auto id = task.path().filename();
      if (close == std::string::npos || id == std::to_string(gettid()) || id == std::to_string(getpid()))
        continue;
      const auto name = text.substr(open + 1, close - open - 1);
      if (name == ignored_)
        continue;
      count += text[close + 2] == 'R' ? 1 : 0;
    }
    return count;
  }

  void note(int count) {
    looks_.push_back(count);
    if (looks_.size() > span)
      looks_.pop_front();
    if (looks_.size() == span)
      most_ = std::max(most_, std::accumulate(looks_.begin(), looks_.end(), 0.) / span);
  }

  const std::string ignored_;
  std::deque<int> looks_; // the last ones
  double most_ = 0;
  std::jthread sampler_;
};

std::chrono::microseconds cpu_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto us = [](const timeval& t) {
    return std::chrono::seconds{t.tv_sec} + std::chrono::microseconds{t.tv_usec};
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

/// User-mode CPU time of a thread of this process, in clock ticks.
long user_ticks(int thread) {
  std::ifstream stat{"/proc/self/task/" + std::to_string(thread) + "/stat"};
  std::string text{std::istreambuf_iterator<char>{stat}, {}};
  const auto after_name = text.rfind(')');
  if (after_name == std::string::npos)
    return 0;
  std::istringstream fields{text.substr(after_name + 2)};
  std::string field;
  long ticks = 0;
  for (int i = 3; i <= 14 && fields >> field; ++i)
    if (i == 14)
      ticks = std::stol(field);
  return ticks;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(budget_test, budget_of_two)

BOOST_AUTO_TEST_CASE(sixty_four_callers_never_have_more_threads_compute_than_the_budget_says) {
  engine e;
  auto s = e.load(two_heavy_branches(e));
  const auto x = filled({1, 32, extent, extent}, 0.01f);
  const auto expected = s.run({{"x", x}})["y"].tensor().data<float>()[0];
  cpu_threads::process().reset_peak();
  std::atomic<int> right = 0;
  // A caller that wakes up to find its result there is runnable for a moment; what computes in its place is
  // counted by the budget.
  std::optional<thread_sampler> sampler;
  {
    std::barrier named{65};
    std::vector<std::jthread> callers;
    for (int t = 0; t < 64; ++t)
      callers.emplace_back([&] {
        pthread_setname_np(pthread_self(), "caller");
        named.arrive_and_wait();
        named.arrive_and_wait();
        for (int i = 0; i < 10; ++i)
          right += s.run({{"x", x}})["y"].tensor().data<float>()[0] == expected ? 1 : 0;
      });
    named.arrive_and_wait();
    sampler.emplace("caller");
    named.arrive_and_wait();
  }
  BOOST_TEST(right == 640);
  BOOST_TEST(cpu_threads::process().peak_active() <= 2u);
  BOOST_TEST(sampler->most_running() < 2.5);
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(functions_of_sixty_four_callers_run_on_two_threads_at_most) {
  engine e;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  const auto work = [&](std::span<value> in, std::span<value> out) {
    const auto now = ++inside;
    for (auto seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    volatile float sink = 0;
    for (int i = 0; i < 20'000; ++i)
      sink = sink + 1;
    --inside;
    out[0] = in[0];
  };
  auto g = e.builder();
  const auto source = g.placeholder("x", scalar);
  std::vector<edge_ref> branches;
  for (int i = 0; i < 4; ++i)
    branches.push_back(g.function("branch" + std::to_string(i), {source}, {scalar}, {work})[0]);
  g.output("y", g.function("join", branches, {scalar}, {work})[0]);
  auto s = e.load(g.build());
  auto other = e.load(s.core()->setup().model, {.inter_op_parallelism_threads = 1});
  cpu_threads::process().reset_peak();
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 64; ++t)
      callers.emplace_back([&, t]() mutable {
        for (int i = 0; i < 10; ++i)
          static_cast<void>((t % 2 ? s : other).run({{"x", 1.f}}));
      });
  }
  BOOST_TEST(most <= 2);
  BOOST_TEST(cpu_threads::process().peak_active() <= 2u);
}

BOOST_AUTO_TEST_CASE(callers_that_wait_do_not_spin) {
  engine e;
  std::promise<void> open;
  auto opened = open.get_future().share();
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  g.output("y", g.function("gate", {x}, {scalar},
                           {[opened](std::span<value> in, std::span<value> out) {
                              opened.wait();
                              out[0] = in[0];
                            },
                            function_kind::blocking})[0]);
  auto s = e.load(g.build(), {.window = 64});
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> threads;
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 16; ++t)
      callers.emplace_back([&] {
        {
          const std::lock_guard lock{mutex};
          threads.push_back(gettid());
        }
        changed.notify_all();
        static_cast<void>(s.run({{"x", 1.f}}));
      });
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] { return threads.size() == 16; });
    while (s.core()->in_flight() < 16)
      std::this_thread::yield();
    long before = 0;
    for (const auto t : threads)
      before += user_ticks(t);
    changed.wait_for(lock, 300ms, [] { return false; }); // a measured period, for nothing
    long after = 0;
    for (const auto t : threads)
      after += user_ticks(t);
    BOOST_TEST(after - before <= 3);
    open.set_value();
  }
}

BOOST_AUTO_TEST_CASE(a_thousand_idle_node_actors_cost_less_than_a_hundredth_of_a_cpu) {
  engine e;
  auto g = e.builder();
  auto y = g.placeholder("x", scalar);
  for (int i = 0; i < 1000; ++i)
    y = g.function("n" + std::to_string(i), {y}, {scalar},
                   {[](std::span<value> in, std::span<value> out) { out[0] = in[0]; }})[0];
  g.output("y", y);
  auto s = e.load(g.build());
  BOOST_TEST(number(s.run({{"x", 3.f}})["y"]) == 3);
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock{mutex};
  never.wait_for(lock, 50ms, [] { return false; }); // the last spinner parks
  const auto before = cpu_time();
  never.wait_for(lock, 1s, [] { return false; });
  BOOST_TEST((cpu_time() - before).count() < 10'000);
}

BOOST_AUTO_TEST_SUITE_END()
