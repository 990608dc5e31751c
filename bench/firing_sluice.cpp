#include "support/contender.hpp"
#include "support/spin.hpp"

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/sluice.hpp>

#include <atomic>
#include <latch>

namespace sluice::bench {

namespace {

/// Keeps a number of frames in flight: the outcome of one opens the next, which is fed its result.
class pump {
public:
  pump(session& s, std::uint64_t count, unsigned in_flight)
    : session_(s), left_(static_cast<std::int64_t>(count)), running_(in_flight) {}

  void run(unsigned in_flight) {
    for (unsigned i = 0; i < in_flight; ++i)
      next(tensor::of_scalar(1.f));
    running_.wait();
  }

private:
  void next(value x) {
    if (left_.fetch_sub(1, std::memory_order_relaxed) <= 0) {
      running_.count_down();
      return;
    }
    feeds inputs;
    inputs.set("x", std::move(x));
    session_.run_async(std::move(inputs)).then([this](values y) { next(std::move(y.items()[0])); });
  }

  session& session_;
  std::atomic<std::int64_t> left_;
  std::latch running_;
};

class sluice_contender final : public contender {
public:
  explicit sluice_contender(const firing_setting& s) : frames_(s.frames), session_(make(engine_, s)) {}

  const std::string& name() const override { return name_; }
  void run(std::uint64_t count) override { pump{session_, count, frames_}.run(frames_); }

private:
  static session make(engine& e, const firing_setting& s) {
    const value_type scalar{element_type::float32, shape{}};
    auto g = e.builder();
    std::vector<std::vector<edge_ref>> inputs(s.shape.nodes.size());
    inputs[0].push_back(g.placeholder("x", scalar));
    edge_ref last;
    const spin_work work{s.work_ns};
    for (std::size_t i = 0; i < s.shape.nodes.size(); ++i) {
      last = g.function("n" + std::to_string(i), inputs[i], {scalar},
                        {[work](std::span<value> in, std::span<value> out) {
                          work();
                          out[0] = std::move(in[0]);
                        }})[0];
      for (const auto& [to, port] : s.shape.nodes[i].to) {
        inputs[to].resize(std::max(inputs[to].size(), port + 1));
        inputs[to][port] = last;
      }
    }
    g.output("y", last);
    session_options o;
    o.window = s.frames;
    return e.load(g.build(s.shape.name), o);
  }

  const std::string name_ = "sluice";
  const unsigned frames_;
  engine engine_;
  session session_;
};

} // namespace

std::unique_ptr<contender> make_sluice(const firing_setting& s) {
  return std::make_unique<sluice_contender>(s);
}

} // namespace sluice::bench
