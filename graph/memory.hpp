#pragma once

#include <sluice/graph/export.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice {

using boost::intrusive_ptr;

/// Counts its own references; the last one destroys it. Base of what is shared on hot paths.
template <class Derived>
class ref_counted {
public:
  ref_counted(const ref_counted&) = delete;
  ref_counted& operator=(const ref_counted&) = delete;

  /// True if the caller's reference is the only one. Acquires what earlier owners wrote.
  [[nodiscard]] bool unique() const noexcept { return references_.load(std::memory_order_acquire) == 1; }

  /// Counts `n` references more at once, made from one that exists; each must be adopted by a pointer.
  void add_references(std::uint32_t n) const noexcept { references_.fetch_add(n, std::memory_order_relaxed); }

  /// Gives `n` references up at once; with the last one it is destroyed.
  void drop_references(std::uint32_t n) const noexcept {
    // Owners of all the references need no atomic write: nobody else can make a reference from none.
    // Otherwise release what we did with the object, and acquire what others did before destroying it.
    if (references_.load(std::memory_order_acquire) == n ||
        references_.fetch_sub(n, std::memory_order_acq_rel) == n)
      static_cast<const Derived*>(this)->destroy();
  }

protected:
  ref_counted() noexcept = default;
  ~ref_counted() = default;

private:
  friend void intrusive_ptr_add_ref(const ref_counted* p) noexcept {
    // A new reference is made from one that exists, so there is nothing to order.
    p->references_.fetch_add(1, std::memory_order_relaxed);
  }
  friend void intrusive_ptr_release(const ref_counted* p) noexcept { p->drop_references(1); }

  mutable std::atomic<std::uint32_t> references_ = 0;
};

/// Where tensors get their bytes: a device's pool, an account of the memory ledger, the plain heap.
///
/// Lifetime: tensors keep their memory alive. @threadsafe all members.
class SLUICE_API memory : public ref_counted<memory> {
public:
  static constexpr std::size_t alignment = 64; ///< of every block, in bytes

  virtual ~memory() = default;

  /// A block of `bytes` bytes. Throws errc::out_of_memory, naming who asked for what.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;

  /// Takes back what allocate(bytes) gave.
  virtual void deallocate(void* block, std::size_t bytes) noexcept = 0;

  /// The process's heap, counted by nobody: for feeds, tests and tools.
  [[nodiscard]] static memory& heap() noexcept;

protected:
  virtual void destroy() const noexcept { delete this; }

private:
  friend class ref_counted<memory>;
};

} // namespace sluice
