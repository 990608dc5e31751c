#include <sluice/actors/recent_call.hpp>

#include <algorithm>

namespace sluice {

namespace {

/// Whether plans cannot tell `v` from values of type `t`.
bool has_type(const value& v, const value_type& t) {
  if (!v.is(value_kind::tensor))
    return !t.known();
  const auto& x = v.tensor();
  if (!t.is_tensor() || t.element() != x.type() || t.shape().rank() != x.shape().rank())
    return false;
  for (std::size_t i = 0; i < x.shape().rank(); ++i)
    if (t.shape()[i].extent() != x.shape()[i])
      return false;
  return true;
}

} // namespace

bool recent_call::is_like(const feeds& inputs, std::span<const std::string> fetch) const {
  const auto given = inputs.items();
  if (!plan_ || names_.size() != given.size() ||
      !std::equal(fetch.begin(), fetch.end(), fetch_.begin(), fetch_.end()))
    return false;
  const auto& fed = plan_->source->fed;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (given[i].name != names_[i] || !has_type(given[i].content, fed[positions_[i]].type))
      return false;
  return true;
}

bool recent_call::resolve(feeds& inputs, std::span<const std::string> fetch, run_state& r) const {
  if (!is_like(inputs, fetch))
    return false;
  r.plan = plan_;
  r.feeds.resize(names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i)
    r.feeds[positions_[i]] = std::move(inputs.items()[i].content);
  return true;
}

void recent_call::remember(const feeds& inputs, std::vector<std::uint32_t> positions,
                           std::span<const std::string> fetch, std::shared_ptr<const executable_plan> p) {
  names_.clear();
  for (const auto& f : inputs.items())
    names_.push_back(f.name);
  positions_ = std::move(positions);
  fetch_.assign(fetch.begin(), fetch.end());
  plan_ = std::move(p);
}

} // namespace sluice
