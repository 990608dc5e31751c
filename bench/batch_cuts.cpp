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

/// What one process saw.
struct measured {
  double seconds = 1e9;
  std::uint64_t budget = 0, ledger_peak = 0, growth = 0, labels = 0;
  char explained[2048] = {};
};

/// Runs `f` in a process of its own, whose memory is its own.
template <class F>
measured in_child(F f) {
  int ends[2];
  if (pipe(ends) != 0)
    std::exit(1);
  if (fork() == 0) {
    const measured m = f();
    _exit(write(ends[1], &m, sizeof m) == static_cast<ssize_t>(sizeof m) ? 0 : 1);
  }
  close(ends[1]);
  measured m;
  auto* to = reinterpret_cast<char*>(&m);
  for (std::size_t got = 0; got < sizeof m;) {
    const auto n = read(ends[0], to + got, sizeof m - got);
    if (n <= 0)
      std::exit(1);
    got += static_cast<std::size_t>(n);
  }
  close(ends[0]);
  wait(nullptr);
  return m;
}

measured cut_by_sluice(const value& x, std::uint64_t need, std::uint64_t share) {
  measured m;
  m.budget = need / share;
  engine e{{.memory_budget = {{"cpu:0", static_cast<std::size_t>(m.budget)}}}};
  auto s = e.load(model);
  std::ofstream{"/proc/self/clear_refs"} << 5; // the peak starts here
  const auto before = status("VmRSS");
  const auto start = std::chrono::steady_clock::now();
  const auto y = s.run({{"image", x}});
  m.seconds = seconds_since(start);
  const auto output = y["scores"].tensor().bytes();
  const auto peak = status("VmHWM");
  m.growth = peak > before + output ? peak - before - output : 0;
  m.ledger_peak = s.memory_peak();
  m.labels = digest(y["scores"]);
  s.explain_cuts().copy(m.explained, sizeof m.explained - 1);
  return m;
}

measured cut_by_hand(const value& x, std::int64_t items, std::size_t in_flight) {
  engine e;
  auto s = e.load(model);
  measured m;
  const auto start = std::chrono::steady_clock::now();
  m.labels = by_hand(s, x, items, in_flight);
  m.seconds = seconds_since(start);
  return m;
}

} // namespace

int main(int argc, char** argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 28'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const auto x = images(count);
  const auto need = in_child([&] {
                      measured m;
                      m.budget = engine{}.load(model).memory_needed({{"image", x}});
                      return m;
                    }).budget;
  std::printf("%ld images, %.1f MB in one piece; the best of %d rounds\n", static_cast<long>(count),
              static_cast<double>(need) / 1e6, rounds);
  const std::vector<std::uint64_t> shares{2, 5, 20, 100};
  std::vector<std::pair<std::int64_t, std::size_t>> hands;
  for (const std::int64_t items : {2, 4, 8, 16, 32, 128, 1'024})
    for (const auto in_flight : {std::size_t{1}, std::size_t{2}})
      hands.emplace_back(items, in_flight);
  std::vector<measured> cut(shares.size()), hand(hands.size());
  // In turn, so that what else the machine does meets all alike.
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (const auto m = in_child([&] { return cut_by_sluice(x, need, shares[i]); });
          m.seconds < cut[i].seconds)
        cut[i] = m;
    for (std::size_t i = 0; i < hands.size(); ++i)
      if (const auto m = in_child([&] { return cut_by_hand(x, hands[i].first, hands[i].second); });
          m.seconds < hand[i].seconds)
        hand[i] = m;
  }
  double best = 1e9;
  for (std::size_t i = 0; i < hands.size(); ++i) {
    best = std::min(best, hand[i].seconds);
    std::printf("by hand, parts of %4ld, %zu at once: %.2f s, labels %016lx\n",
                static_cast<long>(hands[i].first), hands[i].second, hand[i].seconds,
                static_cast<unsigned long>(hand[i].labels));
  }
  for (std::size_t i = 0; i < shares.size(); ++i)
    std::printf("1/%-3lu budget %7.1f MB, ledger's peak %6.1f MB, process +%6.1f MB: %.2f s, %.2f of the "
                "best by hand, "
                "labels %016lx\n%s",
                static_cast<unsigned long>(shares[i]), static_cast<double>(cut[i].budget) / 1e6,
                static_cast<double>(cut[i].ledger_peak) / 1e6, static_cast<double>(cut[i].growth) / 1e6,
                cut[i].seconds, cut[i].seconds / best, static_cast<unsigned long>(cut[i].labels),
                cut[i].explained);
}
