#include <sluice/devices/usable_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <unistd.h>

using namespace sluice;

BOOST_AUTO_TEST_SUITE(usable_memory_test)

BOOST_AUTO_TEST_CASE(it_is_some_and_not_more_than_the_machine_has) {
  const auto limit = usable_memory();
  const auto machine =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  BOOST_TEST(limit.bytes > 0u);
  BOOST_TEST(limit.bytes <= machine);
  BOOST_TEST((limit.from == "the machine") == (limit.bytes == machine));
}

BOOST_AUTO_TEST_SUITE_END()
