#pragma once

#include <sluice/graph/tensor.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// One input of a run: a name, and a value or a C++ number that becomes a scalar.
struct feed {
  feed(std::string n, value v) : name(std::move(n)), content(std::move(v)) {}
  template <class Body>
  requires std::is_base_of_v<value_body, Body> feed(std::string n, intrusive_ptr<Body> v)
    : name(std::move(n)), content(std::move(v)) {}
  template <Element T>
  feed(std::string n, T scalar) : name(std::move(n)), content(tensor::of_scalar<T>(std::move(scalar))) {}

  std::string name;
  value content;
};

/// The inputs of a run, by name. A braced list shares its values with the caller; set() with std::move gives
/// a value away, so that it can be worked on in place.
class SLUICE_API feeds {
public:
  feeds() = default;
  feeds(std::initializer_list<feed> items) : items_(items) {}

  /// Adds an input, or replaces the one of that name.
  feeds& set(std::string_view name, value v);

  [[nodiscard]] std::span<feed> items() noexcept { return items_; }
  [[nodiscard]] std::span<const feed> items() const noexcept { return items_; }

private:
  std::vector<feed> items_;
};

/// The results of a run, by name, in the order in which they were asked for.
class SLUICE_API values {
public:
  values() : names_(std::make_shared<const std::vector<std::string>>()) {}
  values(std::shared_ptr<const std::vector<std::string>> names, std::vector<value> items)
    : names_(std::move(names)), items_(std::move(items)) {}

  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] bool has(std::string_view name) const noexcept;
  /// Throws errc::invalid_argument, listing the names there are.
  [[nodiscard]] const value& operator[](std::string_view name) const;
  /// By position. Throws errc::invalid_argument where there is none.
  [[nodiscard]] const value& at(std::size_t i) const;
  [[nodiscard]] const std::string& name(std::size_t i) const { return names_->at(i); }
  [[nodiscard]] std::vector<value>& items() noexcept { return items_; }
  [[nodiscard]] const std::vector<value>& items() const noexcept { return items_; }
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return *names_; }

private:
  std::shared_ptr<const std::vector<std::string>> names_;
  std::vector<value> items_;
};

/// Position of the largest element of a tensor of any numeric type.
[[nodiscard]] SLUICE_API std::int64_t argmax(const value& v);

} // namespace sluice
