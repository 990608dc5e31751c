#include <sluice/devices/sim_queues.hpp>

#include <sluice/graph/error.hpp>

#include <algorithm>
#include <utility>

namespace sluice {

void sim_event::block() {
  if (!clock_)
    return device_event::block();
  if (!clock_->step_until_done(*this))
    throw error{errc::invalid_argument, "nothing that is to come on the simulated clock leads to this event"};
}

void sim_piece::run(worker& here) noexcept {
  // The last references may go here, after what they keep was used.
  const auto piece = std::move(self);
  const auto device = std::move(home);
  const auto stream = std::move(queue);
  device->execute(stream, piece, &here);
}

sim_queues::sim_queues(std::string name, const sim_options& options, std::shared_ptr<sim_clock> clock,
                       std::shared_ptr<executor> threads)
  : name_(std::move(name)), options_(options), clock_(std::move(clock)), threads_(std::move(threads)),
    loss_(new sim_event{clock_}), compute_{options.streams}, copies_{options.copy_engines} {}

std::shared_ptr<sim_queue> sim_queues::make_queue() {
  auto q = std::make_shared<sim_queue>();
  const std::lock_guard lock{mutex_};
  queues_.push_back(q);
  return q;
}

void sim_queues::drop(const std::shared_ptr<sim_queue>& q) {
  const std::lock_guard lock{mutex_};
  q->dropped = true;
  if (q->pieces.empty())
    std::erase(queues_, q);
}

std::chrono::nanoseconds sim_queues::now() const {
  return clock_ ? clock_->now() : std::chrono::steady_clock::now().time_since_epoch();
}

std::exception_ptr sim_queues::why_lost() const noexcept {
  return loss_->failure();
}

event_ptr sim_queues::enqueue(const std::shared_ptr<sim_queue>& q, const std::shared_ptr<sim_piece>& p) {
  const sim_clock::call call{clock_.get()};
  event_ptr event = p->event = intrusive_ptr<sim_event>{new sim_event{clock_}};
  std::erase(p->after, nullptr);
  auto awaited = p->after; // the piece may be over, and lose its own, as soon as it is in the queue
  std::erase_if(awaited, [](const event_ptr& e) { return e->done(); });
  p->waits_for = awaited.size() + 1;
  {
    const std::lock_guard lock{mutex_};
    if (p->what == sim_piece::kind::work && ++works_ == options_.failures.kernel)
      p->failure =
          std::make_exception_ptr(error{errc::kernel_failed, name_ + " failed its piece of work " +
                                                                 std::to_string(works_) + ", as injected"});
    if (p->what != sim_piece::kind::mark)
      p->loses_device = ++pieces_ == options_.failures.lost_at;
    q->pieces.push_back(p);
  }
  for (const auto& e : awaited)
    e->when_done([device = shared_from_this(), q, p] { device->arrive(q, p); });
  arrive(q, p);
  return event;
}

void sim_queues::arrive(const std::shared_ptr<sim_queue>& q, const std::shared_ptr<sim_piece>& p) {
  {
    const std::lock_guard lock{mutex_};
    if (--p->waits_for > 0)
      return;
  }
  pump(q);
}

void sim_queues::pump(const std::shared_ptr<sim_queue>& q) {
  for (bool more = true; more;) {
    piece_list over;
    bool lost_now = false;
    {
      const std::lock_guard lock{mutex_};
      if (!q->telling)
        collect(q, over);
      lost_now = begin_ready();
      more = !over.empty();
      if (more) {
        // Events of a stream are done in its order: nobody else tells of later pieces meanwhile.
        q->telling = true;
        ++busy_;
      }
    }
    if (lost_now)
      tell_loss();
    if (more) {
      tell(over);
      const std::lock_guard lock{mutex_};
      q->telling = false;
      if (--busy_ == 0)
        quiet_.notify_all();
    }
    if (lost_now)
      pump_all();
  }
}

void sim_queues::pump_all() {
  std::vector<std::shared_ptr<sim_queue>> all;
  {
    const std::lock_guard lock{mutex_};
    all = queues_;
  }
  for (const auto& q : all)
    pump(q);
}

void sim_queues::collect(const std::shared_ptr<sim_queue>& q, piece_list& over) {
  using state = sim_piece::state;
  for (; !q->pieces.empty(); q->pieces.pop_front()) {
    auto& p = *q->pieces.front();
    if (p.now == state::executing)
      return;
    if (p.now != state::over) {
      if (lost_) {
        p.failure = lost_;
      } else {
        if (p.now != state::queued || p.waits_for > 0)
          return;
        const auto failed =
            std::find_if(p.after.begin(), p.after.end(), [](const event_ptr& e) { return e->failure(); });
        const bool skipped = p.what != sim_piece::kind::mark && failed != p.after.end();
        if (skipped) {
          p.failure = (*failed)->failure();
        } else if (p.what != sim_piece::kind::mark) {
          p.now = state::ready;
          engines_of(p).ready.push_back({q, q->pieces.front()});
          return;
        }
      }
      p.now = state::over;
    }
    over.push_back(q->pieces.front());
  }
  if (q->dropped)
    std::erase(queues_, q);
}

void sim_queues::tell(const piece_list& over) {
  for (const auto& p : over) {
    // What the work owned goes before its event is done: then its bytes are free for who waits for that.
    p->function = nullptr;
    p->after.clear();
    p->event->settle(p->failure, now());
  }
}

void sim_queues::tell_loss() {
  std::exception_ptr why;
  {
    const std::lock_guard lock{mutex_};
    why = lost_;
  }
  loss_->settle(why, now());
}

bool sim_queues::begin_ready() {
  return begin_ready(compute_) || begin_ready(copies_);
}

bool sim_queues::begin_ready(engines& e) {
  while (e.free > 0 && !e.ready.empty()) {
    const auto next = std::move(e.ready.front());
    e.ready.pop_front();
    if (next.piece->loses_device)
      return set_lost("its piece of work " + std::to_string(options_.failures.lost_at) +
                      " lost it, as injected");
    --e.free;
    if (clock_) {
      begin_in_virtual_time(next);
    } else if (const auto why = begin_on_threads(next); !why.empty()) {
      return set_lost(why);
    }
  }
  return false;
}

std::string sim_queues::begin_on_threads(const waiting& w) {
  auto& p = *w.piece;
  p.now = sim_piece::state::begun;
  p.self = w.piece;
  p.home = shared_from_this();
  p.queue = w.queue;
  try {
    threads_->submit(p);
    return {};
  } catch (const std::exception& e) {
    p.self.reset();
    p.home.reset();
    p.queue.reset();
    return e.what();
  }
}

void sim_queues::begin_in_virtual_time(const waiting& w) {
  // The clock keeps nothing alive: a device that is gone has nothing to come.
  auto end = [device = weak_from_this(), queue = std::weak_ptr{w.queue}, piece = std::weak_ptr{w.piece}] {
    const auto d = device.lock();
    const auto q = queue.lock();
    const auto p = piece.lock();
    if (d && q && p)
      d->execute(q, p, nullptr);
  };
  auto& p = *w.piece;
  p.now = sim_piece::state::begun;
  if (!p.links[0])
    return clock_->after(p.time, std::move(end));
  clock_->after(p.latency, [device = weak_from_this(), piece = std::weak_ptr{w.piece}, end = std::move(end)] {
    const auto d = device.lock();
    const auto arrived = piece.lock();
    if (d && arrived && d->still_begun(*arrived))
      d->clock_->links().carry(*d->clock_, arrived->links[0], arrived->links[1], arrived->time, end);
  });
}

bool sim_queues::still_begun(const sim_piece& p) {
  const std::lock_guard lock{mutex_};
  return p.now == sim_piece::state::begun;
}

void sim_queues::execute(const std::shared_ptr<sim_queue>& q, const std::shared_ptr<sim_piece>& p,
                         worker* here) {
  std::exception_ptr failure;
  {
    const std::lock_guard lock{mutex_};
    if (p->now != sim_piece::state::begun) // the device was lost meanwhile
      return;
    p->now = sim_piece::state::executing;
    failure = p->failure;
    ++busy_;
  }
  if (!failure) {
    try {
      p->function({.thread = here});
    } catch (...) {
      failure = std::current_exception();
    }
  }
  {
    const std::lock_guard lock{mutex_};
    p->now = sim_piece::state::over;
    p->failure = lost_ ? lost_ : failure;
    ++engines_of(*p).free;
    --busy_; // the queue, which still has the piece, keeps the device from being quiet
  }
  pump(q);
}

bool sim_queues::set_lost(const std::string& why) {
  if (lost_)
    return false;
  lost_ = std::make_exception_ptr(error{errc::device_lost, name_ + " is lost: " + why});
  compute_.ready.clear();
  copies_.ready.clear();
  return true;
}

void sim_queues::lose(const std::string& why) {
  const sim_clock::call call{clock_.get()};
  {
    const std::lock_guard lock{mutex_};
    if (!set_lost(why))
      return;
  }
  tell_loss();
  pump_all();
}

void sim_queues::close() {
  lose("it was closed");
  std::unique_lock lock{mutex_};
  quiet_.wait(lock, [&] { return all_over(); });
}

bool sim_queues::all_over() const noexcept {
  return busy_ == 0 &&
         std::all_of(queues_.begin(), queues_.end(), [](const auto& q) { return q->pieces.empty(); });
}

sim_queues::engines& sim_queues::engines_of(const sim_piece& p) noexcept {
  return p.what == sim_piece::kind::copy ? copies_ : compute_;
}

} // namespace sluice
