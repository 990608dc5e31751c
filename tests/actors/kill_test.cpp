#include "branching_graph.hpp"
#include "stepped_engine.hpp"

#include <sluice/actors/handles.hpp>
#include <sluice/actors/messages.hpp>
#include <sluice/actors/session_core.hpp>

#include <caf/all.hpp>

#include <boost/test/unit_test.hpp>

#include <future>

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

/// A frame that has or has not fired the node when it is killed.
struct frame_watch {
  bool fired = false;
  int outcomes = 0;
  std::optional<float> y;
  std::optional<errc> code;
  std::string what;
};

/// x → first → middle → last → y, and x → beside → z. Fires are noted by the frame's x.
struct chain {
  chain(const engine& e, std::vector<frame_watch>& frames) {
    auto g = e.builder();
    const auto x = g.placeholder("x", scalar);
    const auto pass = [](std::span<value> in, std::span<value> out) { out[0] = in[0]; };
    const auto first = g.function("first", {x}, {scalar}, {pass})[0];
    const auto middle =
        g.function("middle", {first}, {scalar}, {[&frames](std::span<value> in, std::span<value> out) {
                     frames[static_cast<std::size_t>(number(in[0]))].fired = true;
                     out[0] = in[0];
                   }})[0];
    g.output("y", g.function("last", {middle}, {scalar}, {pass})[0]);
    g.output("z", g.function("beside", {x}, {scalar}, {pass})[0]);
    model = g.build("chain");
  }
  std::shared_ptr<const graph> model;
};

void watch(frame_watch& w, pending_result r) {
  r.then(
      [&w](values v) {
        ++w.outcomes;
        w.y = number(v.at(0));
      },
      [&w](const error& e) {
        ++w.outcomes;
        w.code = e.code();
        w.what = e.what();
      });
}

/// Counts the DOWN messages of an actor.
caf::behavior mourner(caf::event_based_actor* self, const caf::actor& of, std::shared_ptr<int> downs) {
  self->monitor(of);
  self->set_down_handler([downs](const caf::down_msg&) { ++*downs; });
  return {[](int) {}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(kill_test)

BOOST_AUTO_TEST_CASE(exactly_the_frames_that_have_yet_to_fire_a_killed_node_fail) {
  int failed = 0;
  int succeeded = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<frame_watch> frames(8);
    stepped_engine e{seed};
    const chain c{*e, frames};
    auto s = e->load(c.model, {.window = 4});
    e.settle();
    static_cast<void>(s.run_async({{"x", 7.f}}));
    static_cast<void>(s.run_async({{"x", 7.f}}, {.fetch = {"z"}}));
    e.settle();
    frames[7] = {};

    const auto downs = std::make_shared<int>(0);
    const auto victim = node_of(s, "middle");
    const auto witness = e->system().spawn(mourner, victim, downs);
    e.settle();
    for (std::size_t i = 0; i < 6; ++i)
      watch(frames[i], s.run_async({{"x", static_cast<float>(i)}}));
    watch(frames[6], s.run_async({{"x", 6.f}}, {.fetch = {"z"}}));
    for (std::uint64_t i = 0; i < 6 + seed / 2; ++i)
      static_cast<void>(e.step());
    // Frames that are in the queue still, or have no need of the node, are not affected.
    const auto in_flight = s.core()->in_flight();
    const auto before = frames;
    std::size_t done = 0;
    for (const auto& f : before)
      done += f.outcomes > 0 ? 1 : 0;
    caf::anon_send_exit(victim, caf::exit_reason::kill);
    e.settle();

    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(*downs == 1);
      for (std::size_t i = 0; i < 7; ++i) {
        BOOST_TEST(frames[i].outcomes == 1);
        const auto was_in_flight = i < done + in_flight; // they are admitted in order
        if (i < 6 && was_in_flight && !before[i].fired && before[i].outcomes == 0) {
          BOOST_TEST((frames[i].code == errc::node_down));
          BOOST_TEST(frames[i].what.find("'middle'") != std::string::npos, frames[i].what);
          BOOST_TEST(!frames[i].fired);
          ++failed;
        } else {
          BOOST_TEST(frames[i].y.value_or(-1) == static_cast<float>(i));
          ++succeeded;
        }
      }
      frame_watch later;
      watch(later, s.run_async({{"x", 7.f}}));
      e.settle();
      BOOST_TEST(later.y.value_or(-1) == 7);
      BOOST_TEST(s.core()->at_rest());
      BOOST_TEST((node_of(s, "middle") != victim));
    }
    caf::anon_send_exit(witness, caf::exit_reason::user_shutdown);
  }
  BOOST_TEST(failed > 40);
  BOOST_TEST(succeeded > 40);
}

BOOST_AUTO_TEST_CASE(a_dead_handle_stays_dead_and_answers_so) {
  engine e;
  std::vector<frame_watch> frames(8);
  auto s = e.load(chain{e, frames}.model);
  const auto victim = node_of(s, "middle");
  caf::anon_send_exit(victim, caf::exit_reason::kill);
  BOOST_TEST(number(s.run({{"x", 1.f}})["y"]) == 1);
  caf::scoped_actor self{e.system()};
  self->request(victim, caf::infinite, token{1, 0, number(1)})
      .receive([] { BOOST_ERROR("a dead node took a token"); },
               [](const caf::error& why) { BOOST_TEST(!!why); });
  self->monitor(victim);
  self->receive([&](const caf::down_msg& down) { BOOST_TEST((down.source == victim.address())); });
}

