#include "tests/support/says.hpp"

#include <sluice/devices/device_name.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using test::says;

namespace {

const std::vector<std::string> devices{"cpu:0", "cpu:1", "sim:0", "sim:12"};
using found = std::vector<std::uint32_t>;

} // namespace

BOOST_AUTO_TEST_SUITE(device_names)

BOOST_AUTO_TEST_CASE(a_kind_alone_means_every_device_of_that_kind) {
  BOOST_TEST(match_devices("cpu", devices) == (found{0, 1}));
  BOOST_TEST(match_devices("sim", devices) == (found{2, 3}));
}

BOOST_AUTO_TEST_CASE(a_full_name_means_one_device) {
  BOOST_TEST(match_devices("cpu:1", devices) == found{1});
  BOOST_TEST(match_devices("sim:12", devices) == found{3});
}

BOOST_AUTO_TEST_CASE(the_empty_scope_means_every_device) {
  BOOST_TEST(match_devices("", devices) == (found{0, 1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(a_name_is_written_as_it_is_read) {
  for (const auto* text : {"cpu", "cpu:0", "my_sim2:7"})
    BOOST_TEST(to_string(device_name::parse(text)) == text);
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_here_is_refused_with_a_list_of_those_that_are) {
  BOOST_TEST(find_devices("cuda", devices).empty());
  BOOST_CHECK_EXCEPTION(match_devices("cuda:0", devices), error,
                        says(errc::invalid_argument, {"'cuda:0'", "cpu:0, cpu:1, sim:0, sim:12"}));
  BOOST_CHECK_EXCEPTION(match_devices("sim:1", devices), error, says(errc::invalid_argument, "'sim:1'"));
  BOOST_CHECK_EXCEPTION(match_devices("cpu", {}), error, says(errc::invalid_argument, "there are none"));
}

BOOST_AUTO_TEST_CASE(what_is_no_name_is_refused_and_quoted) {
  for (const auto* text : {":", ":0", "cpu:", "cpu:*", "/cpu:0", "CPU:0", "cpu:-1", "cpu: 1", "cpu:0x1",
                           "cpu:1:2", "0cpu", " cpu", "cpu:99999999999", "*"})
    BOOST_CHECK_EXCEPTION(device_name::parse(text), error,
                          says(errc::invalid_argument, {"'" + std::string{text} + "'", "'cpu:0'"}));
}

BOOST_AUTO_TEST_SUITE_END()
