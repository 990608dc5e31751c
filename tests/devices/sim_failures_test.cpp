#include "sim_work.hpp"

#include <sluice/devices/stepped_executor.hpp>
#include <sluice/graph/error.hpp>
#include <sluice/graph/tensor.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

/// The code of an event's failure; nothing if it went well or is not done.
std::optional<errc> failure_of(const event_ptr& e) {
  try {
    if (const auto failure = e->failure())
      std::rethrow_exception(failure);
  } catch (const error& failure) {
    return failure.code();
  }
  return {};
}

/// Twelve pieces on three streams: copies in, work that needs what two streams made, copies out.
struct several_pieces {
  explicit several_pieces(device& d) {
    for (auto& s : streams)
      s = d.make_stream();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      auto& s = *streams[i];
      add(s.copy(bytes_of(copy_kind::to_device, &there[i], &host[i], 1)));
      add(s.enqueue(counted()));
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      auto& s = *streams[i];
      add(s.enqueue(counted({events[1], events[3]})));
      add(s.copy(bytes_of(copy_kind::to_host, &back[i], &there[i], 1)));
    }
  }

  device_work counted(std::vector<event_ptr> after = {}) {
    return work(
        1us, [runs = runs] { ++*runs; }, std::move(after));
  }
  void add(event_ptr e) {
    const auto number = events.size();
    e->when_done([outcomes = outcomes, number] { ++(*outcomes)[number]; });
    events.push_back(std::move(e));
  }

  std::array<std::unique_ptr<device_stream>, 3> streams;
  std::array<std::byte, 3> host{}, there{}, back{};
  std::vector<event_ptr> events;
  std::shared_ptr<int> runs = std::make_shared<int>(0);
  std::shared_ptr<std::map<std::size_t, int>> outcomes = std::make_shared<std::map<std::size_t, int>>();

  /// How many failed for the loss of the device; each has one outcome.
  [[nodiscard]] std::size_t lost() const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      BOOST_TEST(events[i]->done());
      BOOST_TEST((*outcomes)[i] == 1);
      n += failure_of(events[i]) == errc::device_lost;
    }
    return n;
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(sim_failures_test)

BOOST_AUTO_TEST_CASE(what_work_throws_fails_it_and_what_needs_it_alone) {
  const auto clock = sim_clock::make();
  sim_device d{"sim:0", round_figures(), clock};
  const auto a = d.make_stream(), b = d.make_stream();
  int ran = 0;
  const auto bad = a->enqueue(work(1us, [] { throw error{errc::kernel_failed, "these shapes do not fit"}; }));
  const auto next = a->enqueue(work(1us, [&] { ++ran; }));
  const auto mark = a->record();
  const auto needs = b->enqueue(work(1us, [&] { ++ran; }, {next, bad}));
  const auto needs_that = b->copy(bytes_of(copy_kind::to_host, nullptr, nullptr, 0, {needs}));
  b->wait_for(bad);
  const auto free = b->enqueue(work(1us, [&] { ++ran; }));
  clock->drain();
  BOOST_CHECK_EXCEPTION(bad->get(), error, says(errc::kernel_failed, {"shapes"}));
  BOOST_CHECK_EXCEPTION(needs->get(), error, says(errc::kernel_failed, {"shapes"}));
  BOOST_CHECK_EXCEPTION(needs_that->get(), error, says(errc::kernel_failed, {"shapes"}));
  BOOST_TEST((next->done() && !next->failure()));
  BOOST_TEST((mark->done() && !mark->failure()));
  BOOST_TEST((free->done() && !free->failure()));
  BOOST_TEST(ran == 2);
  BOOST_TEST(!d.loss()->done());
}

BOOST_AUTO_TEST_CASE(the_first_failed_event_in_their_order_counts) {
  const auto clock = sim_clock::make();
  sim_device d{"sim:0", round_figures(), clock};
  const auto a = d.make_stream(), b = d.make_stream();
  const auto late = a->enqueue(work(9us, [] { throw error{errc::kernel_failed, "the late one"}; }));
  const auto early = b->enqueue(work(1us, [] { throw error{errc::kernel_failed, "the early one"}; }));
  const auto needs = b->enqueue(work(1us, {}, {late, early}));
  clock->drain();
  BOOST_CHECK_EXCEPTION(needs->get(), error, says(errc::kernel_failed, {"late"}));
}

