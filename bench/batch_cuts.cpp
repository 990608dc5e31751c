// What cutting a large request costs: the digits of examples/digits in one call under budgets of memory,
// against splits that a user might write by hand.

#include <sluice/graph/tensor.hpp>
#include <sluice/sluice.hpp>
#include <sluice/stream/npy.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace sluice;

constexpr const char* model = "examples/digits/digits.onnx";
constexpr std::int64_t pixels = 28 * 28;

/// The sample's digits, over and over.
value images(std::int64_t count) {
  const auto stored = load_npz("examples/digits/sample_digits.npz", "images");
  const auto bytes = stored.tensor().data<std::uint8_t>();
  auto made = tensor::make(element_type::float32, {count, 1, 28, 28});
  const auto to = made->data<float>();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<float>(bytes[i % bytes.size()]) / 255;
  return made;
}

/// A line of /proc/self/status, in bytes.
std::uint64_t status(const std::string& key) {
  std::ifstream file{"/proc/self/status"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ':'))
      return std::stoull(line.substr(key.size() + 1)) * 1024;
  return 0;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::uint64_t digest(const value& scores) {
  std::uint64_t sum = 1469598103934665603U;
  const auto all = scores.tensor().data<float>();
  for (std::size_t at = 0; at < all.size(); at += 10) {
    const auto row = all.subspan(at, 10);
    sum = (sum ^ static_cast<std::uint64_t>(std::max_element(row.begin(), row.end()) - row.begin())) *
          1099511628211U;
  }
  return sum;
}

/// Parts of `items`, `in_flight` of them at once, as a user would write it.
std::uint64_t by_hand(session& s, const value& x, std::int64_t items, std::size_t in_flight) {
  const auto count = x.tensor().shape()[0];
  auto whole = tensor::make(element_type::float32, {count, 10});
  struct flying {
    std::int64_t first;
    pending_result result;
  };
  std::deque<flying> parts;
  const auto take = [&] {
    const auto results = parts.front().result.get();
    const auto from = results["scores"].tensor().data<float>();
    std::copy(from.begin(), from.end(), whole->data<float>().begin() + parts.front().first * 10);
    parts.pop_front();
  };
  for (std::int64_t first = 0; first < count; first += items) {
    if (parts.size() == in_flight)
      take();
    parts.push_back(
        {first, s.run_async({{"image", tensor::rows(x, first, std::min(items, count - first))}})});
  }
  while (!parts.empty())
    take();
  return digest(whole);
}

double best_of(int rounds, const std::function<void()>& f) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

/// In a process of its own, so that its memory is its own.
void cut_by_sluice(const value& x, std::uint64_t need, int share, int rounds) {
  std::fflush(stdout);
  const auto child = fork();
  if (child != 0) {
    int ended = 0;
    waitpid(child, &ended, 0);
    return;
  }
  const auto budget = static_cast<std::size_t>(need / static_cast<std::uint64_t>(share));
  engine e{{.memory_budget = {{"cpu:0", budget}}}};
  auto s = e.load(model);
  std::ofstream{"/proc/self/clear_refs"} << 5; // the peak starts here
  const auto before = status("RssAnon");
  double best = 1e9;
  std::uint64_t labels = 0;
  std::string explained;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto y = s.run({{"image", x}});
    best = std::min(best, seconds_since(start));
    labels = digest(y["scores"]);
  }
  const auto output = static_cast<std::uint64_t>(x.tensor().shape()[0]) * 10 * sizeof(float);
  const auto peak = status("VmHWM") - status("RssFile") - status("RssShmem");
  const auto growth = peak > before + output ? peak - before - output : 0;
  const auto explanation = s.explain_cuts();
  std::printf("1/%-4d budget %7.1f MB, ledger's peak %7.1f MB, process +%7.1f MB (%3.0f %% of the budget), "
              "%.2f s, labels %016lx\n",
              share, static_cast<double>(budget) / 1e6, static_cast<double>(s.memory_peak()) / 1e6,
              static_cast<double>(growth) / 1e6,
              100. * static_cast<double>(growth) / static_cast<double>(budget), best,
              static_cast<unsigned long>(labels));
  if (std::getenv("SLUICE_BENCH_EXPLAIN"))
    std::printf("%s", explanation.c_str());
  std::fflush(stdout);
  _exit(0);
}

} // namespace

int main(int argc, char** argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 28'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const auto x = images(count);
  std::uint64_t need = 0;
  {
    // Before any thread of this process lives: children are forked.
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0)
      return 1;
    if (fork() == 0) {
      need = engine{}.load(model).memory_needed({{"image", x}});
      _exit(write(pipe_ends[1], &need, sizeof need) == sizeof need ? 0 : 1);
    }
    if (read(pipe_ends[0], &need, sizeof need) != sizeof need)
      return 1;
    int ended = 0;
    wait(&ended);
  }
  std::printf("%ld images, %.1f MB in one piece\n", static_cast<long>(count),
              static_cast<double>(need) / 1e6);
  for (const auto share : {2, 5, 20, 100})
    cut_by_sluice(x, need, share, rounds);
  engine e;
  auto s = e.load(model);
  double best = 1e9;
  for (const std::int64_t items : {4, 8, 16, 32, 64, 128, 256, 512, 1'400}) {
    std::uint64_t labels = 0;
    std::printf("by hand, parts of %5ld:", static_cast<long>(items));
    for (const std::size_t in_flight : {1, 2, 3}) {
      const auto took = best_of(rounds, [&] { labels = by_hand(s, x, items, in_flight); });
      best = std::min(best, took);
      std::printf(" %zu at once %.2f s", in_flight, took);
    }
    std::printf(", labels %016lx\n", static_cast<unsigned long>(labels));
  }
  std::printf("best by hand: %.2f s\n", best);
}
