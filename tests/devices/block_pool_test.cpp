#include <sluice/devices/block_pool.hpp>
#include <sluice/graph/error.hpp>

#include <boost/test/unit_test.hpp>

#include <tests/support/says.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::size_t small = 4096, large = std::size_t{4} << 20;

struct fixture {
  std::shared_ptr<memory_ledger> ledger = memory_ledger::make("cpu:0", 2 * large);
  block_pool pool{ledger};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(block_pool_test, fixture)

BOOST_AUTO_TEST_CASE(a_block_that_was_given_serves_who_needs_as_many_bytes) {
  for (const auto bytes : {small, large}) {
    memory_block made{bytes};
    auto* const at = made.data();
    std::fill_n(at, bytes, std::byte{7});
    pool.give(std::move(made));
    BOOST_TEST(ledger->in_use(memory_use::cached) == bytes);
    BOOST_TEST(ledger->in_use() == 0u);
    BOOST_TEST(pool.take(bytes + 64).data() == nullptr);
    const auto again = pool.take(bytes);
    BOOST_TEST(again.data() == at);
    BOOST_TEST(ledger->in_use(memory_use::cached) == 0u);
    BOOST_TEST(pool.take(bytes).data() == nullptr);
  }
}

BOOST_AUTO_TEST_CASE(kept_blocks_make_room_for_a_lease) {
  pool.give(memory_block{large});
  pool.give(memory_block{small});
  memory_lease lease;
  BOOST_TEST((ledger->try_lease(2 * large, memory_use::frames, lease) == lease_outcome::granted));
  BOOST_TEST(ledger->in_use(memory_use::cached) == 0u);
  BOOST_TEST(ledger->peak() <= ledger->budget());
  pool.give(memory_block{large}); // there is no room to keep it
  BOOST_TEST(pool.take(large).data() == nullptr);
}

BOOST_AUTO_TEST_CASE(a_block_that_nobody_needed_for_long_is_freed) {
  pool.give(memory_block{large});
  for (std::uint64_t i = 0; i + 1 < block_pool::patience; ++i) {
    auto used = pool.take(small);
    pool.give(used.data() ? std::move(used) : memory_block{small});
  }
  BOOST_TEST(ledger->in_use(memory_use::cached) == large + small);
  pool.give(pool.take(small));
  BOOST_TEST(ledger->in_use(memory_use::cached) == small);
  BOOST_TEST(pool.trim());
  BOOST_TEST(!pool.trim());
  BOOST_TEST(ledger->in_use(memory_use::cached) == 0u);
}

BOOST_AUTO_TEST_CASE(more_than_the_system_has_is_refused) {
  BOOST_CHECK_EXCEPTION(memory_block{std::size_t{1} << 62}, error, says(errc::out_of_memory));
}

BOOST_AUTO_TEST_SUITE_END()
