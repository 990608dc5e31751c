#include "explorer.hpp"

namespace sluice::test {

namespace {

constexpr std::size_t stack_size = 64 * 1024;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

} // namespace

explorer* explorer::active = nullptr;

explorer::explorer() = default;
explorer::~explorer() = default;

void explorer::start() {
  auto& self = *active;
  self.program_->run(static_cast<unsigned>(self.running_));
  self.fibers_[static_cast<std::size_t>(self.running_)].done = true;
  self.yield();
}

void explorer::yield() {
  auto& self = fibers_[static_cast<std::size_t>(running_)];
  self.history = mixed(self.history, 1); // it is further on, even if it saw nothing
  // Not swapcontext(), which enters the kernel each time.
  if (_setjmp(self.resume) == 0)
    _longjmp(scheduler_, 1);
}

void explorer::resume(unsigned thread) {
  running_ = static_cast<int>(thread);
  if (_setjmp(scheduler_) == 0) {
    auto& next = fibers_[static_cast<std::size_t>(running_)];
    if (next.started)
      _longjmp(next.resume, 1);
    next.started = true;
    setcontext(&next.entry);
  }
  running_ = -1;
}

void explorer::before_operation() {
  if (active && active->running_ >= 0)
    active->yield();
}

void explorer::saw(std::uint64_t value) {
  if (!active || active->running_ < 0)
    return;
  auto& history = active->fibers_[static_cast<std::size_t>(active->running_)].history;
  history = mixed(history + 1, value);
}

void explorer::at(std::uint64_t position) {
  active->fibers_[static_cast<std::size_t>(active->running_)].history = mixed(1, position);
}

void explorer::sleep_on(const void* word) {
  active->fibers_[static_cast<std::size_t>(active->running_)].sleeping_on = word;
  active->yield();
}

void explorer::wake(const void* word, bool all) {
  for (auto& f : active->fibers_)
    if (f.sleeping_on == word) {
      f.sleeping_on = nullptr;
      if (!all)
        return;
    }
}

void explorer::wait_until(std::function<bool()> ready) {
  auto& self = active->fibers_[static_cast<std::size_t>(active->running_)];
  self.ready = std::move(ready);
  active->yield();
  self.ready = nullptr;
}

void explorer::add_cell(const void* at, std::uint64_t (*value)(const void*)) {
  if (active)
    active->cells_.push_back({at, value});
}

std::vector<unsigned> explorer::enabled() const {
  std::vector<unsigned> result;
  for (unsigned i = 0; i < fibers_.size(); ++i)
    if (const auto& f = fibers_[i]; !f.done && !f.sleeping_on && (!f.ready || f.ready()))
      result.push_back(i);
  return result;
}

std::uint64_t explorer::state() const {
  std::uint64_t hash = program_->noted();
  for (const auto& c : cells_)
    hash = mixed(hash + 1, c.value(c.at));
  for (const auto& f : fibers_)
    hash = mixed(mixed(hash + 1, f.history), f.sleeping_on ? 1 : 0);
  return hash;
}

void explorer::begin(const maker& make) {
  cells_.clear();
  program_ = make(storage_.data());
  fibers_.resize(program_->threads());
  for (auto& f : fibers_) {
    f.history = 0;
    f.sleeping_on = nullptr;
    f.ready = nullptr;
    f.done = false;
    f.started = false;
    if (!f.stack)
      f.stack = std::make_unique<char[]>(stack_size);
    getcontext(&f.entry);
    f.entry.uc_stack.ss_sp = f.stack.get();
    f.entry.uc_stack.ss_size = stack_size;
    f.entry.uc_link = nullptr;
    makecontext(&f.entry, &explorer::start, 0);
  }
}

void explorer::run_one_interleaving(const maker& make) {
  begin(make);
  for (std::size_t depth = 0;; ++depth) {
    const auto can = enabled();
    if (can.empty()) {
      program_->stuck = 0;
      for (const auto& f : fibers_)
        program_->stuck += !f.done;
      program_->check_end();
      break;
    }
    if (depth == path_.size()) {
      if (!seen_.insert(state()).second)
        break;
      path_.push_back({0, static_cast<unsigned>(can.size())});
    }
    const auto next = can[path_[depth].taken];
    resume(next);
    program_->check_step();
  }
  program_->~program();
}

std::size_t explorer::explore(const maker& make) {
  active = this;
  path_.clear();
  seen_.clear();
  do {
    run_one_interleaving(make);
    while (!path_.empty() && ++path_.back().taken == path_.back().of)
      path_.pop_back();
  } while (!path_.empty());
  active = nullptr;
  return seen_.size();
}

} // namespace sluice::test
