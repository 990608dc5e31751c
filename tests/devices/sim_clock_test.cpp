#include <sluice/devices/sim_clock.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(sim_clock_test)

BOOST_AUTO_TEST_CASE(things_happen_by_time_and_then_as_scheduled) {
  const auto clock = sim_clock::make();
  std::string order;
  const auto add = [&](auto when, char c) { clock->at(when, [&order, c] { order += c; }); };
  add(2us, 'c');
  add(1us, 'a');
  add(1us, 'b');
  add(2us, 'd');
  clock->drain();
  BOOST_TEST(order == "abcd");
  BOOST_TEST((clock->now() == 2us));
}

BOOST_AUTO_TEST_CASE(time_moves_only_when_told) {
  const auto clock = sim_clock::make();
  int happened = 0;
  clock->after(2us, [&] { ++happened; });
  clock->after(4us, [&] { ++happened; });
  clock->advance(1999ns);
  BOOST_TEST(happened == 0);
  BOOST_TEST((clock->now() == 1999ns));
  clock->advance(1ns);
  BOOST_TEST(happened == 1);
  BOOST_TEST(clock->step());
  BOOST_TEST(happened == 2);
  BOOST_TEST((clock->now() == 4us));
  BOOST_TEST(!clock->step());
  clock->advance(1us);
  BOOST_TEST((clock->now() == 5us));
}

BOOST_AUTO_TEST_CASE(what_is_past_happens_next_and_what_happens_may_schedule_more) {
  const auto clock = sim_clock::make();
  clock->advance(5us);
  std::string times;
  clock->at(1us, [&] {
    times += std::to_string(clock->now().count()) + ' ';
    clock->after(1us, [&] { times += std::to_string(clock->now().count()); });
  });
  clock->drain();
  BOOST_TEST(times == "5000 6000");
}

BOOST_AUTO_TEST_CASE(what_happens_does_not_move_the_clock) {
  const auto clock = sim_clock::make();
  bool refused = false;
  clock->after(1us, [&] {
    BOOST_CHECK_EXCEPTION(clock->drain(), error, says(errc::blocking_call, "clock"));
    refused = true;
  });
  clock->drain();
  BOOST_TEST(refused);
  clock->drain(); // the right to move it was given back
}

BOOST_AUTO_TEST_SUITE_END()
