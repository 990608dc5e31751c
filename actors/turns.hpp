#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace sluice {

struct frame;

/// Whose turn it is at a node with state: frames pass in the order of their numbers, each once; those whose
/// plan leaves the node out are told in advance.
///
/// @threadsafe all members.
class turns {
public:
  /// True if it is the turn of frame `number`, which then has it until leave(). Otherwise the frame is
  /// remembered, and some leave() or skip() gives it back.
  [[nodiscard]] bool enter(std::uint64_t number, frame* f);

  /// Ends the turn. Returns the frame whose turn it is now, if it waits.
  [[nodiscard]] frame* leave();

  /// Frame `number` will never enter. Returns the frame whose turn it is now, if it waits.
  [[nodiscard]] frame* skip(std::uint64_t number);

  /// True if no frame waits and no turn is taken.
  [[nodiscard]] bool idle() const;

private:
  frame* advance();

  mutable std::mutex mutex_;
  std::uint64_t next_ = 1;
  bool taken_ = false;
  std::set<std::uint64_t> absent_;
  std::map<std::uint64_t, frame*> waiting_;
};

} // namespace sluice
