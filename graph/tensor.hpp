#pragma once

#include <sluice/graph/element_type.hpp>
#include <sluice/graph/residence.hpp>
#include <sluice/graph/shape.hpp>
#include <sluice/graph/value.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>

namespace sluice {

/// How a tensor's elements lie in memory.
enum class layout : std::uint8_t {
  plain,   ///< row-major, without gaps
  nchw8c,  ///< channels (axis 1) in blocks of 8, innermost; the last block is padded with zeros
  nchw16c, ///< channels (axis 1) in blocks of 16, innermost; the last block is padded with zeros
  packed,  ///< known only to the kernel that made it
};

/// An array of elements of one type. Whoever makes one may write to it until a `value` points to it.
///
/// Header and elements lie in one block of `memory`; views point into the block of the tensor they keep
/// alive.
class SLUICE_API tensor final : public value_body {
public:
  /// An uninitialised tensor (strings are empty). Throws errc::out_of_memory.
  [[nodiscard]] static intrusive_ptr<tensor> make(element_type type, const sluice::shape& shape,
                                                  memory& from = memory::heap());

  /// The same with `bytes` bytes for its elements, in a layout other than plain.
  [[nodiscard]] static intrusive_ptr<tensor> make_laid_out(element_type type, const sluice::shape& shape,
                                                           layout l, std::size_t bytes, memory& from);

  /// The same in bytes laid out by the caller, who frees them when nothing refers to the tensor any more: a
  /// header of tensor_header_bytes(), and `bytes` bytes of elements, both 64-byte aligned. Not for strings.
  [[nodiscard]] static intrusive_ptr<tensor> make_at(void* header, void* elements, element_type type,
                                                     const sluice::shape& shape, layout l, std::size_t bytes);

  /// A tensor whose elements lie at `elements`, in bytes that `where` keeps: on a device, for who made room
  /// there. Not for strings.
  [[nodiscard]] static intrusive_ptr<tensor> placed(element_type type, const sluice::shape& shape,
                                                    void* elements, intrusive_ptr<const residence> where);

  /// A tensor of the given elements; throws errc::invalid_argument if their number does not fit the shape.
  template <Element T>
  [[nodiscard]] static intrusive_ptr<tensor> of(const sluice::shape& shape, std::span<const T> elements,
                                                memory& from = memory::heap()) {
    auto t = make(element_type_of<T>, shape, from);
    t->expect_elements(elements.size());
    std::copy(elements.begin(), elements.end(), t->template data<T>().begin());
    return t;
  }
  template <Element T>
  [[nodiscard]] static intrusive_ptr<tensor> of(const sluice::shape& shape,
                                                std::initializer_list<T> elements) {
    return of<T>(shape, std::span<const T>{elements.begin(), elements.size()});
  }
  template <Element T>
  [[nodiscard]] static intrusive_ptr<tensor> of_scalar(T element) {
    return of<T>({}, {element});
  }

  /// A tensor over the caller's own memory, which is only read. `release` is called once, on any thread, when
  /// nothing uses it any more. `elements` must be aligned for the type; not for strings.
  [[nodiscard]] static value over(element_type type, const sluice::shape& shape, const void* elements,
                                  std::function<void()> release);

  /// Rows [first, first + count) of the first axis of `whole`, without a copy. Throws errc::invalid_argument
  /// if they are not there, or the layout is not plain.
  [[nodiscard]] static value rows(const value& whole, std::int64_t first, std::int64_t count);

  /// `whole` with another shape of as many elements, without a copy. Throws errc::invalid_argument.
  [[nodiscard]] static value reshaped(const value& whole, const sluice::shape& shape);

  [[nodiscard]] element_type type() const noexcept { return type_; }
  [[nodiscard]] const sluice::shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t elements() const noexcept { return shape_.elements(); }
  [[nodiscard]] sluice::layout layout() const noexcept { return layout_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; } ///< of the elements, padding included
  /// Whether it stands where make_at() was told.
  [[nodiscard]] bool is_placed() const noexcept { return block_bytes_ == block_of_others; }
  /// False for a view and for memory that a caller lent.
  [[nodiscard]] bool owns_elements() const noexcept { return owner_.empty() && !release_; }
  /// Where the elements are. Null: in the host's memory, ready. Elsewhere only that device's work reads them.
  [[nodiscard]] const residence* where() const noexcept { return where_.get(); }

  /// The elements. Throws errc::invalid_argument if T is not their type.
  template <Element T>
  [[nodiscard]] std::span<const T> data() const {
    expect_type(element_type_of<T>);
    return {static_cast<const T*>(data_), static_cast<std::size_t>(elements())};
  }
  template <Element T>
  [[nodiscard]] std::span<T> data() {
    expect_type(element_type_of<T>);
    return {static_cast<T*>(data_), static_cast<std::size_t>(elements())};
  }
  [[nodiscard]] const void* raw() const noexcept { return data_; }
  [[nodiscard]] void* raw() noexcept { return data_; }

private:
  struct block;

  tensor(element_type type, const sluice::shape& shape, sluice::layout l, std::size_t bytes,
         void* data) noexcept;
  ~tensor() override;
  void destroy() const noexcept override;
  void expect_type(element_type t) const {
    if (t != type_)
      wrong_type(t);
  }
  [[noreturn]] void wrong_type(element_type asked) const;
  void expect_elements(std::size_t n) const;

  static constexpr auto block_of_others = ~std::size_t{0}; // as block_bytes_: the block is somebody else's

  const element_type type_;
  const sluice::layout layout_;
  const std::size_t bytes_;
  void* const data_;
  const sluice::shape shape_;
  intrusive_ptr<memory> memory_; // of the block that this header stands in; null for one on the heap
  std::size_t block_bytes_ = 0;
  value owner_;                   // of a view: the tensor that owns the elements
  std::function<void()> release_; // of the caller's memory
  intrusive_ptr<const residence> where_;
};

template <class T>
T value::scalar() const {
  const auto elements = tensor().data<T>();
  if (elements.size() != 1)
    throw error{errc::invalid_argument, describe(*this) + " is not a scalar"};
  return elements.front();
}

} // namespace sluice
