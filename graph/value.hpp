#pragma once

#include <sluice/graph/error.hpp>
#include <sluice/graph/memory.hpp>

#include <cstdint>
#include <string>
#include <typeindex>
#include <utility>

namespace sluice {

class tensor;
class sequence;
class dictionary;
class optional_value;

/// What a value holds.
enum class value_kind : std::uint8_t { tensor, sequence, map, optional, object };

[[nodiscard]] SLUICE_API std::string_view to_string(value_kind k) noexcept;

/// What a value points to. Immutable once a value points to it.
class SLUICE_API value_body : public ref_counted<value_body> {
public:
  virtual ~value_body() = default;
  [[nodiscard]] value_kind kind() const noexcept { return kind_; }

protected:
  explicit value_body(value_kind kind) noexcept : kind_(kind) {}
  virtual void destroy() const noexcept { delete this; }

private:
  friend class ref_counted<value_body>;
  const value_kind kind_;
};

/// A C++ object of any type, as it travels along the edges of a graph.
class SLUICE_API object_body : public value_body {
public:
  [[nodiscard]] std::type_index type() const noexcept { return type_; }

protected:
  explicit object_body(std::type_index type) noexcept : value_body(value_kind::object), type_(type) {}

private:
  const std::type_index type_;
};

namespace detail {
template <class T>
struct held_object final : object_body {
  template <class... Args>
  explicit held_object(Args&&... args) : object_body(typeid(T)), object(std::forward<Args>(args)...) {}
  T object;
};
} // namespace detail

/// What flows through a graph: a handle, one pointer wide, to an immutable tensor, sequence, map, optional or
/// C++ object; or empty. Copying shares.
///
/// @threadsafe as std::shared_ptr: what it points to may be read by all, the handle itself by one writer.
class SLUICE_API value {
public:
  value() noexcept = default;
  value(intrusive_ptr<const value_body> body) noexcept
    : body_(std::move(body)) {} // NOLINT(google-explicit-constructor)
  template <class Body>
  requires std::is_base_of_v<value_body, Body> value(intrusive_ptr<Body> body)
  noexcept // NOLINT(google-explicit-constructor): publishing is the normal thing to do
    : body_(std::move(body)) {}

  /// A value that holds a C++ object built from `args`.
  template <class T, class... Args>
  [[nodiscard]] static value make_object(Args&&... args) {
    return value{intrusive_ptr<const value_body>{new detail::held_object<T>(std::forward<Args>(args)...)}};
  }

  [[nodiscard]] bool empty() const noexcept { return !body_; }
  explicit operator bool() const noexcept { return !empty(); }
  [[nodiscard]] value_kind kind() const noexcept { return body_->kind(); } ///< only if not empty
  [[nodiscard]] bool is(value_kind k) const noexcept { return body_ && body_->kind() == k; }

  /// What it holds. Each throws errc::invalid_argument, saying what is there instead.
  [[nodiscard]] const sluice::tensor& tensor() const;
  [[nodiscard]] const sluice::sequence& sequence() const;
  [[nodiscard]] const sluice::dictionary& map() const;
  [[nodiscard]] const sluice::optional_value& optional() const;
  template <class T>
  [[nodiscard]] const T& object() const {
    expect_object(typeid(T));
    return static_cast<const detail::held_object<T>&>(*body_).object;
  }

  /// The only element of a tensor of one element. Throws errc::invalid_argument for anything else.
  template <class T>
  [[nodiscard]] T scalar() const;

  /// True if nobody else shares what it holds.
  [[nodiscard]] bool unique() const noexcept { return body_ && body_->unique(); }
  [[nodiscard]] const value_body* body() const noexcept { return body_.get(); }

  void reset() noexcept { body_.reset(); }

  /// Gives the reference up to whoever adopts it; null if empty.
  [[nodiscard]] const value_body* release() noexcept { return body_.detach(); }
  /// Takes a reference that was counted before.
  [[nodiscard]] static value adopt(const value_body* counted) noexcept {
    return value{intrusive_ptr<const value_body>{counted, false}};
  }

private:
  void expect(value_kind k) const;
  void expect_object(std::type_index t) const;

  intrusive_ptr<const value_body> body_;
};

/// A short description: "float32[1, 10]", "sequence of 3", "empty".
[[nodiscard]] SLUICE_API std::string describe(const value& v);

} // namespace sluice
