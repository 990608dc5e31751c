#include "gated_graph.hpp"

#include <sluice/actors/handles.hpp>
#include <sluice/actors/messages.hpp>
#include <sluice/actors/session_core.hpp>
#include <sluice/graph/collections.hpp>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <spawn.h>
#include <sys/wait.h>

extern char** environ;

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 60s; // how long a lost answer is waited for

struct networked : caf::actor_system_config {
  networked() {
    load<caf::io::middleman>();
    configure(*this);
  }
};

/// A session of x → a (+1) → b (+10) → y in one actor system, and another system of the same process that
/// talks to it over the loopback interface.
struct loopback {
  loopback() {
    auto g = e.builder();
    const auto x = g.placeholder("x", scalar);
    const auto a = g.function("a", {x}, {scalar}, add_of(1))[0];
    g.output("y", g.function("b", {a}, {scalar}, add_of(10))[0]);
    s.emplace(e.load(g.build("remote")));
  }

  std::uint16_t publish(const caf::actor& what) {
    const auto port = server.middleman().publish(what, 0, "127.0.0.1");
    BOOST_TEST_REQUIRE(!!port);
    return *port;
  }
  caf::actor remote(const caf::actor& what) {
    auto proxy = client.middleman().remote_actor("127.0.0.1", publish(what));
    BOOST_TEST_REQUIRE(!!proxy);
    return *proxy;
  }

  networked server_config, client_config;
  caf::actor_system server{server_config}, client{client_config};
  engine e{server};
  std::optional<session> s;
};

/// The answer to a request: of the expected type, or the text of the error.
template <class Answer, class Request>
std::variant<Answer, std::string> ask(caf::scoped_actor& self, const caf::actor& to, Request r) {
  std::variant<Answer, std::string> outcome;
  self->request(to, patience, std::move(r))
      .receive([&](Answer& a) { outcome = std::move(a); },
               [&](const caf::error& why) { outcome = self->system().render(why); });
  return outcome;
}

template <class Request>
std::string refusal(caf::scoped_actor& self, const caf::actor& to, Request r) {
  std::string text;
  self->request(to, patience, std::move(r))
      .receive([&] { text = "(accepted)"; },
               [&](const caf::error& why) { text = self->system().render(why); });
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  BOOST_TEST_MESSAGE(text);
  return text.find(part) != std::string::npos;
}

float y_of(const std::variant<run_reply, std::string>& answer) {
  if (const auto* text = std::get_if<std::string>(&answer)) {
    BOOST_ERROR(*text);
    return 0;
  }
  const auto& reply = std::get<run_reply>(answer);
  BOOST_TEST_REQUIRE(reply.results.size() == 1u);
  BOOST_TEST(reply.results[0].first == "y");
  return number(reply.results[0].second);
}

/// What a client does with a session and its node `b`, wherever they are.
void talk(caf::scoped_actor& self, const caf::actor& session, const caf::actor& b) {
  BOOST_TEST(y_of(ask<run_reply>(self, session, run_request{{{"x", 1.f}}})) == 12);
  const auto opened = ask<frame_opened>(self, session, open_frame{{}, {"a"}});
  BOOST_TEST_REQUIRE(opened.index() == 0u);
  const auto frame = std::get<frame_opened>(opened).frame;
  self->send(b, token{frame, 0, number(5)});
  BOOST_TEST(y_of(ask<run_reply>(self, session, await_frame{frame})) == 15);
}

} // namespace

BOOST_AUTO_TEST_SUITE(messages_test)

BOOST_FIXTURE_TEST_CASE(a_session_answers_over_the_network, loopback) {
  caf::scoped_actor self{client};
  const auto session = remote(handle_of(*s));
  talk(self, session, remote(node_of(*s, "b")));
  BOOST_TEST(contains(refusal(self, session, run_request{{{"q", 1.f}}}), "inputs are: x"));
  BOOST_TEST(contains(refusal(self, session, await_frame{99}), "not open"));
  BOOST_TEST(contains(refusal(self, session, std::string{"what is this"}), "unexpected"));
  BOOST_TEST(s->core()->at_rest());
}

