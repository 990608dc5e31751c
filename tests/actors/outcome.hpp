#pragma once

#include <sluice/actors/run_state.hpp>

#include <optional>
#include <string>
#include <utility>

namespace sluice::test {

/// What became of a run, without waiting: each has one outcome.
struct outcome {
  int count = 0;
  std::optional<values> results;
  std::optional<errc> code;
  std::string what;
};

/// `o` lives until the run is answered.
inline void watch(outcome& o, pending_result r) {
  r.then(
      [&o](values v) {
        ++o.count;
        o.results = std::move(v);
      },
      [&o](const error& e) {
        ++o.count;
        o.code = e.code();
        o.what = e.what();
      });
}

} // namespace sluice::test
