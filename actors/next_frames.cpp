#include <sluice/actors/next_frames.hpp>

#include <sluice/actors/frame.hpp>
#include <sluice/actors/graph_runtime.hpp>

namespace sluice {

namespace {

/// A thread that opens one frame after another leaves other work lying; after so many it sees whether there
/// is any.
constexpr int most_in_a_row = 16;

struct deferred_frames {
  std::vector<frame*> frames;
  bool in_turn = false;
  bool guest = false;
};

/// Starts a frame on another thread. It may be over, and its session and pool gone, before submit() returns.
void queue(frame& f) {
  const auto threads = f.runtime.services().threads;
  threads->submit(f);
}

deferred_frames& deferred() noexcept {
  static thread_local deferred_frames d;
  return d;
}

} // namespace

void next_frames::start_later(frame& f, executor& threads) {
  auto& d = deferred();
  if (d.in_turn && !d.guest && !threads.stepped())
    d.frames.push_back(&f);
  else
    threads.submit(f);
}

next_frames::turn::turn(worker& here) noexcept : here_(here) {
  deferred().in_turn = true;
}

next_frames::turn::~turn() {
  auto& d = deferred();
  for (int in_a_row = 1; !d.frames.empty(); ++in_a_row) {
    auto* const mine = d.frames.back();
    d.frames.pop_back();
    for (auto* f : d.frames)
      queue(*f);
    d.frames.clear();
    if (in_a_row % most_in_a_row == 0 && here_.is_needed())
      queue(*mine);
    else
      mine->start(here_);
  }
  d.in_turn = false;
}

next_frames::guest::guest() noexcept {
  deferred().guest = true;
}
next_frames::guest::~guest() {
  deferred().guest = false;
}
bool next_frames::is_guest() noexcept {
  return deferred().guest;
}

} // namespace sluice
