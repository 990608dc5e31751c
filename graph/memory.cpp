#include <sluice/graph/memory.hpp>

#include <sluice/graph/error.hpp>

#include <cstdlib>
#include <string>

namespace sluice {

namespace {

class heap_memory final : public memory {
public:
  void* allocate(std::size_t bytes) override {
    const auto rounded = (bytes + alignment - 1) / alignment * alignment;
    if (auto* block = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded))
      return block;
    throw error{errc::out_of_memory, "the heap has no " + std::to_string(bytes) + " bytes left"};
  }
  void deallocate(void* block, std::size_t) noexcept override { std::free(block); }

private:
  void destroy() const noexcept override {}
};

} // namespace

memory& memory::heap() noexcept {
  // Never destroyed: tensors in static objects may outlive any order of destruction.
  static auto& heap = *new heap_memory;
  return heap;
}

} // namespace sluice
