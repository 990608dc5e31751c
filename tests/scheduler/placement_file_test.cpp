#include "tests/support/says.hpp"
#include "tests/support/temporary_folder.hpp"

#include <sluice/graph/graph_builder.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/placement_file.hpp>

#include <boost/test/unit_test.hpp>

#include <fstream>

using namespace sluice;
using test::says;

namespace {

/// x -> first -> {left, right} -> sum -> last, and `left` in a scope.
std::shared_ptr<const graph> diamond() {
  graph_builder g{standard_operators()->schemas()};
  const auto x = g.placeholder<float>("x", {2});
  const auto first = g.op("Relu", {x}, {}, "first");
  const auto left = [&] {
    const auto scope = g.on("cpu:1");
    return g.op("Sigmoid", {first}, {}, "left");
  }();
  const auto right = g.op("Tanh", {first}, {}, "right");
  const auto sum = g.op("Add", {left, right}, {}, "sum");
  g.output("y", g.op("Relu", {sum}, {}, "last"));
  return g.build();
}

/// "first=sim:0 last=sim:0": the nodes that got a device.
std::string devices_of(const std::string& rules) {
  const auto g = diamond();
  const auto said = placement_file::parse(R"({"rules": [)" + rules + "]}").apply(*g);
  std::string text;
  for (std::size_t n = 0; n < said.devices.size(); ++n)
    if (!said.devices[n].empty())
      text += (text.empty() ? "" : " ") + g->nodes()[n].name + "=" + said.devices[n];
  return text;
}

auto refused(const std::string& text, test::phrases phrases) {
  BOOST_CHECK_EXCEPTION(placement_file::parse(text, "p.json"), error,
                        says(errc::invalid_argument, std::move(phrases)));
}

} // namespace

BOOST_AUTO_TEST_SUITE(placement_files)

BOOST_AUTO_TEST_CASE(rules_mean_nodes_by_name_operator_and_subgraph) {
  BOOST_TEST(devices_of(R"({"node": "l*t", "device": "sim"})") == "left=sim last=sim");
  BOOST_TEST(devices_of(R"({"op": "Relu", "device": "sim:0"})") == "first=sim:0 left=cpu:1 last=sim:0");
  BOOST_TEST(devices_of(R"({"from": "right", "to": "sum", "device": "sim:0"})") ==
             "left=cpu:1 right=sim:0 sum=sim:0");
  BOOST_TEST(devices_of(R"({"op": "Relu", "node": "?ast", "device": "sim"})") == "left=cpu:1 last=sim");
}

BOOST_AUTO_TEST_CASE(a_graphs_own_scopes_hold_where_no_rule_gives_a_device) {
  BOOST_TEST(devices_of("") == "left=cpu:1");
}

BOOST_AUTO_TEST_CASE(the_first_rule_that_gives_a_device_counts) {
  BOOST_TEST(devices_of(R"({"node": "last", "device": "cpu:0"}, {"node": "*", "device": "sim:0"})") ==
             "first=sim:0 left=sim:0 right=sim:0 sum=sim:0 last=cpu:0");
}

BOOST_AUTO_TEST_CASE(groups_are_given_apart_from_devices_and_rules_that_meet_nothing_are_reported) {
  const auto file = placement_file::parse(R"({"mode": "strict", "rules": [
    {"node": "left", "colocate": "pair"}, {"node": "right", "colocate": "pair"},
    {"op": "Conv", "device": "sim"}, {"node": "left", "device": "cpu:0"}]})");
  BOOST_TEST(file.strict().value());
  const auto g = diamond();
  const auto said = file.apply(*g);
  BOOST_TEST(said.colocations[g->find_node("left")] == "pair");
  BOOST_TEST(said.colocations[g->find_node("right")] == "pair");
  BOOST_TEST(said.colocations[g->find_node("sum")] == "");
  BOOST_TEST(said.devices[g->find_node("left")] == "cpu:0");
  BOOST_TEST(said.idle_rules == std::vector<std::size_t>{3});
}

BOOST_AUTO_TEST_CASE(what_is_no_json_is_refused_with_line_and_column) {
  refused("{\n  \"rules\": [,]\n}", {"p.json", "line 2, column 13"});
  refused("", "p.json");
}

BOOST_AUTO_TEST_CASE(what_a_file_may_not_say_is_refused_by_its_rule) {
  const auto rule = [](const std::string& second, test::phrases phrases) {
    phrases.all.push_back("p.json: rule 2");
    refused(R"({"rules": [{"node": "a", "device": "cpu"}, )" + second + "]}", std::move(phrases));
  };
  rule("7", "no object");
  rule(R"({"nodes": "a", "device": "cpu"})", "'nodes'");
  rule(R"({"node": 3, "device": "cpu"})", "'node'");
  rule(R"({"node": "", "device": "cpu"})", "'node'");
  rule(R"({"device": "cpu"})", "which nodes");
  rule(R"({"node": "a"})", "decides nothing");
  rule(R"({"from": "a", "device": "cpu"})", "alone");
  rule(R"({"node": "a", "device": "CPU"})", "'CPU'");
  refused(R"({"rules": [{"node": "a", "device": "cpu", "device": "sim"}]})", {"p.json", "'device'", "twice"});
  refused("[]", "object");
  refused(R"({"mode": "hard"})", "'mode'");
  refused(R"({"rules": {}})", "'rules'");
  refused(R"({"rule": []})", "'rule'");
}

BOOST_AUTO_TEST_CASE(a_subgraph_that_is_not_there_is_refused_by_its_rule) {
  const auto g = diamond();
  const auto apply = [&](const std::string& rule) {
    return placement_file::parse(R"({"rules": [)" + rule + "]}").apply(*g);
  };
  BOOST_CHECK_EXCEPTION(static_cast<void>(apply(R"({"from": "first", "to": "nobody", "device": "cpu"})")),
                        error, says(errc::invalid_argument, {"rule 1", "'nobody'"}));
  BOOST_CHECK_EXCEPTION(static_cast<void>(apply(R"({"from": "left", "to": "right", "device": "cpu"})")),
                        error, says(errc::invalid_argument, {"rule 1", "no way", "'left'", "'right'"}));
}

BOOST_AUTO_TEST_CASE(a_file_is_read_and_named_in_errors) {
  const test::temporary_folder folder;
  std::ofstream{folder / "good.json"} << R"({"rules": [{"op": "Conv", "device": "sim:0"}]})";
  std::ofstream{folder / "bad.json"} << "{";
  BOOST_TEST(placement_file::read(folder / "good.json").rules().size() == 1);
  BOOST_CHECK_EXCEPTION(placement_file::read(folder / "bad.json"), error,
                        says(errc::invalid_argument, {"bad.json", "line 1"}));
  BOOST_CHECK_EXCEPTION(placement_file::read(folder / "none.json"), error,
                        says(errc::io_failed, "none.json"));
  BOOST_CHECK_EXCEPTION(placement_file::read(folder.path()), error,
                        says(errc::io_failed, folder.path().string()));
}

BOOST_AUTO_TEST_SUITE_END()
