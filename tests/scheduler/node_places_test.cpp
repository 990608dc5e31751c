#include <sluice/graph/graph_builder.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/node_places.hpp>
#include <sluice/scheduler/placement_file.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using test::says;

namespace {

/// x → a → b → c → d, with scopes as given.
std::shared_ptr<const graph> scoped(const std::vector<std::string>& scopes) {
  graph_builder g{standard_operators()->schemas()};
  auto y = g.placeholder<float>("x", {2});
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    if (scopes[i].empty()) {
      y = g.relu(y, name);
      continue;
    }
    const auto scope = g.on(scopes[i]);
    y = g.relu(y, name);
  }
  g.output("y", y);
  return g.build();
}

const std::vector<plan_device> devices{{"cpu:0"}, {"cpu:1"}, {"sim:0", true}, {"sim:1", true}};

using places = std::vector<std::uint32_t>;

} // namespace

BOOST_AUTO_TEST_SUITE(node_places_test)

BOOST_AUTO_TEST_CASE(a_node_goes_where_its_scope_says_and_to_the_host_without_one) {
  const auto made = place_by_scope(*scoped({"sim:1", "", "cpu", "sim"}), devices, nullptr, false);
  BOOST_TEST((made.device == places{3, 0, 0, 2}));
  BOOST_TEST(made.why[0] == "its scope is 'sim:1'");
  BOOST_TEST(made.why[1] == "nothing says where");
}

BOOST_AUTO_TEST_CASE(rules_count_more_than_scopes_and_groups_follow_their_first_member_with_a_scope) {
  const auto rules = placement_file::parse(
      R"({"rules": [{"node": "b", "device": "cpu:1"}, {"node": "?", "colocate": "all"}]})");
  const auto made = place_by_scope(*scoped({"", "sim:0", "", "sim:1"}), devices, &rules, false);
  BOOST_TEST((made.device == places{1, 1, 1, 3}));
  BOOST_TEST(made.why[0] == "colocated with 'b' in group 'all'");
  BOOST_TEST(made.why[1] == "the placement file says 'cpu:1'");
}

BOOST_AUTO_TEST_CASE(of_a_partial_name_the_first_device_that_works_is_taken) {
  auto some_lost = devices;
  some_lost[2].lost = "sim:0 is lost: it fell";
  const auto g = scoped({"sim", "sim:0"});
  const auto made = place_by_scope(*g, some_lost, nullptr, false);
  BOOST_TEST((made.device == places{3, 0}));
  BOOST_TEST(made.why[1] == "its scope is 'sim:0', but sim:0 is lost: it fell");
  BOOST_CHECK_EXCEPTION(place_by_scope(*g, some_lost, nullptr, true), error,
                        says(errc::device_lost, {"'b'", "it fell"}));
}

BOOST_AUTO_TEST_CASE(a_scope_that_names_no_device_here_is_said_or_refused) {
  const auto g = scoped({"cuda:3"});
  const auto made = place_by_scope(*g, devices, nullptr, false);
  BOOST_TEST((made.device == places{0}));
  BOOST_TEST(made.why[0] == "its scope is 'cuda:3', which names no device here");
  BOOST_CHECK_EXCEPTION(place_by_scope(*g, devices, nullptr, true), error,
                        says(errc::invalid_argument, {"'a'", "cuda:3", "sim:1"}));
  BOOST_CHECK_EXCEPTION(place_by_scope(*scoped({"GPU 1"}), devices, nullptr, false), error,
                        says(errc::invalid_argument, {"'a'", "GPU 1"}));
}

BOOST_AUTO_TEST_SUITE_END()
