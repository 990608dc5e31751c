#pragma once

#include <sluice/actors/firing_loop.hpp>
#include <sluice/actors/graph_runtime.hpp>

#include <caf/monitorable_actor.hpp>

#include <memory>
#include <span>
#include <string>

namespace sluice {

/// A node of the executed graph: a first-class actor that counts the inputs of each frame and fires when they
/// are complete. Neighbours deliver by a call (`arrive`); actors elsewhere by a `token` message, which means
/// the same.
///
/// It is lean: no mailbox, no scheduling of its own. `enqueue` runs on the sender's thread and only
/// schedules.
class node_actor final : public caf::monitorable_actor {
public:
  using behavior_type = caf::behavior;
  using signatures = caf::none_t;

  /// Takes tokens and exit messages on behalf of the session.
  class host {
  public:
    /// A token from outside. Returns an error's text, empty if it was taken.
    virtual std::string take_token(node_cell& cell, std::uint64_t frame, std::uint32_t port, value v) = 0;
    virtual void node_killed(node_cell& cell) noexcept = 0;

  protected:
    ~host() = default;
  };

  /// @param cell  valid as long as `h` lives
  node_actor(caf::actor_config& config, node_cell& cell, std::weak_ptr<host> h)
    : monitorable_actor(config), name_(cell.node->name), cell_(cell), host_(std::move(h)) {}

  /// Executes the kernel for a frame and sends the outputs along their routes.
  /// @param timed  its cost is to be corrected by the time it takes
  void fire(frame& f, const executable_step& s, firing_loop& loop, bool timed) noexcept;

  const char* name() const override { return name_.c_str(); }
  void enqueue(caf::mailbox_element_ptr message, caf::execution_unit* unit) override;
  using caf::monitorable_actor::enqueue;
  void launch(caf::execution_unit*, bool, bool) {}

private:
  friend class firing_loop;
  friend void send(frame&, std::span<const executable_route>, std::span<value>, firing_loop&) noexcept;
  friend void finish_firing(frame&, const executable_step&, std::span<value>, firing_loop&) noexcept;

  // What an actor does for one frame. It reads and writes the frame's state alone, so that the actor itself,
  // whose memory would be one more to fetch, is not needed.

  /// An input for a frame; the last one makes the firing ready. Only on a thread that works for the frame.
  template <class Ready>
  static void arrive(frame& f, const executable_step& s, std::uint32_t place, value v, Ready& ready);
  template <class Ready>
  static void count_arrival(frame& f, const executable_step& s, Ready& ready);
  /// A value, whose one reference is taken, along all of `routes`.
  template <class Ready>
  static void send_to_all(frame& f, std::span<const executable_route> routes, const value_body* body,
                          Ready& ready) noexcept;
  static void deliver(frame& f, std::span<const executable_route> routes, std::span<value> values,
                      firing_loop& loop) noexcept;
  static void fire_into(frame& f, const executable_step& s, std::span<value> outputs, firing_loop& loop,
                        bool timed) noexcept;
  /// fire() for a quick step in a frame that has no marks.
  template <class Ready>
  static void fire_simple(frame& f, const executable_step& s, Ready& ready) noexcept;
  static void finish(frame& f, const executable_step& s, std::span<value> outputs,
                     firing_loop& loop) noexcept;

  void on_cleanup(const caf::error&) override {}

  const std::string name_;
  std::atomic<bool> killed_ = false;
  node_cell& cell_;
  const std::weak_ptr<host> host_;
};

/// Sends values along routes of `f`, each to all of its consumers.
void send(frame& f, std::span<const executable_route> routes, std::span<value> values,
          firing_loop& loop) noexcept;

/// Ends a firing: sends outputs on, leaves the node's slot as it was found. For firings that completed
/// elsewhere too.
void finish_firing(frame& f, const executable_step& s, std::span<value> outputs, firing_loop& loop) noexcept;

} // namespace sluice
