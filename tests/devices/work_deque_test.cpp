#include "tests/support/explored_atomics.hpp"
#include <sluice/devices/work_deque.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace sluice;
using sluice::test::explored_atomics;
using sluice::test::explorer;

namespace {

constexpr unsigned owner_operations = 4;

/// The owner pushes and pops as the bits of `script` say, each of the thieves steals `steals` times.
struct deque_program final : explorer::program {
  deque_program(unsigned script, unsigned thieves, unsigned steals)
    : script_(script), thieves_(thieves), steals_(steals) {}

  unsigned threads() const override { return 1 + thieves_; }

  void run(unsigned thread) override {
    if (thread)
      for (unsigned i = 0; i < steals_; ++i) {
        explorer::at(i);
        take(deque_.steal().item);
      }
    else
      for (unsigned i = 0; i < owner_operations; ++i) {
        explorer::at(i);
        if (script_ >> i & 1)
          take(deque_.pop());
        else if (!deque_.push(items_[i]))
          ++items_[i].taken; // refused: it goes elsewhere
      }
  }

  void check_step() override {
    for (const auto& each : items_)
      if (each.taken > 1)
        throw std::logic_error("an item was taken twice");
  }

  void check_end() override {
    while (auto* left = deque_.pop())
      take(left);
    for (unsigned i = 0; i < owner_operations; ++i)
      if (items_[i].taken != (script_ >> i & 1 ? 0 : 1))
        throw std::logic_error("an item was lost or taken twice");
  }

  std::uint64_t noted() const override {
    std::uint64_t all = 0;
    for (const auto& each : items_)
      all = all * 4 + static_cast<unsigned>(each.taken);
    return all;
  }

private:
  struct item {
    int taken = 0;
  };

  static void take(item* taken) {
    if (taken)
      ++taken->taken;
  }

  const unsigned script_, thieves_, steals_;
  std::array<item, owner_operations> items_;
  work_deque<item, 2, explored_atomics> deque_;
};

void explore_scripts(unsigned thieves, unsigned steals) {
  std::size_t states = 0;
  for (unsigned script = 0; script < 1U << owner_operations; ++script) {
    BOOST_TEST_CONTEXT("script " << script) {
      explorer all;
      states += all.explore([&](void* storage) {
        return new (storage) deque_program{script, thieves, steals};
      });
    }
  }
  BOOST_TEST_MESSAGE(states << " states");
  BOOST_TEST(states > 1000);
}

} // namespace

static_assert(sizeof(deque_program) <= explorer::storage_size);

BOOST_AUTO_TEST_SUITE(work_deque_test)

BOOST_AUTO_TEST_CASE(the_owner_takes_the_newest_and_thieves_the_oldest) {
  work_deque<int, 4> deque;
  std::array items{0, 1, 2, 3, 4};
  for (auto& item : items)
    BOOST_TEST(deque.push(item) == (&item != &items[4]));
  BOOST_TEST(deque.pop() == &items[3]);
  BOOST_TEST(deque.steal().item == &items[0]);
  BOOST_TEST(deque.steal().item == &items[1]);
  BOOST_TEST(!deque.empty());
  BOOST_TEST(deque.pop() == &items[2]);
  BOOST_TEST(deque.pop() == nullptr);
  BOOST_TEST(deque.steal().item == nullptr);
  BOOST_TEST(deque.empty());
}

BOOST_AUTO_TEST_CASE(a_thief_takes_each_item_once_in_every_interleaving,
                     *boost::unit_test::enable_if<explorer::supported>()) {
  explore_scripts(1, 4);
}

BOOST_AUTO_TEST_CASE(two_thieves_take_each_item_once_in_every_interleaving,
                     *boost::unit_test::enable_if<explorer::supported>()) {
  explore_scripts(2, 4);
}

BOOST_AUTO_TEST_CASE(each_item_is_taken_once_under_contention) {
  constexpr std::size_t count = 200'000;
  std::vector<int> items(count); // written by whoever took one: a race if two did
  work_deque<int, 64> deque;
  std::atomic<std::size_t> taken{0};
  const auto take = [&](int* item) {
    if (item) {
      ++*item;
      taken.fetch_add(1);
    }
  };
  std::vector<std::jthread> thieves;
  for (int i = 0; i < 3; ++i)
    thieves.emplace_back([&] {
      while (taken < count)
        take(deque.steal().item);
    });
  for (std::size_t i = 0; i < count; ++i) {
    while (!deque.push(items[i]))
      take(deque.pop());
    if (i % 3 == 0)
      take(deque.pop());
  }
  while (taken < count)
    take(deque.pop());
  thieves.clear();
  BOOST_TEST((items == std::vector<int>(count, 1)));
}

BOOST_AUTO_TEST_SUITE_END()
