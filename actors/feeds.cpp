#include <sluice/actors/feeds.hpp>

#include <algorithm>
#include <complex>

namespace sluice {

feeds& feeds::set(std::string_view name, value v) {
  const auto at = std::find_if(items_.begin(), items_.end(), [&](const feed& f) { return f.name == name; });
  if (at != items_.end())
    at->content = std::move(v);
  else
    items_.emplace_back(std::string{name}, std::move(v));
  return *this;
}

bool values::has(std::string_view name) const noexcept {
  return std::find(names_->begin(), names_->end(), name) != names_->end();
}

const value& values::at(std::size_t i) const {
  if (i < items_.size())
    return items_[i];
  throw error{errc::invalid_argument, "there is no result number " + std::to_string(i) + "; there are " +
                                          std::to_string(items_.size())};
}

const value& values::operator[](std::string_view name) const {
  const auto at = std::find(names_->begin(), names_->end(), name);
  if (at != names_->end())
    return items_[static_cast<std::size_t>(at - names_->begin())];
  std::string known;
  for (const auto& n : *names_)
    known += (known.empty() ? "" : ", ") + n;
  throw error{errc::invalid_argument, "there is no result '" + std::string{name} + "'; there are: " + known};
}

std::int64_t argmax(const value& v) {
  return visit_element_type(v.tensor().type(), [&]<class T>(std::type_identity<T>) -> std::int64_t {
    if constexpr (requires(T a, T b) { a < b; }) {
      const auto data = v.tensor().data<T>();
      if (data.empty())
        throw error{errc::invalid_argument, "argmax of an empty tensor"};
      return std::max_element(data.begin(), data.end()) - data.begin();
    } else {
      throw error{errc::invalid_argument, "argmax of " + describe(v) + ", which has no order"};
    }
  });
}

} // namespace sluice