BOOST_FIXTURE_TEST_CASE(tokens_that_do_not_fit_are_answered_with_an_error_and_change_nothing, loopback) {
  caf::scoped_actor self{client};
  const auto session = remote(handle_of(*s));
  const auto b = remote(node_of(*s, "b"));
  const auto a = remote(node_of(*s, "a"));
  const auto frame = std::get<frame_opened>(ask<frame_opened>(self, session, open_frame{{}, {"a"}})).frame;
  BOOST_TEST(contains(refusal(self, b, token{frame + 1, 0, number(1)}), "takes no tokens"));
  BOOST_TEST(contains(refusal(self, b, token{frame, 1, number(1)}), "no such input"));
  BOOST_TEST(contains(refusal(self, a, token{frame, 0, number(1)}), "not external"));
  BOOST_TEST(contains(refusal(self, b, token{frame, 0, tensor::of_scalar<std::int64_t>(1)}), "float32"));
  BOOST_TEST(contains(refusal(self, b, token{frame, 0, {}}), "float32"));
  BOOST_TEST(contains(refusal(self, b, 42), "unexpected"));
  BOOST_TEST(refusal(self, b, token{frame, 0, number(2)}) == "(accepted)");
  BOOST_TEST(y_of(ask<run_reply>(self, session, await_frame{frame})) == 12);
  BOOST_TEST(contains(refusal(self, b, token{frame, 0, number(3)}), "takes no tokens")); // late
  BOOST_TEST(contains(refusal(self, session, await_frame{frame}), "not open"));
  BOOST_TEST(s->core()->at_rest());
}

BOOST_FIXTURE_TEST_CASE(a_second_token_for_an_input_is_refused, loopback) {
  auto g = e.builder();
  const auto p = g.placeholder("p", scalar);
  const auto q = g.placeholder("q", scalar);
  g.output("y", g.function("both", {p, q}, {scalar}, {[](std::span<value> in, std::span<value> out) {
                             out[0] = number(number(in[0]) - number(in[1]));
                           }})[0]);
  auto two = e.load(g.build());
  caf::scoped_actor self{client};
  const auto session = remote(handle_of(two));
  const auto both = remote(node_of(two, "both"));
  const auto frame =
      std::get<frame_opened>(ask<frame_opened>(self, session, open_frame{{}, {"p", "q"}})).frame;
  self->send(both, token{frame, 1, number(1)});
  BOOST_TEST(contains(refusal(self, both, token{frame, 1, number(7)}), "come already"));
  self->send(both, token{frame, 0, number(9)});
  BOOST_TEST(y_of(ask<run_reply>(self, session, await_frame{frame})) == 8);
  BOOST_TEST(two.core()->at_rest());
}

BOOST_FIXTURE_TEST_CASE(an_opened_frame_whose_tokens_never_come_ends_at_its_deadline, loopback) {
  caf::scoped_actor self{client};
  const auto session = remote(handle_of(*s));
  open_frame open{{}, {"a"}};
  open.deadline = 20ms;
  const auto frame = std::get<frame_opened>(ask<frame_opened>(self, session, open)).frame;
  BOOST_TEST(contains(refusal(self, session, await_frame{frame}), "deadline"));
  open.deadline = 0ms;
  BOOST_TEST(contains(refusal(self, session, open), "deadline"));
  open = {{}, {"nothing"}};
  BOOST_TEST(contains(refusal(self, session, open), "'nothing'"));
  BOOST_TEST(s->core()->at_rest());
}

BOOST_FIXTURE_TEST_CASE(a_token_and_a_deadline_at_once_leave_every_counter_at_its_start, loopback) {
  caf::scoped_actor self{server};
  const auto session = handle_of(*s);
  const auto b = node_of(*s, "b");
  int answered = 0;
  for (int i = 0; i < 200; ++i) {
    open_frame open{{}, {"a"}};
    open.deadline = std::chrono::microseconds{100 + i};
    const auto opened = ask<frame_opened>(self, session, open);
    if (opened.index() == 1) {
      ++answered; // late before it was opened
      continue;
    }
    const auto frame = std::get<frame_opened>(opened).frame;
    self->send(b, token{frame, 0, number(1)});
    const auto outcome = ask<run_reply>(self, session, await_frame{frame});
    answered += outcome.index() == 0 || contains(std::get<std::string>(outcome), "deadline") ? 1 : 0;
  }
  BOOST_TEST(answered == 200);
  s->close();
  BOOST_TEST(s->core()->at_rest());
}

BOOST_FIXTURE_TEST_CASE(a_result_that_cannot_be_sent_is_an_error_reply, loopback) {
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  g.output("y", g.function("boxed", {x}, {value_type{}}, {[](std::span<value>, std::span<value> out) {
                             out[0] = value::make_object<int>(1);
                           }})[0]);
  auto boxed = e.load(g.build());
  caf::scoped_actor self{client};
  BOOST_TEST(contains(refusal(self, remote(handle_of(boxed)), run_request{{{"x", 1.f}}}), "another process"));
}

