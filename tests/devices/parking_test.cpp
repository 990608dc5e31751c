#include "tests/support/explored_atomics.hpp"
#include <sluice/devices/parking.hpp>

#include <boost/test/unit_test.hpp>

#include <new>
#include <stdexcept>

using namespace sluice;
using sluice::test::explored_atomics;
using sluice::test::explorer;

namespace {

using explored_parking = parking<explored_atomics, 3>;

void require(bool holds, const char* what) {
  if (!holds)
    throw std::logic_error(what);
}

/// Workers that take jobs from a counter, as cpu_crew's do, beside other threads that a case defines.
class parking_program : public explorer::program {
public:
  parking_program(unsigned workers, unsigned others, unsigned budget, int polls)
    : places_(budget), highest_budget_(budget), workers_(workers), others_(others), polls_(polls) {}

  unsigned threads() const final { return workers_ + others_; }

  void run(unsigned thread) final { thread < workers_ ? work(thread) : other(thread - workers_); }

  void check_step() final {
    require(places_.held() <= highest_budget_, "more tokens are held than there are");
    require(active_ <= highest_budget_, "more threads are active than there are tokens");
  }

  void check_end() override {
    require(jobs_.load() == 0, "jobs are left while everybody sleeps");
    require(places_.held() == 0, "a token was not given back");
    require(stuck == workers_, "a worker is gone, or somebody else is stuck");
  }

  std::uint64_t noted() const override { return active_; }

protected:
  virtual void other(unsigned number) = 0;
  virtual void answer(explored_parking::call) {}

  void publish(unsigned jobs) {
    for (; jobs > 0; --jobs) {
      jobs_.fetch_add(1);
      places_.notify();
      explorer::at(jobs);
    }
  }

  void notify_if_work() {
    if (jobs_.load() > 0)
      places_.notify();
  }

  int jobs_left() const { return jobs_.load(); }

  void be_guest() {
    if (!places_.try_take())
      return;
    ++active_;
    take_job();
    --active_;
    if (places_.give_back())
      notify_if_work();
  }

  explored_parking places_;
  unsigned highest_budget_;

private:
  bool take_job() {
    for (auto jobs = jobs_.load(); jobs > 0;)
      if (jobs_.compare_exchange_strong(jobs, jobs - 1))
        return true;
    return false;
  }

  void work(unsigned id) {
    for (auto what = places_.arrive(id); what != explored_parking::quit;) {
      explorer::at(what);
      ++active_;
      if (what != explored_parking::look)
        answer(what);
      for (bool first = true; !places_.over_budget() && take_job(); first = false) {
        if (first)
          notify_if_work();
        explorer::at(3);
      }
      if (places_.over_budget())
        notify_if_work();
      explorer::at(explored_parking::none);
      --active_;
      what = places_.idle(id, [polls = polls_]() mutable { return polls-- > 0; });
    }
  }

