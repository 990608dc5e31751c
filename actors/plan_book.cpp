#include <sluice/actors/plan_book.hpp>

#include <boost/algorithm/string/join.hpp>

#include <algorithm>

namespace sluice {

namespace {

/// The type of a fed value, as far as plans tell values apart.
value_type exact_type(const value& v) {
  return v.is(value_kind::tensor) ? value_type::of(v) : value_type{};
}

std::string key_of(const plan_request& request, std::span<const std::string> result_names) {
  std::string key;
  const auto append = [&key](const auto& x) { key.append(reinterpret_cast<const char*>(&x), sizeof x); };
  for (const auto& f : request.fed) {
    append(f.edge);
    key += to_string(f.type);
  }
  key += '|';
  for (std::size_t i = 0; i < request.fetch.size(); ++i) {
    append(request.fetch[i]);
    key += result_names[i] + '|'; // a value may be fetched by several names
  }
  return key;
}

} // namespace

plan_book::plan_book(const graph& g, plan_request like, std::size_t capacity)
  : graph_(g), like_(std::move(like)), capacity_(capacity) {}

edge_index plan_book::fed_edge(const std::string& name, const char* what) const {
  const auto e = graph_.find_edge(name);
  if (e != no_edge)
    return e;
  std::vector<std::string> inputs;
  for (const auto i : graph_.inputs())
    inputs.push_back(graph_.at_edge(i).name);
  throw error{errc::invalid_argument,
              std::string{what} + " '" + name +
                  "' is not in the graph; its inputs are: " + boost::algorithm::join(inputs, ", ")};
}

edge_index plan_book::fetched_edge(const std::string& name) const {
  const auto e = graph_.find_edge(name);
  if (e != no_edge)
    return e;
  const std::vector<std::string> outputs{graph_.output_names().begin(), graph_.output_names().end()};
  throw error{errc::invalid_argument, "value '" + name + "' is not in the graph; its outputs are: " +
                                          boost::algorithm::join(outputs, ", ")};
}

plan_book::resolved plan_book::resolve(feeds& inputs, std::span<const std::string> fetch,
                                       std::span<const std::string> external) {
  struct fed_value {
    plan_request::fed_edge fed;
    value content;
    std::size_t given; // position in the call
  };
  std::vector<fed_value> given;
  for (auto& f : inputs.items()) {
    const auto e = fed_edge(f.name, "input");
    const auto& declared = graph_.at_edge(e).type;
    if (f.content.empty())
      throw error{errc::invalid_argument, "input '" + f.name + "' is fed an empty value"};
    if (!declared.admits(f.content))
      throw error{errc::invalid_argument, "input '" + f.name + "' takes " + to_string(declared) +
                                              ", but is fed " + describe(f.content)};
    given.push_back({{e, exact_type(f.content), {}}, std::move(f.content), given.size()});
  }
  for (const auto& name : external) {
    const auto e = fed_edge(name, "external input");
    given.push_back({{e, {}, {}}, {}, given.size()});
  }
  std::sort(given.begin(), given.end(), [](const auto& a, const auto& b) { return a.fed.edge < b.fed.edge; });
  const auto twice = std::adjacent_find(
      given.begin(), given.end(), [](const auto& a, const auto& b) { return a.fed.edge == b.fed.edge; });
  if (twice != given.end())
    throw error{errc::invalid_argument, "input '" + graph_.at_edge(twice->fed.edge).name + "' is fed twice"};

  resolved result;
  auto order = std::make_unique<ticket>();
  order->request = like_;
  result.positions.resize(given.size());
  for (std::uint32_t i = 0; i < given.size(); ++i) {
    result.positions[given[i].given] = i;
    if (given[i].content.empty())
      result.external.push_back(i);
    order->request.fed.push_back(std::move(given[i].fed));
    result.feeds.push_back(std::move(given[i].content));
  }
  if (fetch.empty()) {
    order->request.fetch.assign(graph_.outputs().begin(), graph_.outputs().end());
    order->result_names.assign(graph_.output_names().begin(), graph_.output_names().end());
  }
  for (const auto& name : fetch) {
    order->request.fetch.push_back(fetched_edge(name));
    order->result_names.push_back(name);
  }
  order->key = key_of(order->request, order->result_names);

  const std::lock_guard lock{mutex_};
  const auto at =
      std::find_if(plans_.begin(), plans_.end(), [&](const entry& e) { return e.key == order->key; });
  if (at == plans_.end()) {
    result.order = std::move(order);
    return result;
  }
  plans_.splice(plans_.begin(), plans_, at);
  result.plan = at->plan;
  return result;
}

std::unique_ptr<plan_book::ticket> plan_book::order_of(const executable_plan& p) const {
  auto order = std::make_unique<ticket>();
  order->request = like_;
  order->request.fed = p.source->fed;
  order->request.fetch = p.source->fetch;
  order->result_names = *p.result_names;
  order->key = key_of(order->request, order->result_names);
  return order;
}

void plan_book::forget_users_of(std::uint32_t d) {
  const std::lock_guard lock{mutex_};
  plans_.remove_if(
      [&](const entry& e) { return !e.plan->source->devices.empty() && e.plan->source->uses(d); });
}

bool plan_book::wait_for(const std::string& key, run_state& r) {
  const std::lock_guard lock{mutex_};
  auto& waiting = waiting_[key];
  waiting.emplace_back(&r);
  return waiting.size() == 1;
}

std::vector<intrusive_ptr<run_state>> plan_book::file(const std::string& key,
                                                      std::shared_ptr<const executable_plan> p) {
  const std::lock_guard lock{mutex_};
  if (p) {
    plans_.remove_if([&](const entry& e) { return e.key == key; });
    plans_.push_front({key, std::move(p)});
    if (plans_.size() > capacity_)
      plans_.pop_back();
  }
  const auto at = waiting_.find(key);
  if (at == waiting_.end())
    return {};
  auto waiting = std::move(at->second);
  waiting_.erase(at);
  return waiting;
}

bool plan_book::leave(run_state& r) {
  const std::lock_guard lock{mutex_};
  for (auto& [key, waiting] : waiting_) {
    const auto at = std::find(waiting.begin(), waiting.end(), &r);
    if (at == waiting.end())
      continue;
    // The entry stays even if empty: somebody makes that plan and will file it.
    waiting.erase(at);
    return true;
  }
  return false;
}

std::vector<intrusive_ptr<run_state>> plan_book::take_waiting() {
  const std::lock_guard lock{mutex_};
  std::vector<intrusive_ptr<run_state>> all;
  for (auto& [key, waiting] : waiting_) {
    all.insert(all.end(), waiting.begin(), waiting.end());
    waiting.clear();
  }
  return all;
}

bool plan_book::nobody_waits() const {
  const std::lock_guard lock{mutex_};
  return std::all_of(waiting_.begin(), waiting_.end(), [](const auto& w) { return w.second.empty(); });
}

void plan_book::forget(const executable_plan& p) {
  const std::lock_guard lock{mutex_};
  plans_.remove_if([&](const entry& e) { return e.plan.get() == &p; });
}

std::shared_ptr<const executable_plan> plan_book::newest() const {
  const std::lock_guard lock{mutex_};
  for (const auto& e : plans_)
    if (std::equal(e.plan->source->fetch.begin(), e.plan->source->fetch.end(), graph_.outputs().begin(),
                   graph_.outputs().end()))
      return e.plan;
  return plans_.empty() ? nullptr : plans_.front().plan;
}

} // namespace sluice
