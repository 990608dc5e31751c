#include <sluice/devices/cpu_threads.hpp>
#include <sluice/scheduler/caf_scheduler.hpp>

#include <caf/all.hpp>

#include <boost/test/unit_test.hpp>

#include <future>

using namespace sluice;

namespace {

struct fixture {
  fixture() { run_actors_on(config, threads.default_pool()); }
  cpu_threads threads{2};
  caf::actor_system_config config;
};

caf::behavior echo(caf::event_based_actor*) {
  return {[](int x) { return x; }};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(caf_scheduler_test, fixture)

BOOST_AUTO_TEST_CASE(event_based_actors_run_on_the_executor) {
  caf::actor_system system{config};
  BOOST_TEST((executor_of(system) == threads.default_pool()));
  std::promise<std::string> name;
  system.spawn([&name](caf::event_based_actor*) {
    char text[32] = {};
    pthread_getname_np(pthread_self(), text, sizeof text);
    name.set_value(text);
  });
  BOOST_TEST(name.get_future().get().starts_with("sluice-w"));
}

BOOST_AUTO_TEST_CASE(requests_delays_and_detached_actors_work) {
  caf::actor_system system{config};
  const auto plain = system.spawn(echo);
  const auto detached = system.spawn<caf::detached>(echo);
  caf::scoped_actor self{system};
  int sum = 0;
  for (int i = 0; i < 100; ++i)
    for (const auto& to : {plain, detached})
      self->request(to, caf::infinite, i).receive([&](int x) { sum += x; }, [](const caf::error&) {});
  BOOST_TEST(sum == 9900);
  self->delayed_send(self, std::chrono::milliseconds{1}, 7);
  self->receive([&](int x) { BOOST_TEST(x == 7); });
  caf::anon_send_exit(plain, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(detached, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_CASE(a_system_ends_when_its_last_actor_has_gone) {
  for (int i = 0; i < 20; ++i) {
    caf::actor_system system{config};
    for (int k = 0; k < 10; ++k)
      caf::anon_send(system.spawn(echo), k);
  }
  BOOST_TEST(threads.active() <= 2u);
}

BOOST_AUTO_TEST_SUITE_END()
