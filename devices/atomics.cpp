#include <sluice/devices/atomics.hpp>

#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice {

namespace {

// std::atomic::wait spins and yields before it sleeps, and looks up a shared table: a plain futex is both cheaper
// and lets a thread without a CPU token sleep at once.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

} // namespace

void native_atomics::sleep_while(atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  futex(word, FUTEX_WAIT, value);
}

void native_atomics::wake_one(atomic<std::uint32_t>& word) noexcept { futex(word, FUTEX_WAKE, 1); }

void native_atomics::wake_all(atomic<std::uint32_t>& word) noexcept { futex(word, FUTEX_WAKE, INT_MAX); }

} // namespace sluice
