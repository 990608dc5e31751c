#pragma once

#include <sluice/actors/frame.hpp>
#include <sluice/devices/kernel_context.hpp>

#include <memory>

namespace sluice {

/// A firing whose kernel said that it completes later: holds an activity of its frame until then, and
/// delivers the outputs on a worker.
class pending_firing final : public completion_token,
                             public job,
                             public std::enable_shared_from_this<pending_firing> {
public:
  /// Call while the frame has another activity.
  pending_firing(frame& f, const executable_step& s);
  /// Fails the firing if nobody completed it.
  ~pending_firing() override;

  /// The firing completes on its own thread after all. False if it was completed already, and will end
  /// elsewhere. Call while the frame has another activity.
  [[nodiscard]] bool withdraw() noexcept;

  void succeed(std::span<value> outputs) override;
  void fail(std::exception_ptr why) override;
  void run(worker& here) noexcept override;

  // The same for whoever is at a job of the frame's pool: delivers the outputs on this thread, without a job
  // of its own. A guest then goes on with its frame and wakes nobody.
  void succeed_here(std::span<value> outputs, worker& here) noexcept;
  void fail_here(std::exception_ptr why, worker& here) noexcept;

private:
  [[nodiscard]] bool take(std::span<value> outputs) noexcept;
  [[nodiscard]] bool take(std::exception_ptr why) noexcept;
  void complete();
  void complete_here(worker& here) noexcept;
  void deliver(worker& here) noexcept;

  frame& frame_;
  const executable_step& step_;
  std::vector<value> outputs_;
  bool succeeded_ = false;
  std::atomic<bool> completed_ = false;
  std::shared_ptr<pending_firing> keep_; // itself, while queued
};

/// Runs a function that may block on a thread made for that, then completes the firing.
void fire_blocking(frame& f, const executable_step& s, std::span<value> inputs);

/// Starts a control-flow node: runs its bodies in the owner's slot. True if it finished on this thread, with
/// `outputs` filled; otherwise the firing completes by itself later. Throws what the node throws.
[[nodiscard]] bool fire_control_flow(frame& f, const executable_step& s, std::span<value> inputs,
                                     std::span<value> outputs, worker& here);

} // namespace sluice
