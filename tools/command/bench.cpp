#include <tools/command/commands.hpp>

#include <tools/console.hpp>
#include <tools/results/destination.hpp>
#include <tools/results/json_report.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>

namespace sluice::tools {

namespace {

using clock = std::chrono::steady_clock;

double microseconds(clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

/// Runs a model again and again and keeps the time of each run.
class measurement {
public:
  measurement(loaded_model& model, const named_values& feeds, const bench_arguments& a)
    : model_(model), feeds_(feeds), arguments_(a),
      line_(a.runs > 0 ? "runs" : measuring_for(a.seconds), a.runs) {}

  bench_result operator()() {
    start_ = clock::now();
    if (arguments_.in_flight > 0)
      keep_in_flight();
    else
      call_from_threads();
    const auto end = clock::now();
    if (failure_)
      std::rethrow_exception(failure_);
    return {.model = arguments_.model,
            .intra_op_threads = model_.intra_op_threads(),
            .inter_op_threads = model_.inter_op_threads(),
            .in_flight = std::max(arguments_.in_flight, arguments_.callers),
            .runs = times_.size(),
            .seconds = std::chrono::duration<double>(end - start_).count(),
            .latency_us = statistics_of(std::move(times_))};
  }

private:
  static std::string measuring_for(double seconds) {
    std::ostringstream text;
    text << "measuring for " << seconds << " s";
    return text.str();
  }

  /// True if one more run is to be made; it is then counted.
  bool one_more() {
    if (stop_.load(std::memory_order_relaxed))
      return false;
    if (arguments_.runs > 0)
      return started_.fetch_add(1) < arguments_.runs;
    return clock::now() - start_ < std::chrono::duration<double>(arguments_.seconds);
  }

  void ended(clock::time_point before, clock::time_point after, std::vector<double>& times) {
    times.push_back(microseconds(after - before));
    line_.set(std::min(started_.load(), arguments_.runs));
  }

  /// The first failure is what people hear of; it ends the measurement.
  void failed(std::exception_ptr why) {
    const std::lock_guard lock{mutex_};
    if (!failure_)
      failure_ = std::move(why);
    stop_ = true;
  }

  void call_from_threads() {
    std::vector<std::vector<double>> times(arguments_.callers);
    const auto call = [&](std::vector<double>& mine) {
      try {
        while (one_more()) {
          const auto before = clock::now();
          static_cast<void>(model_.run(feeds_));
          ended(before, clock::now(), mine);
        }
      } catch (...) {
        failed(std::current_exception());
      }
    };
    {
      std::vector<std::jthread> others;
      for (unsigned i = 1; i < arguments_.callers; ++i)
        others.emplace_back([&, i] { call(times[i]); });
      call(times[0]);
    }
    for (const auto& t : times)
      times_.insert(times_.end(), t.begin(), t.end());
  }

  void keep_in_flight() {
    for (unsigned i = 0; i < arguments_.in_flight; ++i)
      start_one();
    std::unique_lock lock{mutex_};
    all_ended_.wait(lock, [&] { return under_way_ == 0; });
  }

  /// Each run that ends starts its successor.
  void start_one() {
    if (!one_more())
      return;
    {
      const std::lock_guard lock{mutex_};
      ++under_way_;
    }
    model_.start(feeds_, [this, before = clock::now()](std::exception_ptr problem) {
      const auto after = clock::now();
      if (problem) {
        failed(std::move(problem));
      } else {
        const std::lock_guard lock{mutex_};
        ended(before, after, times_);
      }
      start_one();
      const std::lock_guard lock{mutex_};
      if (--under_way_ == 0)
        all_ended_.notify_one();
    });
  }

  loaded_model& model_;
  const named_values& feeds_;
  const bench_arguments& arguments_;
  progress line_;
  clock::time_point start_;
  std::atomic<std::size_t> started_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_; // guards what follows
  std::condition_variable all_ended_;
  unsigned under_way_ = 0;
  std::vector<double> times_;
  std::exception_ptr failure_;
};

void print(const bench_result& r) {
  const auto& l = r.latency_us;
  std::cout << std::fixed << std::setprecision(1) << r.model << ": " << r.runs << " runs in " << r.seconds
            << " s, " << r.in_flight << " at a time: " << static_cast<double>(r.runs) / r.seconds
            << " runs/s\nthreads: " << r.inter_op_threads << " inter-op, " << r.intra_op_threads
            << " intra-op\nlatency in µs: mean " << l.mean << ", least " << l.least << ", p50 " << l.p50
            << ", p90 " << l.p90 << ", p95 " << l.p95 << ", p99 " << l.p99 << ", greatest " << l.greatest
            << '\n';
}

} // namespace

exit_code bench(const bench_arguments& a) {
  if (!a.json.empty() && a.json != "-")
    check_destination(a.json);
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
  model.report();
  if (a.json != "-")
    print(result);
  if (!a.json.empty())
    write_json(a.json, result);
  return exit_code::success;
}

} // namespace sluice::tools