BOOST_AUTO_TEST_CASE(a_node_killed_twice_or_by_its_old_handle_is_replaced_once) {
  stepped_engine e{1};
  std::vector<frame_watch> frames(8);
  auto s = e->load(chain{*e, frames}.model);
  e.settle();
  const auto victim = node_of(s, "middle");
  for (int i = 0; i < 3; ++i)
    caf::anon_send_exit(victim, caf::exit_reason::kill);
  e.settle();
  const auto successor = node_of(s, "middle");
  BOOST_TEST((successor != victim));
  watch(frames[0], s.run_async({{"x", 0.f}}));
  for (int i = 0; i < 3; ++i)
    static_cast<void>(e.step());
  caf::anon_send_exit(victim, caf::exit_reason::kill); // it is dead: nobody is affected
  e.settle();
  BOOST_TEST((node_of(s, "middle") == successor));
  BOOST_TEST(frames[0].y.value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(a_linked_actor_that_ends_normally_does_not_take_the_node_along_one_that_fails_does) {
  engine e;
  std::vector<frame_watch> frames(8);
  auto s = e.load(chain{e, frames}.model);
  const auto node = node_of(s, "first");
  const auto link_and_quit = [&](const caf::error& reason) {
    caf::scoped_actor self{e.system()};
    const auto linked = e.system().spawn([node, reason](caf::event_based_actor* me) -> caf::behavior {
      me->link_to(node);
      return {[me, reason](int) { me->quit(reason); }};
    });
    self->monitor(linked);
    self->send(linked, 1);
    self->receive([](const caf::down_msg&) {});
  };
  link_and_quit(caf::exit_reason::normal);
  BOOST_TEST(number(s.run({{"x", 1.f}})["y"]) == 1);
  BOOST_TEST((node_of(s, "first") == node));
  caf::scoped_actor self{e.system()};
  self->monitor(node);
  link_and_quit(caf::exit_reason::kill);
  self->receive(
      [](const caf::down_msg&) {}); // who monitors the linked actor may hear of it sooner than the node
  BOOST_TEST(number(s.run({{"x", 2.f}})["y"]) == 2);
  BOOST_TEST((node_of(s, "first") != node));
}

BOOST_AUTO_TEST_CASE(a_node_of_a_body_is_killed_and_replaced_like_any_other) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    stepped_engine e{seed};
    const branching_graph graph{*e, std::make_shared<node_hook>()};
    auto s = e->load(graph.model);
    e.settle();
    frame_watch first;
    watch(first, s.run_async({{"x", -1.f}}));
    e.settle();
    frame_watch hit;
    watch(hit, s.run_async({{"x", 1.f}}));
    for (int i = 0; i < 4; ++i)
      static_cast<void>(e.step());
    caf::anon_send_exit(node_of(s, "loop/both"), caf::exit_reason::kill);
    frame_watch next;
    watch(next, s.run_async({{"x", 2.f}}));
    e.settle();
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST((hit.code == errc::node_down));
      BOOST_TEST(hit.what.find("'both'") != std::string::npos, hit.what);
      BOOST_TEST(next.outcomes == 1);
      BOOST_TEST(next.y.has_value());
      BOOST_TEST(s.core()->at_rest());
    }
  }
}

BOOST_AUTO_TEST_CASE(under_load_every_frame_has_one_outcome_however_often_nodes_are_killed) {
  engine e;
  const branching_graph graph{e, std::make_shared<node_hook>()};
  auto s = e.load(graph.model, {.window = 4});
  static_cast<void>(s.run({{"x", -1.f}}));
  std::atomic<int> outcomes = 0;
  std::atomic<int> down = 0;
  std::atomic<int> other = 0;
  constexpr int frames = 600;
  const auto& names = branching_graph::nodes();
  for (int i = 0; i < frames; ++i) {
    s.run_async({{"x", 1.f}})
        .then([&](const values&) { ++outcomes; },
              [&](const error& why) {
                ++(why.code() == errc::node_down ? down : other);
                ++outcomes;
              });
    if (i % 20 == 19)
      caf::anon_send_exit(node_of(s, names[static_cast<std::size_t>(i / 20) % names.size()]),
                          caf::exit_reason::kill);
  }
  static_cast<void>(s.run({{"x", 1.f}}));
  s.close();
  while (outcomes < frames) // the last callbacks may still be under way
    std::this_thread::yield();
  BOOST_TEST(outcomes == frames);
  BOOST_TEST(other == 0);
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(killing_the_session_actor_closes_the_session) {
  engine e;
  std::vector<frame_watch> frames(8);
  auto s = e.load(chain{e, frames}.model);
  BOOST_TEST(number(s.run({{"x", 1.f}})["y"]) == 1);
  caf::scoped_actor self{e.system()};
  const auto handle = handle_of(s);
  self->monitor(handle);
  self->send_exit(handle, caf::exit_reason::kill);
  self->receive([](const caf::down_msg& down) { BOOST_TEST((down.reason == caf::exit_reason::kill)); });
  BOOST_CHECK_EXCEPTION(s.run({{"x", 1.f}}), error,
                        [](const error& why) { return why.code() == errc::engine_closed; });
  self->monitor(node_of(s, "first"));
  self->receive([](const caf::down_msg&) {});
}

BOOST_AUTO_TEST_SUITE_END()
