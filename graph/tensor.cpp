#include <sluice/graph/tensor.hpp>

#include <sluice/graph/tensor_block.hpp>

#include <memory>
#include <new>

namespace sluice {

namespace {

constexpr std::size_t header_bytes =
    (sizeof(tensor) + memory::alignment - 1) / memory::alignment * memory::alignment;

std::size_t bytes_of(element_type type, const shape& s) {
  const auto size = size_of(type);
  const auto n = static_cast<std::size_t>(s.elements());
  if (size == 0)
    throw error{errc::invalid_argument, "a tensor needs an element type"};
  if (n > (std::size_t{1} << 62) / size)
    throw error{errc::out_of_memory, "a tensor " + to_string(s) + " is larger than any memory"};
  return n * size;
}

} // namespace

tensor::tensor(element_type type, const sluice::shape& shape, sluice::layout l, std::size_t bytes,
               void* data) noexcept
  : value_body(value_kind::tensor), type_(type), layout_(l), bytes_(bytes), data_(data), shape_(shape) {}

tensor::~tensor() {
  if (type_ == element_type::string && owner_.empty() && !release_)
    std::destroy_n(static_cast<std::string*>(data_), elements());
  if (release_)
    release_();
}

void tensor::destroy() const noexcept {
  auto* self = const_cast<tensor*>(this);
  if (is_placed()) {
    self->~tensor();
    return;
  }
  if (!memory_) {
    delete self;
    return;
  }
  const auto from = std::move(self->memory_);
  const auto bytes = block_bytes_;
  self->~tensor();
  from->deallocate(self, bytes);
}

std::size_t tensor_block_bytes(std::size_t bytes) noexcept {
  return header_bytes + bytes;
}

std::size_t tensor_header_bytes() noexcept {
  return header_bytes;
}

std::size_t tensor_bytes(element_type type, const shape& s) {
  return bytes_of(type, s);
}

intrusive_ptr<tensor> tensor::make(element_type type, const sluice::shape& shape, memory& from) {
  return make_laid_out(type, shape, layout::plain, bytes_of(type, shape), from);
}

intrusive_ptr<tensor> tensor::make_laid_out(element_type type, const sluice::shape& shape, sluice::layout l,
                                            std::size_t bytes, memory& from) {
  auto* block = static_cast<std::byte*>(from.allocate(tensor_block_bytes(bytes)));
  auto* t = new (block) tensor{type, shape, l, bytes, block + header_bytes};
  t->memory_ = &from;
  t->block_bytes_ = tensor_block_bytes(bytes);
  if (type == element_type::string)
    std::uninitialized_default_construct_n(static_cast<std::string*>(t->data_), shape.elements());
  return t;
}

intrusive_ptr<tensor> tensor::make_at(void* header, void* elements, element_type type,
                                      const sluice::shape& shape, sluice::layout l, std::size_t bytes) {
  auto* t = new (header) tensor{type, shape, l, bytes, elements};
  t->block_bytes_ = block_of_others;
  return t;
}

intrusive_ptr<tensor> tensor::placed(element_type type, const sluice::shape& shape, void* elements,
                                     intrusive_ptr<const residence> where) {
  if (type == element_type::string)
    throw error{errc::invalid_argument, "strings stay in the host's memory"};
  intrusive_ptr<tensor> t{new tensor{type, shape, layout::plain, bytes_of(type, shape), elements}};
  t->where_ = std::move(where);
  return t;
}

value tensor::over(element_type type, const sluice::shape& shape, const void* elements,
                   std::function<void()> release) {
  if (type == element_type::string)
    throw error{errc::invalid_argument, "strings cannot be lent: copy them into a tensor"};
  intrusive_ptr<tensor> t{
      new tensor{type, shape, layout::plain, bytes_of(type, shape), const_cast<void*>(elements)}};
  t->release_ = std::move(release);
  return t;
}

value tensor::rows(const value& whole, std::int64_t first, std::int64_t count) {
  const auto& t = whole.tensor();
  if (t.layout_ != layout::plain || t.shape_.rank() == 0)
    throw error{errc::invalid_argument, describe(whole) + " has no rows to slice"};
  if (first < 0 || count < 0 || first > t.shape_[0] || count > t.shape_[0] - first)
    throw error{errc::invalid_argument, std::to_string(count) + " rows from row " + std::to_string(first) +
                                            " on are not in " + describe(whole)};
  const auto s = t.shape_.with(0, count);
  const auto row = bytes_of(t.type_, t.shape_.with(0, 1));
  intrusive_ptr<tensor> view{
      new tensor{t.type_, s, layout::plain, row * static_cast<std::size_t>(count),
                 static_cast<std::byte*>(t.data_) + row * static_cast<std::size_t>(first)}};
  view->owner_ = t.owner_.empty() ? whole : t.owner_;
  view->where_ = t.where_;
  return view;
}

value tensor::reshaped(const value& whole, const sluice::shape& shape) {
  const auto& t = whole.tensor();
  if (t.layout_ != layout::plain || shape.elements() != t.elements())
    throw error{errc::invalid_argument, describe(whole) + " cannot be seen as " + to_string(shape)};
  intrusive_ptr<tensor> view{new tensor{t.type_, shape, layout::plain, t.bytes_, t.data_}};
  view->owner_ = t.owner_.empty() ? whole : t.owner_;
  view->where_ = t.where_;
  return view;
}

void tensor::wrong_type(element_type asked) const {
  throw error{errc::invalid_argument,
              "a tensor of " + std::string{to_string(type_)} + ", not of " + std::string{to_string(asked)}};
}

void tensor::expect_elements(std::size_t n) const {
  if (n != static_cast<std::size_t>(elements()))
    throw error{errc::invalid_argument,
                std::to_string(n) + " elements do not fill the shape " + to_string(shape_)};
}

} // namespace sluice
