// How soon a second branch starts on another thread, while the first keeps its own busy; against oneTBB.
// Usage: bench_wake [--rounds N] [--json FILE]

#include <sluice/devices/cpu_threads.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#if defined(SLUICE_BENCH_TBB)
#  include <oneapi/tbb/flow_graph.h>
#  include <oneapi/tbb/global_control.h>
#  include <oneapi/tbb/task_group.h>
#endif

namespace {

using clock_type = std::chrono::steady_clock;
using microseconds = std::chrono::duration<double, std::micro>;

struct function_job final : sluice::job {
  explicit function_job(std::function<void(sluice::worker&)> f) : function(std::move(f)) {}
  void run(sluice::worker& here) noexcept override { function(here); }
  std::function<void(sluice::worker&)> function;
};

/// One hand-over: when the second branch was offered, and when it started.
struct handover {
  clock_type::time_point offered;
  std::atomic<bool> started{false};
  clock_type::time_point start;

  void begin_second() {
    start = clock_type::now();
    started.store(true, std::memory_order_release);
  }
  void stay_busy() const {
    while (!started.load(std::memory_order_acquire)) {
    }
  }
  [[nodiscard]] double taken() const { return microseconds{start - offered}.count(); }
};

/// Keeps the thread busy without sleeping.
void busy_for(std::chrono::microseconds time) {
  for (const auto end = clock_type::now() + time; clock_type::now() < end;) {
  }
}

constexpr std::chrono::microseconds between_forks{20};

/// `rounds` hand-overs from within one job, a few microseconds apart.
std::vector<double> measure_sluice(sluice::executor& pool, unsigned rounds) {
  std::vector<double> taken;
  std::latch done{1};
  function_job all{[&](sluice::worker& here) {
    for (unsigned i = 0; i < rounds; ++i) {
      handover h;
      std::atomic<bool> left{false};
      function_job second{[&](sluice::worker&) {
        h.begin_second();
        left.store(true, std::memory_order_release);
      }};
      h.offered = clock_type::now();
      here.offer(second);
      h.stay_busy();
      while (!left.load(std::memory_order_acquire)) {
      }
      taken.push_back(h.taken());
      busy_for(between_forks);
    }
    done.count_down();
  }};
  pool.submit(all);
  done.wait();
  return taken;
}

#if defined(SLUICE_BENCH_TBB)
namespace tbb = oneapi::tbb;

std::vector<double> measure_task_group(unsigned rounds) {
  std::vector<double> taken;
  tbb::task_group outer;
  outer.run_and_wait([&] {
    for (unsigned i = 0; i < rounds; ++i) {
      handover h;
      tbb::task_group group;
      h.offered = clock_type::now();
      group.run([&] { h.begin_second(); });
      h.stay_busy();
      group.wait();
      taken.push_back(h.taken());
      busy_for(between_forks);
    }
  });
  return taken;
}

std::vector<double> measure_flow_graph(unsigned rounds) {
  using namespace tbb::flow;
  std::vector<double> taken;
  graph g;
  handover* current = nullptr;
  function_node<int> second{g, unlimited, [&](int) { current->begin_second(); }};
  function_node<int> first{g, serial, [&](int) {
                             for (unsigned i = 0; i < rounds; ++i) {
                               handover h;
                               current = &h;
                               h.offered = clock_type::now();
                               second.try_put(0);
                               h.stay_busy();
                               taken.push_back(h.taken());
                               busy_for(between_forks);
                             }
                           }};
  first.try_put(0);
  g.wait_for_all();
  return taken;
}
#endif

struct contender {
  std::string name;
  std::function<std::vector<double>(unsigned)> measure;
  std::vector<double> taken{};

  [[nodiscard]] double percentile(double part) const {
    return taken[std::min(taken.size() - 1,
                          static_cast<std::size_t>(part * static_cast<double>(taken.size())))];
  }
};

void write_json(const std::string& file, const std::vector<contender>& contenders) {
  std::ofstream out{file};
  out << '[';
  for (std::size_t i = 0; i < contenders.size(); ++i)
    out << (i ? ",\n " : "") << R"({"system": ")" << contenders[i].name << R"(", "samples": )"
        << contenders[i].taken.size() << R"(, "p50_us": )" << contenders[i].percentile(0.5)
        << R"(, "p99_us": )" << contenders[i].percentile(0.99) << '}';
  out << "]\n";
  if (!out.flush()) {
    std::cerr << "bench_wake: cannot write '" << file << "'\n";
    std::exit(1);
  }
}

} // namespace

int main(int argc, char** argv) {
  unsigned rounds = 2000;
  std::string json;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (i + 1 < argc && option == "--rounds" && std::atoi(argv[i + 1]) > 0) {
      rounds = static_cast<unsigned>(std::atoi(argv[++i]));
    } else if (i + 1 < argc && option == "--json") {
      json = argv[++i];
    } else {
      std::cerr << "usage: bench_wake [--rounds N] [--json FILE]\n";
      return 2;
    }
  }

  sluice::cpu_threads threads{2};
  const auto pool = threads.default_pool();
  std::vector<contender> contenders;
  contenders.push_back({"sluice, a worker spins", [&](unsigned n) {
                          pool->begin_burst();
                          auto taken = measure_sluice(*pool, n);
                          pool->end_burst();
                          return taken;
                        }});
  contenders.push_back({"sluice, all parked", [&](unsigned n) { return measure_sluice(*pool, n); }});
#if defined(SLUICE_BENCH_TBB)
  const tbb::global_control two_threads{tbb::global_control::max_allowed_parallelism, 2};
  contenders.push_back({"oneTBB task_group", measure_task_group});
  contenders.push_back({"oneTBB flow graph", measure_flow_graph});
#else
  std::puts("oneTBB is not installed: left out");
#endif

  // Alternating, so that what else the machine does hits all of them.
  constexpr unsigned turns = 10;
  constexpr unsigned warm_up = 10; // the first hand-overs of a turn find everybody asleep
  for (unsigned turn = 0; turn < turns; ++turn)
    for (auto& c : contenders) {
      const auto taken = c.measure(warm_up + std::max(1U, rounds / turns));
      c.taken.insert(c.taken.end(), taken.begin() + warm_up, taken.end());
    }

  std::puts("from the offer of a second branch to its start on another thread");
  for (auto& c : contenders) {
    std::sort(c.taken.begin(), c.taken.end());
    std::printf("%-24s  median %8.2f us   p99 %8.2f us   ratio to the first %6.2f, %6.2f\n", c.name.c_str(),
                c.percentile(0.5), c.percentile(0.99), c.percentile(0.5) / contenders[0].percentile(0.5),
                c.percentile(0.99) / contenders[0].percentile(0.99));
  }
  if (!json.empty())
    write_json(json, contenders);
}
