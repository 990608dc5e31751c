#include "sim_work.hpp"

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/devices/stepped_executor.hpp>
#include <sluice/graph/error.hpp>
#include <sluice/graph/tensor.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <random>
#include <set>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Plain counters: only the order that streams and events promise keeps them from being raced for.
struct counters {
  std::array<std::uint64_t, 8> of{};
};

/// Enqueues a chain that is spread over the streams of two devices at random, and says how it ended.
std::vector<event_ptr> enqueue_chain(std::vector<device_stream*> streams, std::uint64_t seed, int length,
                                     std::uint64_t& counter) {
  std::mt19937_64 random{seed};
  std::vector<event_ptr> events;
  for (int i = 0; i < length; ++i) {
    auto& s = *streams[random() % streams.size()];
    auto piece = work(std::chrono::nanoseconds{random() % 1'000}, [&counter] { ++counter; });
    if (!events.empty() && random() % 2 == 0)
      piece.after = {events.back()};
    else if (!events.empty())
      s.wait_for(events.back());
    events.push_back(s.enqueue(std::move(piece)));
  }
  return events;
}

/// Four streams with three pieces each of equal length, which note in `order` when they end.
std::vector<std::unique_ptr<device_stream>> four_streams(sim_device& d, std::vector<int>& order) {
  std::vector<std::unique_ptr<device_stream>> streams;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(d.make_stream());
    for (int j = 0; j < 3; ++j)
      streams.back()->enqueue(work(1us, [&order, i, j] { order.push_back(10 * i + j); }));
  }
  return streams;
}

/// The order in which they end.
std::vector<int> order_in_virtual_time(std::uint64_t seed) {
  const auto clock = sim_clock::make(seed);
  sim_device d{"sim:0", round_figures(), clock};
  std::vector<int> order;
  const auto streams = four_streams(d, order);
  clock->drain();
  BOOST_TEST((clock->now() == 3us));
  return order;
}

std::vector<int> order_in_steps(std::uint64_t seed) {
  const auto steps = std::make_shared<stepped_executor>(seed);
  sim_device d{"sim:0", round_figures(), steps};
  std::vector<int> order;
  const auto streams = four_streams(d, order);
  steps->run_all();
  return order;
}

template <class Order>
void a_seed_picks(Order order) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto first = order(seed);
    BOOST_TEST(first == order(seed));
    BOOST_TEST(first.size() == 12U);
    for (int i = 0; i < 4; ++i) // each stream in order
      BOOST_TEST((std::find(first.begin(), first.end(), 10 * i) <
                  std::find(first.begin(), first.end(), 10 * i + 2)));
    orders.insert(first);
  }
  BOOST_TEST(orders.size() > 10U);
}

} // namespace

BOOST_AUTO_TEST_SUITE(sim_stress_test)

BOOST_AUTO_TEST_CASE(a_seed_picks_the_order_of_what_happens_at_the_same_virtual_time) {
  a_seed_picks(order_in_virtual_time);
}

BOOST_AUTO_TEST_CASE(a_seed_picks_the_order_of_stepped_work) {
  a_seed_picks(order_in_steps);
}

