#pragma once

#include <sluice/actors/executable.hpp>
#include <sluice/actors/run_state.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// The call that was resolved last, to recognise one like it without looking anything up. No threads: the
/// session calls it under its lock.
class recent_call {
public:
  /// If a call is like that one: gives `r` its plan and the inputs in the plan's order.
  [[nodiscard]] bool resolve(feeds& inputs, std::span<const std::string> fetch, run_state& r) const;

  /// @param positions  in the plan's fed edges, by input of the call
  void remember(const feeds& inputs, std::vector<std::uint32_t> positions, std::span<const std::string> fetch,
                std::shared_ptr<const executable_plan> p);

  /// Forgets that call if it was run by `p`.
  void forget(const executable_plan& p) {
    if (plan_.get() == &p)
      plan_ = nullptr;
  }

private:
  [[nodiscard]] bool is_like(const feeds& inputs, std::span<const std::string> fetch) const;

  std::vector<std::string> names_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::string> fetch_;
  std::shared_ptr<const executable_plan> plan_;
};

} // namespace sluice
