#include <sluice/actors/session.hpp>

#include <sluice/actors/handles.hpp>
#include <sluice/actors/session_core.hpp>
#include <sluice/actors/tracer.hpp>

#include <algorithm>

namespace sluice {

namespace {

void refuse_on_worker(const session_core& core) {
  if (worker::current())
    throw error{errc::blocking_call, "run() of session '" + core.setup().options.name +
                                         "' would block a worker thread: use run_async() there"};
}

values outcome(const intrusive_ptr<run_state>& r) {
  r->wait();
  return r->take();
}

} // namespace

values session::run(feeds inputs, const run_options& options) {
  refuse_on_worker(*core_);
  return outcome(core_->submit(std::move(inputs), options, true));
}

values session::run_into(feeds inputs, feeds results, const run_options& options) {
  refuse_on_worker(*core_);
  auto asked = options;
  if (asked.fetch.empty())
    asked.fetch.assign(model().output_names().begin(), model().output_names().end());
  std::vector<value> into(asked.fetch.size());
  for (auto& r : results.items()) {
    const auto at = std::find(asked.fetch.begin(), asked.fetch.end(), r.name);
    if (at == asked.fetch.end())
      throw error{errc::invalid_argument,
                  "there is no result '" + r.name + "' to write to the caller's memory"};
    into[static_cast<std::size_t>(at - asked.fetch.begin())] = std::move(r.content);
  }
  return outcome(core_->submit(std::move(inputs), asked, true, std::move(into)));
}

pending_result session::run_async(feeds inputs, const run_options& options) {
  return pending_result{core_->submit(std::move(inputs), options, false)};
}

const graph& session::model() const noexcept {
  return *core_->setup().model;
}
const std::string& session::name() const noexcept {
  return core_->setup().options.name;
}
thread_settings session::threads() const noexcept {
  return {core_->setup().intra_op, core_->setup().threads->concurrency()};
}
std::uint32_t session::window() const noexcept {
  return core_->setup().window;
}
std::size_t session::memory_in_use() const noexcept {
  return core_->ledger().in_use();
}
std::size_t session::memory_peak() const noexcept {
  return core_->ledger().peak();
}
std::string session::memory_report() const {
  auto text = core_->ledger().report();
  const auto& devices = core_->devices();
  for (std::uint32_t d = 1; d < devices.count(); ++d)
    text += '\n' + devices.ledger(d)->report();
  return text;
}
std::uint64_t session::memory_needed(feeds inputs) const {
  return core_->memory_needed(std::move(inputs));
}
std::string session::explain(std::string_view node) const {
  return core_->explain(node);
}
std::string session::explain_cuts() const {
  return core_->explain_cuts();
}
void session::start_trace() {
  core_->start_trace();
}
void session::write_trace(std::ostream& to) const {
  core_->write_trace(to);
}
void session::close(std::chrono::nanoseconds drain) {
  core_->close(drain);
}

caf::actor handle_of(const session& s) {
  return s.core()->session_actor();
}

caf::actor node_of(const session& s, std::string_view name) {
  if (auto found = s.core()->node(name))
    return *found;
  throw error{errc::invalid_argument, "session '" + s.name() + "' has no node '" + std::string{name} + '\''};
}

} // namespace sluice
