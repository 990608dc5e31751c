#pragma once

#include <sluice/scheduler/placement.hpp>
#include <sluice/scheduler/placement_gaps.hpp>

#include <span>
#include <utility>
#include <vector>

namespace sluice {

/// Lays steps and transfers out in time, one after another in a given order, each as early as data, memory
/// and those before it allow, in a gap if there is one. A value is held on a device from when it begins to be
/// made there until its last reader there, or the last transfer from there, is through. Internal to
/// `scheduler/`.
///
/// A step that the budget could never hold is laid out all the same; what is over the budget adds up.
class placement_timeline {
public:
  struct score {
    double excess_bytes = 0; ///< 0: within all budgets
    double finish_ns = 0;
    double link_bytes = 0;
  };

  /// Keeps `problem`, which has been checked.
  explicit placement_timeline(const placement_problem& problem);

  /// Lays out all steps with known places.
  /// @param record  gets the schedule if not null
  score lay_out(std::span<const std::uint32_t> places, std::span<const std::uint32_t> order,
                placement_schedule* record = nullptr);

  /// Starts a layout whose places are decided step by step; what comes later may go into gaps. `reserve` is
  /// the part of each budget that weights leave to values.
  void begin(double reserve);
  /// When `step` would finish on `device`; no_kernel if it has none or the budget could not hold it.
  [[nodiscard]] double probe(std::uint32_t step, std::uint32_t device);
  void commit(std::uint32_t step, std::uint32_t device);

  /// What a step reads, without repetitions.
  [[nodiscard]] std::span<const std::uint32_t> inputs(std::uint32_t step) const noexcept {
    return {inputs_.data() + inputs_begin_[step], inputs_.data() + inputs_begin_[step + 1]};
  }
  /// The step that makes `value`; no_step if it is fed.
  [[nodiscard]] std::uint32_t producer(std::uint32_t value) const noexcept { return producer_[value]; }
  /// What a device holds for `step` while it runs: inputs, outputs, scratch.
  [[nodiscard]] double held_bytes(std::uint32_t step) const noexcept {
    auto held = made_bytes_[step];
    for (const auto v : inputs(step))
      held += static_cast<double>(problem_.values[v].bytes);
    return held;
  }
  /// The time of a transfer on the link `from` → `to`.
  [[nodiscard]] double transfer_ns(std::uint32_t value, std::uint32_t from, std::uint32_t to) const noexcept {
    const auto& link = problem_.links[link_[from * devices_ + to]];
    return link.latency_ns + static_cast<double>(problem_.values[value].bytes) / link.bytes_per_ns;
  }

  /// How much was done so far, in parts that take about equally long: a measure of effort that is the same
  /// on every machine.
  [[nodiscard]] std::size_t work() const noexcept { return work_; }

  static constexpr std::uint32_t no_step = ~std::uint32_t{0};

private:
  struct memory_event {
    double at;
    double bytes; // held from then on; negative: let go
  };
  struct memory_use {
    double budget = 0;
    double weights = 0;
    double held = 0; // after the last event
    bool watched = true;
    std::vector<memory_event> events{}; // by time, what lets go first
  };

  void reset(bool recording);
  void count_readers(std::span<const std::uint32_t> places);
  void add_weights(std::uint32_t step, std::uint32_t device);
  [[nodiscard]] double earliest(std::uint32_t device, double from, double bytes);
  void hold(std::uint32_t device, double at, double bytes);
  void transfer(std::uint32_t value, std::uint32_t from, std::uint32_t to);
  void bring_inputs(std::uint32_t step, std::uint32_t device);
  void run(std::uint32_t step, std::uint32_t device);
  [[nodiscard]] std::pair<double, std::uint32_t> find_lane(std::uint32_t device, double from, double length,
                                                           double bytes);
  [[nodiscard]] std::pair<double, std::uint32_t> find_engine(std::uint32_t link, double from, double length);
  void read(std::uint32_t value, std::uint32_t device, double at);
  void let_go(std::uint32_t value, std::uint32_t device);
  void record_peaks(placement_schedule& record) const;

  const placement_problem& problem_;
  const std::uint32_t devices_;
  std::vector<std::uint32_t> inputs_; // without repetitions
  std::vector<std::uint32_t> inputs_begin_;
  std::vector<std::uint32_t> producer_;
  std::vector<std::uint32_t> readers_; // steps that read a value
  std::vector<std::uint32_t> link_;    // by from and to
  std::vector<std::uint32_t> lane_begin_;
  std::vector<std::uint32_t> engine_begin_;
  std::vector<double> made_bytes_; // by step: outputs and scratch
  std::vector<bool> watch_;        // devices whose budget is less than everything

  // Of the layout in the making. By value and device where not said otherwise.
  bool deciding_ = false;
  double reserve_ = 0;
  std::vector<std::uint32_t> home_; // by value
  std::vector<placement_gaps> lane_gaps_;
  std::vector<placement_gaps> engine_gaps_;
  std::vector<double> probed_engine_; // by link: when the last input that was probed is there
  std::vector<std::pair<double, std::uint32_t>> missing_; // inputs of the probed step: made when, which
  std::vector<double> ready_;
  std::vector<double> last_use_;
  std::vector<std::uint32_t> pending_;
  std::vector<std::uint32_t> pending_total_; // by value
  std::vector<char> weight_there_;           // by constant and device
  std::vector<memory_use> memory_;
  score score_;
  std::size_t work_ = 0;
  placement_schedule* record_ = nullptr;
};

} // namespace sluice
