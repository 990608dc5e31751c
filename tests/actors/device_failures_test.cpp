#include "outcome.hpp"
#include "placed_graphs.hpp"
#include "stepped_engine.hpp"

#include <sluice/actors/session_core.hpp>
#include <sluice/graph/error.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>
#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr unsigned frames_each = 6;

engine_options with_devices(const std::string& first) {
  engine_options o;
  o.devices.add_flag(first);
  o.devices.add_flag("sim:1");
  return o;
}

std::vector<std::string> devices() {
  return {"cpu:0", "sim:0", "sim:1"};
}

/// What the graphs give on the host, by graph and frame.
const std::vector<std::vector<values>>& expected() {
  static const auto all = [] {
    engine host;
    std::vector<std::vector<values>> made;
    for (const auto& g : placed_graphs(host, "", "")) {
      auto s = host.load(g.model);
      auto& of_graph = made.emplace_back();
      for (unsigned i = 0; i < frames_each; ++i)
        of_graph.push_back(s.run({{"x", small_matrix(i)}}, {.fetch = g.fetch}));
    }
    return made;
  }();
  return all;
}

bool equal(const values& a, const values& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a.at(i), b.at(i)))
      return false;
  return a.size() == b.size();
}

/// How the runs of one engine ended.
struct tally {
  std::size_t failed = 0;
  std::size_t frames = 0;
  std::map<errc, std::size_t> by_code;
};

/// Runs the frames of graph `which`, some at once, on an engine whose device sim:0 fails as `flag` says. In
/// any case each frame has one outcome, right or an error that names a node, and all bytes are given back.
tally run_with_failure(std::size_t which, const std::string& flag, std::uint64_t seed,
                       session_options options) {
  options.place_by_cost = false; // the graph's scopes say all
  tally t;
  stepped_engine e{seed, with_devices(flag)};
  {
    const auto g = placed_graphs(*e, "sim:0", "sim:1")[which];
    auto s = e->load(g.model, options);
    e.settle();
    std::vector<outcome> outcomes(frames_each);
    for (unsigned i = 0; i < frames_each; ++i) {
      watch(outcomes[i], s.run_async({{"x", small_matrix(i)}}, {.fetch = g.fetch}));
      if (i % 2 == 1)
        e.settle();
    }
    e.settle();
    for (unsigned i = 0; i < frames_each; ++i) {
      const auto& o = outcomes[i];
      BOOST_TEST(o.count == 1, g.name << ", " << flag << ", seed " << seed << ": frame " << i);
      if (o.results)
        BOOST_TEST(equal(*o.results, expected()[which][i]), g.name << ", " << flag << ": frame " << i);
      if (o.code) {
        ++t.failed;
        ++t.by_code[*o.code];
        BOOST_TEST(o.what.find("sim:0") != std::string::npos, o.what);
      }
      ++t.frames;
    }
    BOOST_TEST(s.core()->at_rest());
    while_stepping(e.steps(), [&] { s.close(); });
  }
  e.settle();
  for (const auto& name : devices())
    BOOST_TEST(e->memory_in_use(name) == 0u, flag << ": " << e->memory_report());
  return t;
}

/// Injects a failure at each place in turn until none is left that is met. Returns the frames that ran.
template <class Check>
std::size_t at_every_place(const std::string& kind, std::uint64_t seed, const session_options& options,
                           Check check) {
  std::size_t frames = 0;
  for (std::size_t which = 0; which < expected().size(); ++which) {
    std::size_t without = 0; // failures in a row: places that only weights or nobody met
    for (unsigned place = 1; without < 3; ++place) {
      const auto t = run_with_failure(which, "sim:0=" + kind + '=' + std::to_string(place), seed, options);
      frames += t.frames;
      check(t);
      without = t.failed == 0 ? without + 1 : 0;
    }
  }
  return frames;
}

} // namespace

BOOST_AUTO_TEST_SUITE(device_failures_test)

BOOST_AUTO_TEST_CASE(an_allocation_that_fails_fails_its_frame_alone) {
  std::size_t frames = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    frames += at_every_place("fail_allocation", seed, {}, [](const tally& t) {
      for (const auto& [code, count] : t.by_code)
        BOOST_TEST((code == errc::out_of_memory));
    });
  BOOST_TEST(frames > 0u);
  BOOST_TEST_MESSAGE(frames << " frames");
}

BOOST_AUTO_TEST_CASE(a_kernel_that_fails_fails_its_frame_alone) {
  std::size_t frames = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    frames += at_every_place("fail_kernel", seed, {}, [](const tally& t) {
      BOOST_TEST(t.failed <= 1u);
      for (const auto& [code, count] : t.by_code)
        BOOST_TEST((code == errc::kernel_failed));
    });
  BOOST_TEST_MESSAGE(frames << " frames");
}

BOOST_AUTO_TEST_CASE(a_device_that_is_lost_fails_the_frames_in_flight_and_service_goes_on) {
  std::size_t frames = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    frames += at_every_place("lost_at", seed, {}, [](const tally& t) {
      BOOST_TEST(t.failed <= 2u); // those that ran at once
      for (const auto& [code, count] : t.by_code)
        BOOST_TEST((code == errc::device_lost));
    });
  BOOST_TEST_MESSAGE(frames << " frames");
}

BOOST_AUTO_TEST_CASE(runs_that_may_start_over_outlive_the_loss_of_a_device) {
  std::size_t frames = 0;
  const session_options options{.on_device_loss = device_loss::retry};
  for (std::size_t which = 0; which < expected().size(); ++which)
    for (unsigned place = 1; place <= 60; ++place)
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const auto t = run_with_failure(which, "sim:0=lost_at=" + std::to_string(place), seed, options);
        BOOST_TEST(t.failed == 0u);
        frames += t.frames;
      }
  BOOST_TEST_MESSAGE(frames << " frames");
}

BOOST_AUTO_TEST_SUITE_END()
