#include <sluice/devices/lone_worker.hpp>
#include <sluice/devices/stepped_executor.hpp>

#include <utility>

namespace sluice {

namespace {

class stepped_worker final : public lone_worker {
public:
  explicit stepped_worker(stepped_executor& home) : home_(home) {}
  void offer(job& j) override { home_.submit(j); }

private:
  stepped_executor& home_;
};

} // namespace

stepped_executor::stepped_executor(std::uint64_t seed) : random_(seed) {}

stepped_executor::~stepped_executor() = default;

void stepped_executor::submit(job& j) {
  const std::lock_guard lock{mutex_};
  jobs_.push_back(&j);
}

bool stepped_executor::step() {
  job* picked = nullptr;
  {
    const std::lock_guard lock{mutex_};
    if (jobs_.empty())
      return false;
    auto& place = jobs_[random_() % jobs_.size()];
    picked = std::exchange(place, jobs_.back());
    jobs_.pop_back();
  }
  stepped_worker here{*this};
  here.run(*picked);
  return true;
}

std::size_t stepped_executor::run_all() {
  std::size_t ran = 0;
  while (step())
    ++ran;
  return ran;
}

std::size_t stepped_executor::waiting() const {
  const std::lock_guard lock{mutex_};
  return jobs_.size();
}

} // namespace sluice