  const unsigned workers_, others_;
  const int polls_;
  explored_atomics::atomic<int> jobs_{0};
  unsigned active_ = 0;
};

template <class Program, class... Args>
std::size_t explore(Args... args) {
  static_assert(sizeof(Program) <= explorer::storage_size);
  explorer all;
  const auto states = all.explore([&](void* storage) { return new (storage) Program{args...}; });
  BOOST_TEST_MESSAGE(states << " states");
  return states;
}

struct shape {
  unsigned workers, budget, jobs;
  int polls = 0; ///< of a spinning worker before it gives up; 0: none spins
};

/// One thread publishes jobs.
struct producing final : parking_program {
  explicit producing(shape s) : parking_program(s.workers, 1, s.budget, s.polls), jobs(s.jobs) {}
  void other(unsigned) override { publish(jobs); }
  const unsigned jobs;
};

/// Each of some threads publishes a job and then works as a guest, in turn.
struct visiting final : parking_program {
  visiting(shape s, unsigned guests) : parking_program(s.workers, guests, s.budget, s.polls), jobs(s.jobs) {}
  void other(unsigned) override {
    for (unsigned i = 0; i < jobs; ++i) {
      explorer::at(i);
      publish(1);
      be_guest();
    }
  }
  const unsigned jobs;
};

/// One thread publishes jobs while another changes the budget from one to two and back, or the other way
/// round.
struct resizing final : parking_program {
  explicit resizing(shape s)
    : parking_program(s.workers, 2, s.budget, s.polls), jobs(s.jobs), from(s.budget) {
    highest_budget_ = 2;
  }
  void other(unsigned number) override {
    if (number == 0)
      publish(jobs);
    else
      for (const unsigned budget : {3 - from, from}) {
        if (places_.set_budget(budget))
          notify_if_work();
        explorer::at(budget);
      }
  }
  const unsigned jobs, from;
};

/// One thread publishes jobs while another sends idle workers on errands, and calls those back that have not
/// begun.
struct claiming final : parking_program {
  claiming(shape s, unsigned at_least, unsigned at_most)
    : parking_program(s.workers, 2, s.budget, s.polls), jobs(s.jobs), least(at_least), most(at_most) {}
  void other(unsigned number) override {
    if (number == 0) {
      publish(jobs);
      return;
    }
    std::uint16_t ids[2];
    claimed = places_.claim(least, most, ids);
    for (unsigned i = 0; i < claimed; ++i)
      places_.send(ids[i], an_errand);
    for (unsigned i = 0; i < claimed; ++i)
      if (places_.revoke(ids[i], an_errand))
        ++revoked;
  }
  void answer(explored_parking::call what) override {
    if (what == an_errand)
      ++answered;
  }
  void check_end() override {
    parking_program::check_end();
    require(claimed == 0 || (claimed >= least && claimed <= most),
            "another number than asked for was claimed");
    require(answered + revoked == claimed, "an errand was neither done once nor revoked");
  }
  std::uint64_t noted() const override {
    return parking_program::noted() | claimed << 4 | revoked << 8 | answered << 12;
  }
  static constexpr explored_parking::call an_errand = 4711;
  const unsigned jobs, least, most;
  unsigned claimed = 0, revoked = 0, answered = 0;
};

/// Publishes jobs, then stops the workers.
struct stopping final : parking_program {
  explicit stopping(shape s) : parking_program(s.workers, 1, s.budget, s.polls), jobs(s.jobs) {}
  void other(unsigned) override {
    publish(jobs);
    places_.stop();
  }
  void check_end() override {
    require(jobs_left() == 0, "jobs are left when all are gone");
    require(stuck == 0, "a worker did not leave");
    require(places_.held() == 0, "a token was not given back");
  }
  const unsigned jobs;
};

} // namespace

BOOST_AUTO_TEST_SUITE(parking_test, *boost::unit_test::enable_if<explorer::supported>())

BOOST_AUTO_TEST_CASE(no_interleaving_leaves_a_job_to_a_sleeping_worker) {
  BOOST_TEST(explore<producing>(shape{1, 1, 4}) > 100);
  BOOST_TEST(explore<producing>(shape{2, 1, 1}) > 100);
  BOOST_TEST(explore<producing>(shape{2, 2, 1}) > 100);
}

BOOST_AUTO_TEST_CASE(no_interleaving_loses_a_job_while_a_worker_spins) {
  BOOST_TEST(explore<producing>(shape{1, 2, 3, 2}) > 100);
  BOOST_TEST(explore<producing>(shape{2, 2, 1, 1}) > 100);
}

BOOST_AUTO_TEST_CASE(no_interleaving_of_guests_and_workers_loses_a_job_or_exceeds_the_budget) {
  BOOST_TEST(explore<visiting>(shape{1, 1, 2}, 1U) > 100);
  BOOST_TEST(explore<visiting>(shape{1, 1, 1}, 2U) > 100);
}

BOOST_AUTO_TEST_CASE(no_interleaving_loses_a_job_while_the_budget_changes) {
  BOOST_TEST(explore<resizing>(shape{1, 1, 2}) > 100);
  BOOST_TEST(explore<resizing>(shape{1, 2, 2}) > 100);
}

BOOST_AUTO_TEST_CASE(a_claimed_worker_does_its_errand_once_or_is_called_back) {
  BOOST_TEST(explore<claiming>(shape{1, 1, 2}, 1U, 1U) > 100);
  BOOST_TEST(explore<claiming>(shape{1, 2, 1, 1}, 1U, 1U) > 100);
}

BOOST_AUTO_TEST_CASE(a_team_gets_all_its_workers_or_none) {
  BOOST_TEST(explore<claiming>(shape{2, 2, 0}, 2U, 2U) > 100);
}

BOOST_AUTO_TEST_CASE(stopping_ends_every_worker) {
  BOOST_TEST(explore<stopping>(shape{1, 1, 2}) > 100);
  BOOST_TEST(explore<stopping>(shape{1, 2, 2, 1}) > 100);
}

BOOST_AUTO_TEST_SUITE_END()
