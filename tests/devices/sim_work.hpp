#pragma once

#include <sluice/devices/sim_device.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace sluice::test {

using namespace std::chrono_literals;

/// Work that takes `time` on the host and does `f`.
inline device_work work(std::chrono::nanoseconds time, std::function<void()> f = {},
                        std::vector<event_ptr> after = {}) {
  return {.run =
              [f = std::move(f)](const issue_context&) {
                if (f)
                  f();
              },
          .estimate = time,
          .after = std::move(after)};
}

/// A copy of `bytes` bytes from one place to another, which the caller keeps.
inline device_copy bytes_of(copy_kind kind, void* to, const void* from, std::size_t bytes,
                            std::vector<event_ptr> after = {}) {
  return {.kind = kind, .to = to, .from = from, .bytes = bytes, .after = std::move(after)};
}

/// A device with round figures: a byte takes a nanosecond on the link, after a microsecond.
inline sim_options round_figures() {
  sim_options o;
  o.bandwidth = 1e9;
  o.latency = 1us;
  return o;
}

} // namespace sluice::test
