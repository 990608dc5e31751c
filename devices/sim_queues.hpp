#pragma once

#include <sluice/devices/device_stream.hpp>
#include <sluice/devices/sim_clock.hpp>
#include <sluice/devices/sim_links.hpp>
#include <sluice/devices/sim_options.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice {

class sim_queues;
struct sim_queue;

/// What an event of a simulated device is.
class sim_event final : public device_event {
public:
  /// @param clock  null in real time
  explicit sim_event(std::shared_ptr<sim_clock> clock) : clock_(std::move(clock)) {}
  using device_event::settle;

private:
  void block() override;

  const std::shared_ptr<sim_clock> clock_;
};

/// A piece of work, a copy, or a mark in a stream. All but the first members guarded by its sim_queues.
struct sim_piece final : job {
  enum class kind : std::uint8_t { work, copy, mark };
  enum class state : std::uint8_t {
    queued,    ///< behind others, or before an event
    ready,     ///< waits for an engine
    begun,     ///< has one; in virtual time: until it ends
    executing, ///< its function runs
    over,      ///< only to be said
  };

  void run(worker& here) noexcept override;

  kind what = kind::mark;
  std::function<void(const issue_context&)> function{}; ///< makes the copy, if it is one
  std::chrono::nanoseconds time{0};                     ///< in virtual time, the latency left out
  std::chrono::nanoseconds latency{0};
  std::shared_ptr<sim_link> links[2]{};
  std::vector<event_ptr> after{};
  intrusive_ptr<sim_event> event{};

  state now = state::queued;
  std::size_t waits_for = 0;    ///< events
  bool loses_device = false;    ///< when it begins
  std::exception_ptr failure{}; ///< how it is over
  // While a job: what it needs to run, though the device or the stream be gone.
  std::shared_ptr<sim_piece> self{};
  std::shared_ptr<sim_queues> home{};
  std::shared_ptr<sim_queue> queue{};
};

/// The pieces of one stream that are not over.
struct sim_queue {
  std::deque<std::shared_ptr<sim_piece>> pieces{};
  bool telling = false; ///< a thread tells of pieces that are over: others leave the queue to it
  bool dropped = false; ///< by the stream: goes when it is empty
};

/// What is enqueued on a simulated device, what of it may begin, and how it ends: the same in virtual and in
/// real time, which differ only in what makes a piece that has begun end.
///
/// @threadsafe all members.
class sim_queues : public std::enable_shared_from_this<sim_queues> {
public:
  sim_queues(std::string name, const sim_options& options, std::shared_ptr<sim_clock> clock,
             std::shared_ptr<executor> threads);

  [[nodiscard]] std::shared_ptr<sim_queue> make_queue();
  void drop(const std::shared_ptr<sim_queue>& q);

  /// Adds a piece at the end; its event is done when it is over.
  event_ptr enqueue(const std::shared_ptr<sim_queue>& q, const std::shared_ptr<sim_piece>& p);

  /// Fails all there is and all that follows.
  void lose(const std::string& why);
  /// Does so, and waits for what executes.
  void close();

  [[nodiscard]] std::chrono::nanoseconds now() const;
  /// Why the device is lost; null while it is not.
  [[nodiscard]] std::exception_ptr why_lost() const noexcept;
  [[nodiscard]] event_ptr loss() const noexcept { return loss_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const sim_options& options() const noexcept { return options_; }
  [[nodiscard]] const std::shared_ptr<sim_link>& link_in() const noexcept { return in_; }
  [[nodiscard]] const std::shared_ptr<sim_link>& link_out() const noexcept { return out_; }
  [[nodiscard]] const std::shared_ptr<sim_clock>& clock() const noexcept { return clock_; }

  /// Runs the function of a piece that has begun.
  void execute(const std::shared_ptr<sim_queue>& q, const std::shared_ptr<sim_piece>& p, worker* here);

private:
  using piece_list = std::vector<std::shared_ptr<sim_piece>>;
  struct waiting {
    std::shared_ptr<sim_queue> queue;
    std::shared_ptr<sim_piece> piece;
  };
  /// Pieces of one kind that proceed at once, and those that wait for that.
  struct engines {
    unsigned free;
    std::deque<waiting> ready{};
  };

  void arrive(const std::shared_ptr<sim_queue>& q, const std::shared_ptr<sim_piece>& p);
  void pump(const std::shared_ptr<sim_queue>& q);
  void pump_all();
  void tell(const piece_list& over);
  void tell_loss();
  [[nodiscard]] bool still_begun(const sim_piece& p);
  // With mutex_ held:
  void collect(const std::shared_ptr<sim_queue>& q, piece_list& over);
  [[nodiscard]] bool begin_ready();
  [[nodiscard]] bool begin_ready(engines& e);
  /// Returns why it cannot; empty if it can.
  [[nodiscard]] std::string begin_on_threads(const waiting& w);
  void begin_in_virtual_time(const waiting& w);
  [[nodiscard]] bool set_lost(const std::string& why);
  [[nodiscard]] bool all_over() const noexcept;
  [[nodiscard]] engines& engines_of(const sim_piece& p) noexcept;

  const std::string name_;
  const sim_options options_;
  const std::shared_ptr<sim_clock> clock_;  // null in real time
  const std::shared_ptr<executor> threads_; // null in virtual time
  const std::shared_ptr<sim_link> in_ = std::make_shared<sim_link>();
  const std::shared_ptr<sim_link> out_ = std::make_shared<sim_link>();
  const intrusive_ptr<sim_event> loss_;

  std::mutex mutex_;
  std::condition_variable quiet_;
  // All guarded by mutex_.
  std::vector<std::shared_ptr<sim_queue>> queues_;
  engines compute_;
  engines copies_;
  std::uint64_t works_ = 0;
  std::uint64_t pieces_ = 0;
  std::size_t busy_ = 0;      // threads that execute or tell
  std::exception_ptr lost_{}; // why
};

} // namespace sluice
