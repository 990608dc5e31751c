#include "sim_work.hpp"

#include <sluice/devices/stepped_executor.hpp>
#include <sluice/graph/tensor.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

/// A simulated device in virtual time with two streams.
struct two_streams {
  explicit two_streams(const sim_options& options = round_figures()) : device("sim:0", options, clock) {}

  std::shared_ptr<sim_clock> clock = sim_clock::make();
  sim_device device;
  std::unique_ptr<device_stream> a = device.make_stream();
  std::unique_ptr<device_stream> b = device.make_stream();
  std::vector<std::byte> host = std::vector<std::byte>(10'000);
  std::vector<std::byte> there = std::vector<std::byte>(10'000);

  event_ptr in(device_stream& s, std::size_t bytes) {
    return s.copy(bytes_of(copy_kind::to_device, there.data(), host.data(), bytes));
  }
  event_ptr out(device_stream& s, std::size_t bytes) {
    return s.copy(bytes_of(copy_kind::to_host, host.data(), there.data(), bytes));
  }
};

bool is_at(const event_ptr& e, std::chrono::nanoseconds t) {
  return e->done() && !e->failure() && e->time() == t;
}

} // namespace

BOOST_AUTO_TEST_SUITE(sim_device_test)

BOOST_AUTO_TEST_CASE(a_stream_works_in_order_and_takes_the_sum) {
  two_streams t;
  std::string order;
  const auto first = t.a->enqueue(work(3us, [&] { order += '1'; }));
  const auto second = t.a->enqueue(work(2us, [&] { order += '2'; }));
  const auto mark = t.a->record();
  BOOST_TEST(order.empty());
  t.clock->advance(3us);
  BOOST_TEST(is_at(first, 3us));
  BOOST_TEST(!second->done());
  BOOST_TEST(order == "1");
  t.clock->drain();
  BOOST_TEST(order == "12");
  BOOST_TEST(is_at(second, 5us));
  BOOST_TEST(is_at(mark, 5us));
}

BOOST_AUTO_TEST_CASE(a_rate_divides_the_time_of_work) {
  auto options = round_figures();
  options.rate = 4;
  two_streams t{options};
  const auto e = t.a->enqueue(work(10us));
  t.clock->drain();
  BOOST_TEST(is_at(e, 2500ns));
}

BOOST_AUTO_TEST_CASE(time_goes_on_whatever_the_estimates) {
  auto options = round_figures();
  options.rate = std::numeric_limits<double>::min();
  two_streams t{options};
  const auto none = t.a->enqueue(work(-1us));
  const auto endless = t.a->enqueue(work(1us));
  t.clock->advance(-1us);
  BOOST_TEST((t.clock->now() == 0us));
  t.clock->drain();
  BOOST_TEST(is_at(none, 0us));
  BOOST_TEST((endless->time() > 24h && !endless->failure()));
}

BOOST_AUTO_TEST_CASE(streams_work_beside_each_other_up_to_their_number) {
  auto options = round_figures();
  options.streams = 2;
  two_streams t{options};
  const auto c = t.device.make_stream();
  const auto first = t.a->enqueue(work(3us));
  const auto second = t.b->enqueue(work(4us));
  const auto third = c->enqueue(work(2us));
  t.clock->drain();
  BOOST_TEST(is_at(first, 3us));
  BOOST_TEST(is_at(second, 4us));
  BOOST_TEST(is_at(third, 5us)); // after the first had left
}

BOOST_AUTO_TEST_CASE(copies_overlap_with_work) {
  two_streams t;
  const auto computed = t.a->enqueue(work(5us));
  const auto copied = t.in(*t.b, 4'000);
  t.clock->drain();
  BOOST_TEST(is_at(computed, 5us));
  BOOST_TEST(is_at(copied, 5us)); // 1 us of latency, 4 us of bytes
}

BOOST_AUTO_TEST_CASE(a_link_carries_both_ways_at_once) {
  two_streams t;
  const auto there = t.in(*t.a, 4'000);
  const auto back = t.out(*t.b, 4'000);
  t.clock->drain();
  BOOST_TEST(is_at(there, 5us));
  BOOST_TEST(is_at(back, 5us));
}

BOOST_AUTO_TEST_CASE(copies_the_same_way_share_the_link_but_not_the_latency) {
  two_streams t;
  const auto first = t.in(*t.a, 4'000);
  const auto second = t.in(*t.b, 2'000);
  t.clock->drain();
  BOOST_TEST(is_at(first, 5us));
  BOOST_TEST(is_at(second, 7us));
}

BOOST_AUTO_TEST_CASE(one_copy_engine_makes_one_copy_at_a_time) {
  auto options = round_figures();
  options.copy_engines = 1;
  two_streams t{options};
  const auto there = t.in(*t.a, 4'000);
  const auto back = t.out(*t.b, 2'000);
  t.clock->drain();
  BOOST_TEST(is_at(there, 5us));
  BOOST_TEST(is_at(back, 8us));
}

BOOST_AUTO_TEST_CASE(a_copy_on_the_device_takes_its_memory_alone) {
  auto options = round_figures();
  options.memory_bandwidth = 4e9;
  two_streams t{options};
  const auto within = t.a->copy(bytes_of(copy_kind::on_device, t.there.data(), t.host.data(), 4'000));
  const auto over = t.in(*t.b, 1'000);
  t.clock->drain();
  BOOST_TEST(is_at(within, 1us));
  BOOST_TEST(is_at(over, 2us));
}

BOOST_AUTO_TEST_CASE(devices_copy_to_each_other_over_both_links) {
  const auto clock = sim_clock::make();
  auto slow = round_figures();
  slow.bandwidth = 0.5e9;
  sim_device one{"sim:0", round_figures(), clock}, two{"sim:1", slow, clock};
  const auto from = tensor::of<float>({2}, std::vector<float>{1, 2}, one.memory());
  const auto to = tensor::make(element_type_of<float>, {2}, two.memory());
  std::vector<std::byte> bytes(4'000), host(4'000);
  const auto a = one.make_stream(), b = two.make_stream(), c = two.make_stream();
  const auto leaves = a->copy(bytes_of(copy_kind::to_host, host.data(), bytes.data(), 4'000)); // 1..5 us
  auto copy = bytes_of(copy_kind::from_peer, to->raw(), from->raw(), from->bytes());
  copy.peer = &one;
  const auto crosses = b->copy(copy); // there at 2 us, waits for the way out of sim:0, takes 16 ns
  const auto enters = c->copy(bytes_of(copy_kind::to_device, host.data(), bytes.data(), 500)); // 1..2 us
  clock->drain();
  BOOST_TEST(is_at(leaves, 5us));
  BOOST_TEST(is_at(enters, 2us));
  BOOST_TEST(is_at(crosses, 5us + 16ns));
  BOOST_TEST(to->data<float>()[1] == 2);
}

BOOST_AUTO_TEST_CASE(a_long_transfer_between_devices_is_not_overtaken_for_ever) {
  const auto clock = sim_clock::make();
  sim_device one{"sim:0", round_figures(), clock}, two{"sim:1", round_figures(), clock};
  std::vector<std::byte> x(3'000), y(3'000);
  auto options = bytes_of(copy_kind::from_peer, y.data(), x.data(), 1'000);
  options.peer = &one;
  const auto a = one.make_stream(), b = two.make_stream(), c = two.make_stream();
  const auto out = a->copy(bytes_of(copy_kind::to_host, y.data(), x.data(), 3'000)); // 1..4 us
  const auto across = b->copy(options);                                              // from 2 us on
  clock->advance(1500ns);
  const auto late = c->copy(bytes_of(copy_kind::to_device, y.data(), x.data(), 1'000)); // from 2.5 us on
  clock->drain();
  BOOST_TEST(is_at(out, 4us));
  BOOST_TEST(is_at(across, 5us));
  BOOST_TEST(is_at(late, 6us)); // the way into sim:1 was spoken for
}

BOOST_AUTO_TEST_CASE(streams_wait_for_events_of_other_streams_and_devices) {
  two_streams t;
  sim_device other{"sim:1", round_figures(), t.clock};
  const auto c = other.make_stream();
  int x = 0;
  const auto first = t.a->enqueue(work(3us, [&] { x = 1; }));
  t.b->wait_for(first);
  const auto second = t.b->enqueue(work(1us, [&] { x = x * 10 + 2; }));
  const auto third = c->enqueue(work(1us, [&] { x = x * 10 + 3; }, {second, nullptr}));
  t.clock->drain();
  BOOST_TEST(is_at(second, 4us));
  BOOST_TEST(is_at(third, 5us));
  BOOST_TEST(x == 123);
}

BOOST_AUTO_TEST_CASE(results_are_real_and_come_back) {
  two_streams t;
  const auto feed = tensor::of<float>({3}, {1, 2, 3});
  auto x = tensor::make(element_type_of<float>, {3}, t.device.memory());
  auto result = tensor::make(element_type_of<float>, {3});
  t.a->copy(bytes_of(copy_kind::to_device, x->raw(), feed->raw(), feed->bytes()));
  const auto doubled = t.a->enqueue(work(1us, [&] {
    for (auto& f : x->data<float>())
      f *= 2;
  }));
  const auto back = t.b->copy(bytes_of(copy_kind::to_host, result->raw(), x->raw(), x->bytes(), {doubled}));
  back->get(); // moves the clock
  BOOST_TEST(result->data<float>()[2] == 6);
  BOOST_TEST(t.device.now() == t.clock->now());
}

BOOST_AUTO_TEST_CASE(a_copy_keeps_what_it_reads_and_writes) {
  two_streams t;
  auto from = tensor::of<float>({1}, std::vector<float>{7}, t.device.memory());
  auto to = tensor::make(element_type_of<float>, {1});
  auto copy = bytes_of(copy_kind::to_host, to->raw(), from->raw(), 4);
  copy.from_owner = from;
  copy.to_owner = to;
  const auto e = t.a->copy(std::move(copy));
  from.reset();
  BOOST_TEST(t.device.ledger()->in_use() > 0U);
  std::size_t left = 1;
  e->when_done([&] { left = t.device.ledger()->in_use(); });
  t.clock->drain();
  BOOST_TEST(left == 0U); // before anybody hears of the end
  BOOST_TEST(to->data<float>()[0] == 7);
}

BOOST_AUTO_TEST_CASE(an_event_calls_back_once_and_submits_jobs) {
  two_streams t;
  stepped_executor steps{1};
  struct counting final : job {
    void run(worker&) noexcept override { ++runs; }
    int runs = 0;
  } j;
  std::string calls;
  const auto e = t.a->enqueue(work(1us));
  e->when_done([&] { calls += 'a'; });
  e->when_done(steps, j);
  BOOST_TEST(calls.empty());
  t.clock->drain();
  BOOST_TEST(calls == "a");
  e->when_done([&] { calls += 'b'; }); // done already
  BOOST_TEST(calls == "ab");
  BOOST_TEST(steps.run_all() == 1U);
  BOOST_TEST(j.runs == 1);
}

BOOST_AUTO_TEST_CASE(an_end_may_enqueue_more) {
  two_streams t;
  event_ptr next;
  t.a->enqueue(work(1us))->when_done([&] { next = t.a->enqueue(work(2us)); });
  t.clock->drain();
  BOOST_REQUIRE(next);
  BOOST_TEST(is_at(next, 3us));
}

BOOST_AUTO_TEST_CASE(a_wait_that_nothing_ends_is_an_error) {
  two_streams t;
  const auto elsewhere = sim_clock::make();
  sim_device other{"sim:1", round_figures(), elsewhere};
  const auto e = other.make_stream()->enqueue(work(1us));
  const auto waits = t.a->enqueue(work(1us, {}, {e}));
  BOOST_CHECK_EXCEPTION(waits->wait(), error, says(errc::invalid_argument, {"nothing", "event"}));
  elsewhere->drain();
  waits->get();
  BOOST_TEST(waits->done());
}

BOOST_AUTO_TEST_CASE(work_must_not_wait) {
  two_streams t;
  const auto last = t.b->enqueue(work(9us));
  const auto e = t.a->enqueue(work(1us, [&] { last->wait(); }));
  BOOST_CHECK_EXCEPTION(e->get(), error, says(errc::blocking_call, {"clock"}));
}

BOOST_AUTO_TEST_CASE(a_callback_must_not_wait) {
  two_streams t;
  const auto e = t.a->enqueue(work(1us));
  bool refused = false;
  t.device.loss()->when_done([&] {
    BOOST_CHECK_EXCEPTION(e->wait(), error, says(errc::blocking_call, "callback"));
    refused = true;
  });
  t.device.lose("it burns");
  BOOST_TEST(refused);
}

BOOST_AUTO_TEST_CASE(a_worker_must_not_wait) {
  two_streams t;
  stepped_executor steps{1};
  struct waiting final : job {
    void run(worker&) noexcept override {
      try {
        event->wait();
      } catch (const error& e) {
        code = e.code();
      }
    }
    event_ptr event;
    errc code = errc::io_failed;
  } j;
  j.event = t.a->enqueue(work(1us));
  steps.submit(j);
  steps.run_all();
  BOOST_TEST((j.code == errc::blocking_call));
}

BOOST_AUTO_TEST_CASE(a_stream_may_be_dropped_with_work_in_it) {
  two_streams t;
  const auto e = t.a->enqueue(work(1us));
  t.a.reset();
  t.clock->drain();
  BOOST_TEST(is_at(e, 1us));
}

BOOST_AUTO_TEST_CASE(calls_without_sense_are_refused) {
  two_streams t;
  BOOST_CHECK_EXCEPTION(t.a->enqueue({}), error, says(errc::invalid_argument, {"sim:0", "function"}));
  BOOST_CHECK_EXCEPTION(t.a->copy(bytes_of(copy_kind::to_device, nullptr, t.host.data(), 1)), error,
                        says(errc::invalid_argument, {"sim:0", "address"}));
  BOOST_CHECK_EXCEPTION(t.a->copy(bytes_of(copy_kind::from_peer, t.there.data(), t.host.data(), 1)), error,
                        says(errc::invalid_argument, {"sim:0", "peer"}));
  const auto nothing = t.a->copy({});
  t.clock->drain();
  BOOST_TEST(is_at(nothing, 1us)); // no bytes, but the way
}

BOOST_AUTO_TEST_CASE(options_without_sense_are_named) {
  const auto refused = [](auto change, const char* option) {
    auto o = round_figures();
    change(o);
    BOOST_CHECK_EXCEPTION((sim_device{"sim:7", o, sim_clock::make()}), error,
                          says(errc::invalid_argument, {"sim:7", option}));
  };
  refused([](auto& o) { o.rate = 0; }, "rate");
  refused([](auto& o) { o.rate = std::numeric_limits<double>::infinity(); }, "rate");
  refused([](auto& o) { o.bandwidth = -1; }, "bandwidth");
  refused([](auto& o) { o.memory_bandwidth = -1; }, "memory_bandwidth");
  refused([](auto& o) { o.latency = -1ns; }, "latency");
  refused([](auto& o) { o.latency = 25h; }, "latency");
  refused([](auto& o) { o.memory = 0; }, "memory");
  refused([](auto& o) { o.copy_engines = 0; }, "copy_engines");
  refused([](auto& o) { o.streams = 0; }, "streams");
}

BOOST_AUTO_TEST_CASE(a_device_tells_what_it_can_do) {
  auto o = round_figures();
  o.memory = 12'345;
  o.rate = 4;
  o.copy_engines = 3;
  const sim_device d{"sim:2", o, sim_clock::make()};
  BOOST_TEST(d.name() == "sim:2");
  BOOST_TEST(d.capacity().memory == 12'345U);
  BOOST_TEST(d.capacity().rate == 4);
  BOOST_TEST(d.capacity().bandwidth == 1e9);
  BOOST_TEST((d.capacity().latency == 1us));
  BOOST_TEST(d.capacity().copy_engines == 3U);
  BOOST_TEST(d.ledger()->budget() == 12'345U);
  BOOST_TEST(!d.loss()->done());
}

BOOST_AUTO_TEST_CASE(memory_stays_within_its_budget) {
  auto o = round_figures();
  o.memory = 1'000;
  o.staging = 100;
  sim_device d{"sim:0", o, sim_clock::make()};
  auto& m = d.memory();
  auto* const block = m.allocate(600);
  BOOST_CHECK_EXCEPTION(static_cast<void>(m.allocate(401)), error,
                        says(errc::out_of_memory, {"sim:0", "401", "600 of 1000"}));
  auto* const rest = m.allocate(400);
  BOOST_TEST(d.ledger()->in_use() == 1'000U);
  m.deallocate(rest, 400);
  m.deallocate(block, 600);
  BOOST_TEST(d.ledger()->in_use() == 0U);
  BOOST_TEST(d.ledger()->peak() == 1'000U);
  BOOST_CHECK_EXCEPTION(static_cast<void>(d.staging().allocate(101)), error,
                        says(errc::out_of_memory, {"sim:0 staging", "101"}));
  auto* const leased = d.leased_memory().allocate(2'000); // its caller keeps the books
  BOOST_TEST(d.ledger()->in_use() == 0U);
  d.leased_memory().deallocate(leased, 2'000);
}

BOOST_AUTO_TEST_CASE(who_waits_for_bytes_may_take_them_as_they_become_free) {
  auto o = round_figures();
  o.memory = 100;
  sim_device d{"sim:0", o, sim_clock::make()};
  auto& m = d.memory();
  auto* const first = m.allocate(100);
  void* second = nullptr;
  d.ledger()->when_freed([&] { second = m.allocate(100); });
  m.deallocate(first, 100);
  BOOST_REQUIRE(second);
  BOOST_TEST(d.ledger()->in_use() == 100U);
  m.deallocate(second, 100);
}

BOOST_AUTO_TEST_CASE(memory_outlives_its_device) {
  intrusive_ptr<memory> m;
  std::shared_ptr<memory_ledger> ledger;
  value v;
  {
    sim_device d{"sim:0", round_figures(), sim_clock::make()};
    m = &d.memory();
    ledger = d.ledger();
    v = tensor::of<float>({1}, std::vector<float>{3}, d.memory());
  }
  BOOST_TEST(ledger->in_use() > 0U);
  BOOST_TEST(v.scalar<float>() == 3);
  v.reset();
  BOOST_TEST(ledger->in_use() == 0U);
  BOOST_CHECK_EXCEPTION(static_cast<void>(m->allocate(1)), error,
                        says(errc::device_lost, {"sim:0", "closed"}));
}

BOOST_AUTO_TEST_SUITE_END()
