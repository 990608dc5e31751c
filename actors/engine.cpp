#include <sluice/actors/engine.hpp>

#include <sluice/actors/device_actor.hpp>
#include <sluice/actors/handles.hpp>
#include <sluice/actors/messages.hpp>
#include <sluice/actors/session_core.hpp>
#include <sluice/devices/blocking_threads.hpp>
#include <sluice/devices/cpu_threads.hpp>
#include <sluice/graph/onnx_import.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/caf_scheduler.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/logger.hpp>

#include <algorithm>
#include <mutex>

namespace sluice {

namespace {

constexpr std::chrono::seconds drain_at_end{5};
constexpr std::uint32_t smallest_window = 4;

/// At its end the thread is as it was: whoever spawns an actor otherwise keeps a reference to the system's
/// logger. The end of the system would wait for it on another thread, or, in a static object, meet what is
/// left of it after the end of the main thread's own variables.
class logger_borrowed {
public:
  explicit logger_borrowed(caf::actor_system& system)
    : before_(caf::logger::current_logger() == &system.logger()) {}
  ~logger_borrowed() {
    if (!before_)
      caf::logger::set_current_actor_system(nullptr);
  }
  logger_borrowed(const logger_borrowed&) = delete;
  logger_borrowed& operator=(const logger_borrowed&) = delete;

private:
  const bool before_;
};

/// A system of the engine's own: only what sessions need.
struct own_system {
  explicit own_system(const std::shared_ptr<executor>& threads) {
    register_message_types(config);
    run_actors_on(config, threads);
    system.emplace(config);
    caf::logger::set_current_actor_system(nullptr); // see logger_borrowed
  }
  caf::actor_system_config config;
  std::optional<caf::actor_system> system;
};

} // namespace

struct engine::state {
  engine_options options;
  std::shared_ptr<const operator_library> operators;
  std::shared_ptr<executor> threads;
  std::shared_ptr<executor> blocking;
  std::vector<engine_device> devices; // the host first
  std::shared_ptr<block_pool> blocks; // of the host
  std::unique_ptr<own_system> own;
  caf::actor_system* system = nullptr;
  std::vector<std::unique_ptr<device_watch>> watches;
  std::mutex mutex;
  std::vector<std::weak_ptr<session_core>> sessions; // guarded by mutex

  explicit state(engine_options o) : options(std::move(o)) {
    operators = options.operators ? options.operators : standard_operators();
    if (options.cpu_budget > 0)
      cpu_threads::process().resize(options.cpu_budget);
    threads = options.threads ? options.threads : cpu_threads::process().default_pool();
    // Under a test that decides the order of events, what may block is one of them.
    if (threads->stepped())
      blocking = threads;
    else
      blocking = std::make_shared<blocking_threads>();
    devices = make_devices(options, threads);
    blocks = std::make_shared<block_pool>(devices[0].ledger);
  }

  void watch_devices() {
    const logger_borrowed logger{*system};
    for (const auto& d : devices)
      watches.push_back(std::make_unique<device_watch>(*system, d.ledger, d.accelerator.get()));
  }

  std::vector<caf::actor> device_actors() const {
    std::vector<caf::actor> all;
    for (const auto& w : watches)
      all.push_back(w->actor());
    return all;
  }

  const engine_device& find(std::string_view name) const {
    for (const auto& d : devices)
      if (d.name == name)
        return d;
    throw error{errc::invalid_argument, "there is no device '" + std::string{name} + '\''};
  }

  /// The pool that a session's options ask for.
  std::shared_ptr<executor> pool_for(const session_options& o) {
    if (options.threads)
      return options.threads;
    auto& process = cpu_threads::process();
    try {
      if (!o.pool.empty())
        return process.named_pool(o.pool, o.inter_op_parallelism_threads);
    } catch (const std::invalid_argument& e) {
      throw error{errc::invalid_argument, e.what()};
    }
    return o.inter_op_parallelism_threads > 0 ? process.private_pool(o.inter_op_parallelism_threads)
                                              : threads;
  }
};

engine::engine(engine_options options) : state_(std::make_unique<state>(std::move(options))) {
  state_->own = std::make_unique<own_system>(state_->threads);
  state_->system = &*state_->own->system;
  state_->watch_devices();
}

engine::engine(caf::actor_system& system, engine_options options)
  : state_(std::make_unique<state>(std::move(options))) {
  if (!system.types().make_value(std::string{"sluice::token"}))
    throw error{errc::invalid_argument, "the actor system does not know Sluice's message types: call "
                                        "sluice::configure(config) before it is made"};
  state_->system = &system;
  state_->watch_devices();
}

engine::~engine() {
  std::vector<std::shared_ptr<session_core>> left;
  {
    const std::lock_guard lock{state_->mutex};
    for (const auto& s : state_->sessions)
      if (auto core = s.lock())
        left.push_back(std::move(core));
  }
  for (const auto& core : left)
    core->close(drain_at_end);
  left.clear();
  state_->watches.clear();
}

session engine::load(std::shared_ptr<const graph> model, session_options options) {
  if (!model)
    throw error{errc::invalid_argument, "there is no graph to load"};
  if (options.name.empty())
    options.name = model->name().empty() ? "graph" : model->name();
  session_setup setup;
  setup.threads = state_->pool_for(options);
  setup.model = std::move(model);
  setup.operators = state_->operators;
  setup.blocking = state_->blocking;
  setup.device = state_->devices[0].ledger;
  setup.blocks = state_->blocks;
  setup.devices = state_->devices;
  const auto budget = cpu_budget();
  setup.intra_op =
      options.intra_op_parallelism_threads ? std::min(options.intra_op_parallelism_threads, budget) : budget;
  setup.window = options.window ? options.window : std::max(2 * budget, smallest_window);
  setup.options = std::move(options);
  const auto core = std::make_shared<session_core>(std::move(setup), *state_->system);
  const logger_borrowed logger{*state_->system};
  core->start(state_->device_actors());
  const std::lock_guard lock{state_->mutex};
  std::erase_if(state_->sessions, [](const auto& s) { return s.expired(); });
  state_->sessions.push_back(core);
  return session{core};
}

session engine::load(const std::filesystem::path& model, session_options options) {
  if (options.name.empty())
    options.name = model.stem().string();
  return load(load_onnx(model, state_->operators->schemas()), std::move(options));
}

session engine::load(std::span<const std::byte> model, session_options options) {
  return load(load_onnx(model, state_->operators->schemas()), std::move(options));
}

graph_builder engine::builder(int opset) const {
  return graph_builder{state_->operators->schemas(), opset};
}

unsigned engine::cpu_budget() const noexcept {
  return state_->options.threads ? state_->options.threads->concurrency() : cpu_threads::process().budget();
}

std::string engine::memory_report() const {
  std::string text;
  for (const auto& d : state_->devices)
    text += (text.empty() ? "" : "\n") + d.ledger->report();
  return text;
}

std::size_t engine::memory_in_use(std::string_view device) const {
  return state_->find(device).ledger->in_use();
}

std::size_t engine::memory_peak(std::string_view device) const {
  return state_->find(device).ledger->peak();
}

caf::actor_system& engine::system() const noexcept {
  return *state_->system;
}

void configure(caf::actor_system_config& config) {
  register_message_types(config);
  run_actors_on(config, cpu_threads::process().default_pool());
}

} // namespace sluice
