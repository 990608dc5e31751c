#include <sluice/sluice.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <mutex>
#include <set>
#include <thread>

using namespace sluice;
using namespace std::chrono_literals;

namespace {

const value_type scalar{element_type::float32, shape{}};

/// Who ran the nodes of a frame.
struct witnesses {
  std::mutex mutex;
  std::set<std::thread::id> seen;

  /// A function that is heavy enough to be offered to others.
  graph_function busy() {
    return {[this](std::span<value> in, std::span<value> out) {
      const auto end = std::chrono::steady_clock::now() + 50us;
      while (std::chrono::steady_clock::now() < end) {
      }
      {
        const std::lock_guard lock{mutex};
        seen.insert(std::this_thread::get_id());
      }
      out[0] = tensor::of_scalar(in[0].scalar<float>() + 1);
    }};
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(body_thread_test)

BOOST_AUTO_TEST_CASE(a_guest_keeps_its_frame_when_firings_of_a_body_were_offered) {
  witnesses w;
  engine e;
  auto branch = [&] {
    auto g = e.builder();
    const auto x = g.placeholder("x", scalar);
    const auto first = g.function("first", {x}, {scalar}, w.busy())[0];
    const auto second = g.function("second", {x}, {scalar}, w.busy())[0];
    g.output("out", g.add(first, second));
    return g.build();
  };
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  const auto which = g.placeholder("which", {element_type::boolean, shape{}});
  const auto chosen = g.op_outputs("If", {which, x}, {{"then_branch", branch()}, {"else_branch", branch()}},
                                   {.outputs = {"chosen"}, .captures = 1})[0];
  g.output("y", g.function("after", {chosen}, {scalar}, w.busy())[0]);
  auto s = e.load(g.build(), {.inter_op_parallelism_threads = 1});
  // The first frames run on a worker, which may not have left when the next one comes.
  bool was_guest = false;
  for (int i = 0; i < 10'000 && !was_guest; ++i) {
    w.seen.clear();
    BOOST_TEST(s.run({{"x", 1.f}, {"which", tensor::of_scalar(true)}})["y"].scalar<float>() == 5);
    const std::lock_guard lock{w.mutex};
    BOOST_TEST(w.seen.size() == 1u);
    was_guest = i > 3 && w.seen.contains(std::this_thread::get_id());
  }
  BOOST_TEST(was_guest);
}

BOOST_AUTO_TEST_SUITE_END()
