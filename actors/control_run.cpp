#include <sluice/actors/pending_firing.hpp>

#include <sluice/actors/graph_runtime.hpp>
#include <sluice/scheduler/control_flow.hpp>

#include <algorithm>

namespace sluice {

namespace {

/// One firing of a control-flow node. Drives the machine of the node; each body runs as a frame in the
/// owner's slot. Whoever makes a body quiescent goes on with the machine, so that exactly one thread is here
/// at a time.
class control_run final : public frame_listener {
public:
  control_run(frame& owner, const executable_step& s, std::span<const value> inputs)
    : owner_(owner), step_(s), machine_(make_control_flow(*s.cell->node, inputs, *owner.memory)) {}

  /// Runs bodies until the node is finished (true) or another thread has to go on (false: do not touch this
  /// again).
  bool start(worker& here) { return drive(machine_->begin(), here); }

  /// The firing goes on without its thread: completes through `t` at the end, and deletes this.
  void complete_through(std::shared_ptr<pending_firing> t) { token_ = std::move(t); }

  [[nodiscard]] std::vector<value>& outputs() noexcept { return outputs_; }

  void on_quiescent(frame& body, worker& here) noexcept override {
    try {
      if (!drive(after(body), here))
        return;
    } catch (...) {
      const auto token = std::move(token_);
      delete this; // it keeps values alive
      return token->fail_here(std::current_exception(), here);
    }
    const auto token = std::move(token_);
    auto outputs = std::move(outputs_);
    delete this;
    token->succeed_here(outputs, here);
  }

private:
  bool drive(control_flow::action a, worker& here) {
    while (a.what == control_flow::action::kind::run_body) {
      auto& body = step_.cell->bodies[a.body]->slot(owner_.slot);
      const auto& compiled = owner_.plan->bodies[step_.index][a.body];
      if (!compiled)
        std::rethrow_exception(step_.planned->body_failures[a.body]);
      body.open(compiled, feeds_for(*compiled, a.values), &owner_, *this);
      body.start_only(here);
      if (body.activities.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return false;
      a = after(body);
    }
    outputs_ = std::move(a.values);
    return true;
  }

  /// What the machine wants after a body is quiescent. Throws the body's failure; nothing follows once the
  /// frame is stopped.
  control_flow::action after(frame& body) {
    auto results = std::move(body.results);
    body.results.clear();
    body.feeds.clear(); // those that nobody took
    body.memory = nullptr;
    if (body.failure)
      std::rethrow_exception(std::exchange(body.failure, nullptr));
    if (owner_.root->marks.load(std::memory_order_relaxed) & frame::stopped)
      return {control_flow::action::kind::finished, 0, std::vector<value>(step_.outputs)};
    return machine_->body_done(std::move(results));
  }

  /// Body inputs in the order of the plan's fed edges; those that the plan knows are left out.
  static std::vector<value> feeds_for(const executable_plan& p, std::vector<value>& inputs) {
    const auto& compiled = *p.source;
    const auto& formal = compiled.source->inputs();
    std::vector<value> feeds(compiled.fed.size());
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      if (!compiled.fed[i].known.empty())
        continue;
      const auto at = std::find(formal.begin(), formal.end(), compiled.fed[i].edge) - formal.begin();
      feeds[i] = inputs[static_cast<std::size_t>(at)];
    }
    return feeds;
  }

  frame& owner_;
  const executable_step& step_;
  const std::unique_ptr<control_flow> machine_;
  std::shared_ptr<pending_firing> token_;
  std::vector<value> outputs_;
};

} // namespace

bool fire_control_flow(frame& f, const executable_step& s, std::span<value> inputs, std::span<value> outputs,
                       worker& here) {
  auto run = std::make_unique<control_run>(f, s, inputs);
  // The token holds an activity of the frame from here on. If the run finishes at once it is not needed.
  auto token = std::make_shared<pending_firing>(f, s);
  run->complete_through(token);
  bool finished = false;
  try {
    finished = run->start(here);
  } catch (...) {
    static_cast<void>(token->withdraw()); // nobody else has it
    throw;
  }
  if (!finished) {
    static_cast<void>(run.release()); // it deletes itself when it completes
    return false;
  }
  static_cast<void>(token->withdraw());
  auto& made = run->outputs();
  std::move(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(std::min(made.size(), outputs.size())),
            outputs.begin());
  return true;
}

} // namespace sluice
