#include <sluice/devices/cpu_pool.hpp>
#include <sluice/devices/cpu_threads.hpp>

#include <map>
#include <mutex>
#include <stdexcept>

namespace sluice {

static_assert(cpu_threads::max_budget == cpu_crew::max_threads);

namespace {

unsigned checked_budget(unsigned budget) {
  if (budget > cpu_threads::max_budget)
    throw std::invalid_argument("a CPU budget of " + std::to_string(budget) + " threads: at most " +
                                std::to_string(cpu_threads::max_budget) + " are possible");
  return budget ? budget : usable_cpus();
}

std::shared_ptr<executor> make_pool(const std::shared_ptr<cpu_crew>& crew, unsigned limit) {
  auto pool = std::make_shared<cpu_pool>(crew, limit);
  crew->add(pool);
  auto* users_view = pool.get();
  return {users_view, [kept = std::move(pool)](executor*) { kept->close(); }};
}

} // namespace

struct cpu_threads::pool_register {
  struct named {
    unsigned limit;
    std::weak_ptr<executor> pool;
  };

  explicit pool_register(const std::shared_ptr<cpu_crew>& crew) : default_pool(make_pool(crew, 0)) {}

  const std::shared_ptr<executor> default_pool;
  std::mutex mutex;
  std::map<std::string, named> by_name; // guarded by mutex
};

cpu_threads& cpu_threads::process() {
  static auto& threads = *new cpu_threads{0};
  return threads;
}

cpu_threads::cpu_threads(unsigned budget)
  : crew_(std::make_shared<cpu_crew>(checked_budget(budget))), pools_(std::make_unique<pool_register>(crew_)) {}

cpu_threads::~cpu_threads() { crew_->stop(); }

unsigned cpu_threads::budget() const noexcept { return crew_->places().budget(); }

void cpu_threads::resize(unsigned budget) { crew_->resize(checked_budget(budget)); }

std::shared_ptr<executor> cpu_threads::default_pool() const { return pools_->default_pool; }

std::shared_ptr<executor> cpu_threads::private_pool(unsigned limit) { return make_pool(crew_, limit); }

std::shared_ptr<executor> cpu_threads::named_pool(const std::string& name, unsigned limit) {
  const std::lock_guard lock{pools_->mutex};
  auto& entry = pools_->by_name[name];
  if (auto pool = entry.pool.lock()) {
    if (entry.limit != limit)
      throw std::invalid_argument("thread pool '" + name + "' has a limit of " + std::to_string(entry.limit) +
                                  " threads, not " + std::to_string(limit));
    return pool;
  }
  auto pool = make_pool(crew_, limit);
  entry = {limit, pool};
  return pool;
}

unsigned cpu_threads::active() const noexcept { return crew_->places().held(); }

unsigned cpu_threads::peak_active() const noexcept { return crew_->places().peak(); }

void cpu_threads::reset_peak() noexcept { crew_->places().reset_peak(); }

} // namespace sluice
