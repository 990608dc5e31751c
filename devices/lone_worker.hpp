#pragma once

#include <sluice/devices/executor.hpp>

#include <algorithm>

namespace sluice {

/// A worker without helpers: loops run on the calling thread, teams have one member.
class lone_worker : public worker {
public:
  void parallel_for(std::size_t n, std::size_t grain, unsigned,
                    function_ref<void(std::size_t, std::size_t)> body) override {
    grain = std::max<std::size_t>(grain, 1);
    for (std::size_t begin = 0; begin < n; begin += std::min(grain, n - begin))
      body(begin, begin + std::min(grain, n - begin));
  }

  bool try_team(unsigned size, function_ref<void(unsigned, unsigned)> body) override {
    if (size != 1)
      return false;
    body(0, 1);
    return true;
  }

  /// Runs `j` on the calling thread as this worker.
  void run(job& j) noexcept {
    auto* const before = current();
    set_current(this);
    j.run(*this);
    set_current(before);
  }

protected:
  ~lone_worker() = default;
};

} // namespace sluice