BOOST_FIXTURE_TEST_CASE(values_of_other_kinds_come_back_as_they_went, loopback) {
  auto g = e.builder();
  const auto x = g.placeholder("x", value_type{});
  g.output("y", g.function("same", {x}, {value_type{}},
                           {[](std::span<value> in, std::span<value> out) { out[0] = in[0]; }})[0]);
  auto same = e.load(g.build());
  caf::scoped_actor self{client};
  const auto session = remote(handle_of(same));
  const auto text = tensor::of<std::string>({2}, {"one", ""});
  for (const value& v : {value{text}, sequence::make({value{text}, number(1)}), optional_value::make({}),
                         dictionary::make({{std::string{"k"}, number(2)}}), value{tensor::of_scalar(true)}}) {
    const auto answer = ask<run_reply>(self, session, run_request{{{"x", v}}});
    BOOST_TEST_REQUIRE(answer.index() == 0u);
    BOOST_TEST(encode(std::get<run_reply>(answer).results.at(0).second) == encode(v));
  }
}

BOOST_FIXTURE_TEST_CASE(a_remote_monitor_hears_of_a_killed_node, loopback) {
  caf::scoped_actor self{client};
  const auto b = remote(node_of(*s, "b"));
  self->monitor(b);
  self->send_exit(b, caf::exit_reason::kill);
  bool down = false;
  self->receive([&](const caf::down_msg& m) { down = m.source == b.address(); },
                caf::after(patience) >> [] {});
  BOOST_TEST(down);
  BOOST_TEST(number(s->run({{"x", 1.f}})["y"]) == 12);
}

BOOST_FIXTURE_TEST_CASE(requests_that_are_under_way_when_the_engine_ends_are_answered, loopback) {
  gated_graph graph{e};
  auto gated = e.load(graph.model, {.window = 1});
  caf::scoped_actor self{client};
  const auto session = remote(handle_of(gated));
  int answers = 0;
  std::vector<caf::response_handle<caf::blocking_actor, caf::message, true>> pending;
  for (int i = 0; i < 3; ++i)
    pending.push_back(self->request(session, patience, run_request{{{"x", 1.f}}}));
  while (gated.core()->in_flight() == 0)
    std::this_thread::yield();
  {
    const std::jthread closer{[&] { gated.close(0ns); }};
    for (auto& p : pending)
      p.receive([&](const run_reply&) { BOOST_ERROR("it was closed"); },
                [&](const caf::error& why) { answers += contains(client.render(why), "closed") ? 1 : 0; });
    graph.open();
  }
  BOOST_TEST(answers == 3);
}

BOOST_FIXTURE_TEST_CASE(another_process_runs_a_session_and_sends_a_token, loopback) {
  setenv("SLUICE_TEST_SESSION", std::to_string(publish(handle_of(*s))).c_str(), 1);
  setenv("SLUICE_TEST_NODE", std::to_string(publish(node_of(*s, "b"))).c_str(), 1);
  std::string program = "/proc/self/exe";
  std::string test = "--run_test=remote_process/talks_to_its_parent";
  std::string quiet = "--log_level=error";
  char* arguments[] = {program.data(), test.data(), quiet.data(), nullptr};
  pid_t child = 0;
  BOOST_TEST_REQUIRE(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) == 0);
  int status = -1;
  BOOST_TEST(waitpid(child, &status, 0) == child);
  BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  BOOST_TEST(s->core()->at_rest());
}

BOOST_AUTO_TEST_SUITE_END()

/// The other process of the test above: not run by itself.
BOOST_AUTO_TEST_SUITE(remote_process, *boost::unit_test::disabled())

BOOST_AUTO_TEST_CASE(talks_to_its_parent) {
  const auto port = [](const char* name) { return static_cast<std::uint16_t>(std::atoi(std::getenv(name))); };
  networked config;
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  const auto session = system.middleman().remote_actor("127.0.0.1", port("SLUICE_TEST_SESSION"));
  const auto node = system.middleman().remote_actor("127.0.0.1", port("SLUICE_TEST_NODE"));
  BOOST_TEST_REQUIRE((session && node));
  talk(self, *session, *node);
}

BOOST_AUTO_TEST_SUITE_END()
