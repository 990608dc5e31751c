#include <tools/command/commands.hpp>

#include <tools/console.hpp>
#include <tools/results/json_report.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <thread>

namespace sluice::tools {

namespace {

using clock = std::chrono::steady_clock;

double microseconds(clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

/// Runs a model again and again from several threads and keeps the time of each run.
class measurement {
public:
  measurement(loaded_model& model, const named_values& feeds, const bench_arguments& a)
    : model_(model), feeds_(feeds), arguments_(a) {}

  bench_result operator()() {
    std::vector<std::vector<double>> times(arguments_.callers);
    progress line{arguments_.runs > 0 ? "runs" : "ms",
                  arguments_.runs > 0 ? arguments_.runs : milliseconds()};
    const auto start = clock::now();
    {
      std::vector<std::jthread> others;
      for (unsigned i = 1; i < arguments_.callers; ++i)
        others.emplace_back([&, i] { call(start, times[i], nullptr); });
      call(start, times[0], &line);
    }
    const auto end = clock::now();
    if (failure_)
      std::rethrow_exception(failure_);
    std::vector<double> all;
    for (const auto& t : times)
      all.insert(all.end(), t.begin(), t.end());
    return {.model = arguments_.model,
            .callers = arguments_.callers,
            .runs = all.size(),
            .seconds = std::chrono::duration<double>(end - start).count(),
            .latency_us = statistics_of(std::move(all))};
  }

private:
  [[nodiscard]] std::size_t milliseconds() const {
    return static_cast<std::size_t>(arguments_.seconds * 1000);
  }

  void call(clock::time_point start, std::vector<double>& times, progress* line) try {
    const auto end = start + std::chrono::duration<double>(arguments_.seconds);
    while (!stop_.load(std::memory_order_relaxed)) {
      const auto before = clock::now();
      if (arguments_.runs > 0 ? started_.fetch_add(1) >= arguments_.runs : before >= end)
        return;
      static_cast<void>(model_.run(feeds_));
      const auto after = clock::now();
      times.push_back(microseconds(after - before));
      if (line)
        line->set(arguments_.runs > 0 ? started_.load()
                                      : static_cast<std::size_t>(microseconds(after - start) / 1000));
    }
  } catch (...) {
    const std::lock_guard lock{mutex_};
    if (!failure_)
      failure_ = std::current_exception();
    stop_ = true;
  }

  loaded_model& model_;
  const named_values& feeds_;
  const bench_arguments& arguments_;
  std::atomic<std::size_t> started_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

void print(const bench_result& r) {
  const auto& l = r.latency_us;
  std::cout << std::fixed << std::setprecision(1) << r.model << ": " << r.runs << " runs in " << r.seconds
            << " s by " << r.callers << (r.callers == 1 ? " caller" : " callers") << ", "
            << static_cast<double>(r.runs) / r.seconds << " runs/s\nlatency in µs: mean " << l.mean
            << ", least " << l.least << ", p50 " << l.p50 << ", p90 " << l.p90 << ", p95 " << l.p95
            << ", p99 " << l.p99 << ", greatest " << l.greatest << '\n';
}

} // namespace

exit_code bench(const bench_arguments& a) {
  loaded_model model{a.model, a.execution};
  const auto feeds = load_feeds(model.graph(), a.inputs, a.input, missing_input::random);
  {
    progress line{"runs to warm up", a.warm_up};
    for (std::size_t i = 0; i < a.warm_up; ++i) {
      static_cast<void>(model.run(feeds));
      line.set(i + 1);
    }
  }
  const auto result = measurement{model, feeds, a}();
  if (a.json != "-")
    print(result);
  if (!a.json.empty())
    write_json(a.json, result);
  return exit_code::success;
}

} // namespace sluice::tools