BOOST_AUTO_TEST_CASE(each_allocation_can_be_made_to_fail) {
  for (std::uint64_t n = 1; n <= 3; ++n) {
    auto o = round_figures();
    o.failures.allocation = n;
    sim_device d{"sim:0", o, sim_clock::make()};
    std::vector<value> kept;
    for (std::uint64_t i = 1; i <= 3; ++i) {
      const auto allocate = [&] { kept.emplace_back(tensor::make(element_type_of<float>, {4}, d.memory())); };
      if (i == n)
        BOOST_CHECK_EXCEPTION(allocate(), error,
                              says(errc::out_of_memory, {"sim:0", "allocation " + std::to_string(n)}));
      else
        allocate();
    }
    BOOST_TEST(kept.size() == 2U);
    kept.clear();
    BOOST_TEST(d.ledger()->in_use() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(each_kernel_can_be_made_to_fail) {
  for (std::uint64_t n = 1; n <= 6; ++n) {
    auto o = round_figures();
    o.failures.kernel = n;
    const auto clock = sim_clock::make();
    sim_device d{"sim:0", o, clock};
    several_pieces p{d};
    clock->drain();
    BOOST_TEST(p.lost() == 0U);
    const auto failed = std::count_if(p.events.begin(), p.events.end(),
                                      [](const auto& e) { return failure_of(e) == errc::kernel_failed; });
    // The first two are needed by three others.
    BOOST_TEST(failed == (n <= 2 ? 4 : 1));
    BOOST_TEST(*p.runs == 6 - failed);
    BOOST_TEST(!d.loss()->done());
  }
}

BOOST_AUTO_TEST_CASE(a_device_can_be_lost_at_each_piece) {
  for (std::uint64_t n = 1; n <= 12; ++n) {
    auto o = round_figures();
    o.failures.lost_at = n;
    const auto clock = sim_clock::make();
    sim_device d{"sim:0", o, clock};
    several_pieces p{d};
    clock->drain();
    const auto lost = p.lost();
    BOOST_TEST(lost > 0U);
    BOOST_TEST((failure_of(p.events[n - 1]) == errc::device_lost));
    BOOST_CHECK_EXCEPTION(d.loss()->get(), error, says(errc::device_lost, {"sim:0", std::to_string(n)}));
    BOOST_TEST((failure_of(p.streams[0]->enqueue(work(1us))) == errc::device_lost));
    BOOST_TEST((failure_of(p.streams[0]->record()) == errc::device_lost));
    BOOST_TEST((failure_of(d.make_stream()->enqueue(work(1us))) == errc::device_lost));
  }
}

BOOST_AUTO_TEST_CASE(a_loss_in_the_middle_gives_each_piece_one_outcome) {
  // Copies in end at 1.001, 1.002 and 2.002 us, the work behind them a microsecond later, what needs the
  // first two of these at 3.002, 3.002 and 4.002, and copies out at 4.003, 4.004 and 5.004.
  constexpr std::array<std::size_t, 7> lost_after = {12, 12, 10, 7, 4, 1, 0};
  for (int microsecond = 0; microsecond <= 6; ++microsecond) {
    const auto clock = sim_clock::make();
    sim_device d{"sim:0", round_figures(), clock};
    several_pieces p{d};
    int heard = 0;
    d.loss()->when_done([&] { ++heard; });
    clock->advance(std::chrono::microseconds{microsecond});
    d.lose("somebody pulled the plug");
    d.lose("and again");
    const auto lost = p.lost(); // at once, without the clock
    clock->drain();
    BOOST_TEST(p.lost() == lost);
    BOOST_TEST(lost == lost_after[static_cast<std::size_t>(microsecond)]);
    BOOST_TEST(heard == 1);
    BOOST_CHECK_EXCEPTION(d.loss()->get(), error, says(errc::device_lost, {"sim:0", "plug"}));
  }
}

BOOST_AUTO_TEST_CASE(memory_of_a_lost_device_stays_accounted_until_freed) {
  const auto clock = sim_clock::make();
  sim_device d{"sim:0", round_figures(), clock};
  value v = tensor::make(element_type_of<float>, {4}, d.memory());
  const auto in_use = d.ledger()->in_use();
  d.lose("it burns");
  BOOST_CHECK_EXCEPTION(static_cast<void>(d.memory().allocate(1)), error, says(errc::device_lost, {"burns"}));
  BOOST_TEST(d.ledger()->in_use() == in_use);
  v.reset();
  BOOST_TEST(d.ledger()->in_use() == 0U);
}

BOOST_AUTO_TEST_CASE(copies_from_a_lost_device_fail_and_its_peer_lives) {
  const auto clock = sim_clock::make();
  sim_device one{"sim:0", round_figures(), clock}, two{"sim:1", round_figures(), clock};
  std::byte from{}, to{};
  const auto s = two.make_stream();
  auto copy = bytes_of(copy_kind::from_peer, &to, &from, 1);
  copy.peer = &one;
  const auto e = s->copy(copy);
  const auto after = s->enqueue(work(1us));
  clock->advance(500ns);
  one.lose("it is gone");
  clock->drain();
  BOOST_CHECK_EXCEPTION(e->get(), error, says(errc::device_lost, {"sim:0"}));
  BOOST_TEST((after->done() && !after->failure()));
  BOOST_TEST(!two.loss()->done());
}

BOOST_AUTO_TEST_CASE(work_on_another_device_that_needs_a_lost_one_fails_alike) {
  const auto clock = sim_clock::make();
  sim_device one{"sim:0", round_figures(), clock}, two{"sim:1", round_figures(), clock};
  const auto made = one.make_stream()->enqueue(work(5us));
  const auto s = two.make_stream();
  const auto needs = s->enqueue(work(1us, {}, {made}));
  const auto other = s->enqueue(work(1us));
  one.lose("it is gone");
  clock->drain();
  BOOST_TEST((failure_of(needs) == errc::device_lost));
  BOOST_TEST((other->done() && !other->failure()));
}

BOOST_AUTO_TEST_CASE(work_may_lose_its_own_device) {
  const auto clock = sim_clock::make();
  sim_device d{"sim:0", round_figures(), clock};
  const auto s = d.make_stream();
  const auto finds = s->enqueue(work(1us, [&] { d.lose("its answer makes no sense"); }));
  const auto next = s->enqueue(work(1us));
  clock->drain();
  BOOST_TEST((failure_of(finds) == errc::device_lost));
  BOOST_TEST((failure_of(next) == errc::device_lost));
}

BOOST_AUTO_TEST_CASE(closing_a_device_fails_what_has_not_begun_and_lets_go_of_it) {
  const auto clock = sim_clock::make();
  const auto kept = std::make_shared<int>(0);
  std::optional<sim_device> d;
  d.emplace("sim:0", round_figures(), clock);
  const auto s = d->make_stream();
  const auto e = s->enqueue(work(1us, [kept] { ++*kept; }));
  d.reset();
  BOOST_TEST((failure_of(e) == errc::device_lost));
  BOOST_TEST(kept.use_count() == 1);
  BOOST_TEST((failure_of(s->enqueue(work(1us))) == errc::device_lost));
  clock->drain();
  BOOST_TEST(*kept == 0);
}

BOOST_AUTO_TEST_CASE(a_device_whose_threads_have_gone_is_lost) {
  struct gone final : executor {
    void submit(job&) override { throw error{errc::engine_closed, "the threads have gone"}; }
    bool try_guest(job&) override { return false; }
    unsigned concurrency() const noexcept override { return 1; }
  };
  sim_device d{"sim:0", round_figures(), std::make_shared<gone>()};
  BOOST_CHECK_EXCEPTION(d.make_stream()->enqueue(work(1us))->get(), error,
                        says(errc::device_lost, {"sim:0", "threads"}));
}

BOOST_AUTO_TEST_CASE(each_piece_has_one_outcome_in_every_order_of_jobs) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    auto o = round_figures();
    o.failures.lost_at = seed % 13;
    const auto steps = std::make_shared<stepped_executor>(seed);
    std::optional<several_pieces> p;
    {
      sim_device d{"sim:0", o, steps};
      p.emplace(d);
      if (seed % 2 == 0)
        steps->run_all();
      else
        for (std::uint64_t i = 0; i < seed % 11; ++i)
          steps->step();
    } // closes it with jobs waiting
    const auto lost = p->lost();
    if (seed % 2 == 0) // nothing was left to close
      BOOST_TEST((lost == 0) == (seed % 13 == 0));
    steps->run_all();
    BOOST_TEST(p->lost() == lost);
  }
}

BOOST_AUTO_TEST_SUITE_END()