BOOST_AUTO_TEST_CASE(chains_over_streams_of_two_devices_keep_their_order_on_threads) {
  cpu_threads threads{3};
  sim_device one{"sim:0", round_figures(), threads.default_pool()};
  sim_device two{"sim:1", round_figures(), threads.default_pool()};
  std::vector<std::unique_ptr<device_stream>> own;
  std::vector<device_stream*> streams;
  for (auto* d : {&one, &two})
    for (int i = 0; i < 4; ++i)
      streams.push_back(own.emplace_back(d->make_stream()).get());
  counters c;
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < 4; ++i)
    callers.emplace_back([&, i] {
      for (const auto& e : enqueue_chain(streams, i + 1, 1'000, c.of[i]))
        e->get();
    });
  for (auto& t : callers)
    t.join();
  for (std::size_t i = 0; i < 4; ++i)
    BOOST_TEST(c.of[i] == 1'000U);
}

BOOST_AUTO_TEST_CASE(copies_and_work_of_many_frames_give_right_results_on_threads) {
  cpu_threads threads{3};
  sim_device d{"sim:0", round_figures(), threads.default_pool()};
  std::vector<std::thread> callers;
  std::atomic<int> right{0};
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&, caller] {
      const auto in = d.make_stream(), compute = d.make_stream(), out = d.make_stream();
      for (int frame = 0; frame < 200; ++frame) {
        const auto number = static_cast<float>(caller * 1'000 + frame);
        const auto feed = tensor::of<float>({2}, {number, number + 1});
        auto x = tensor::make(element_type_of<float>, {2}, d.memory());
        auto result = tensor::make(element_type_of<float>, {2});
        auto copy = bytes_of(copy_kind::to_device, x->raw(), feed->raw(), feed->bytes());
        copy.from_owner = feed;
        copy.to_owner = x;
        const auto there = in->copy(std::move(copy));
        const auto computed = compute->enqueue({.run =
                                                    [x](const issue_context& here) {
                                                      if (!here.thread)
                                                        throw error{errc::kernel_failed, "no thread"};
                                                      for (auto& f : x->data<float>())
                                                        f *= 2;
                                                    },
                                                .after = {there}});
        copy = bytes_of(copy_kind::to_host, result->raw(), x->raw(), x->bytes(), {computed});
        copy.from_owner = std::move(x);
        copy.to_owner = result;
        out->copy(std::move(copy))->get();
        right += result->data<float>()[1] == 2 * (number + 1);
      }
    });
  for (auto& t : callers)
    t.join();
  BOOST_TEST(right == 600);
  BOOST_TEST(d.ledger()->in_use() == 0U);
}

BOOST_AUTO_TEST_CASE(a_loss_among_threads_gives_each_piece_one_outcome) {
  cpu_threads threads{3};
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::array<std::uint64_t, 3> ran{};
    std::atomic<std::size_t> outcomes{0};
    std::atomic<std::size_t> lost{0};
    std::size_t heard = 0;
    {
      auto options = round_figures();
      options.failures.lost_at = round % 2 == 0 ? 0 : 50 * round;
      sim_device d{"sim:0", options, threads.default_pool()};
      d.loss()->when_done([&] { ++heard; });
      std::vector<std::unique_ptr<device_stream>> own;
      std::vector<device_stream*> streams;
      for (int i = 0; i < 6; ++i)
        streams.push_back(own.emplace_back(d.make_stream()).get());
      std::vector<std::thread> callers;
      for (std::size_t i = 0; i < ran.size(); ++i)
        callers.emplace_back([&, i] {
          for (const auto& e : enqueue_chain(streams, round * 10 + i, 200, ran[i]))
            e->when_done([&outcomes, &lost, event = e.get()] {
              ++outcomes;
              lost += event->failure() != nullptr;
            });
        });
      if (round % 4 == 0)
        d.lose("somebody pulled the plug");
      for (auto& t : callers)
        t.join();
    } // closes it, with what is left
    BOOST_TEST(outcomes == 600U);
    BOOST_TEST(heard == 1U);
    BOOST_TEST(ran[0] + ran[1] + ran[2] >=
               600 - lost); // a piece that runs while the device is lost fails, too
  }
}

BOOST_AUTO_TEST_CASE(threads_that_share_a_virtual_clock_all_get_to_their_ends) {
  const auto clock = sim_clock::make();
  sim_device one{"sim:0", round_figures(), clock}, two{"sim:1", round_figures(), clock};
  std::vector<std::unique_ptr<device_stream>> own;
  std::vector<device_stream*> streams;
  for (auto* d : {&one, &two})
    for (int i = 0; i < 2; ++i)
      streams.push_back(own.emplace_back(d->make_stream()).get());
  counters c;
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < 3; ++i)
    callers.emplace_back([&, i] {
      for (const auto& e : enqueue_chain(streams, i + 1, 300, c.of[i]))
        e->get();
    });
  for (auto& t : callers)
    t.join();
  for (std::size_t i = 0; i < 3; ++i)
    BOOST_TEST(c.of[i] == 300U);
}

BOOST_AUTO_TEST_SUITE_END()
