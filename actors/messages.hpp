#pragma once

#include <sluice/actors/feeds.hpp>
#include <sluice/graph/value_codec.hpp>

#include <caf/error.hpp>
#include <caf/fwd.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/meta/save_callback.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/sec.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// What other actors may send to a session and its nodes, also from another process.
namespace sluice {

/// To a session: run once. Answered with run_reply, or a CAF error that carries the message.
struct run_request {
  sluice::feeds inputs;
  std::vector<std::string> fetch{};     ///< empty: all outputs
  std::chrono::nanoseconds deadline{0}; ///< from arrival; 0: none
};

struct run_reply {
  std::vector<std::pair<std::string, value>> results;
};

/// To a session: open a frame, some of whose inputs come later as tokens. Answered with frame_opened when it
/// is admitted, and with run_reply, as a message of its own, when it ends.
struct open_frame {
  sluice::feeds inputs;
  std::vector<std::string> external;                            ///< names of the values that come as tokens
  std::vector<std::string> fetch{};                             ///< empty: all outputs
  std::chrono::nanoseconds deadline = std::chrono::seconds{30}; ///< mandatory: what never comes must not hang
};

struct frame_opened {
  std::uint64_t frame = 0;
};

/// To a session: the outcome of a frame that was opened. Answered with run_reply, or an error.
struct await_frame {
  std::uint64_t frame = 0;
};

/// To a node: an input of a frame that was opened with it as external. `port` is the node's input.
struct token {
  std::uint64_t frame = 0;
  std::uint32_t port = 0;
  value content;
};

template <class Inspector>
auto inspect_value(Inspector& f, std::string& bytes, value& v) {
  return f(caf::meta::save_callback([&]() -> caf::error {
             try {
               bytes = encode(v);
               return {};
             } catch (const error& e) {
               return caf::make_error(caf::sec::invalid_argument, std::string{e.what()});
             }
           }),
           bytes, caf::meta::load_callback([&]() -> caf::error {
             try {
               v = decode(bytes);
               return {};
             } catch (const error& e) {
               return caf::make_error(caf::sec::invalid_argument, std::string{e.what()});
             }
           }));
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, value& v) {
  std::string bytes;
  return inspect_value(f, bytes, v);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, feeds& x) {
  std::vector<std::pair<std::string, value>> items;
  return f(caf::meta::save_callback([&]() -> caf::error {
             for (const auto& item : x.items())
               items.emplace_back(item.name, item.content);
             return {};
           }),
           items, caf::meta::load_callback([&]() -> caf::error {
             for (auto& [name, v] : items)
               x.set(name, std::move(v));
             return {};
           }));
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, run_request& x) {
  return f(caf::meta::type_name("sluice::run_request"), x.inputs, x.fetch, x.deadline);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, run_reply& x) {
  return f(caf::meta::type_name("sluice::run_reply"), x.results);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, open_frame& x) {
  return f(caf::meta::type_name("sluice::open_frame"), x.inputs, x.external, x.fetch, x.deadline);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, frame_opened& x) {
  return f(caf::meta::type_name("sluice::frame_opened"), x.frame);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, await_frame& x) {
  return f(caf::meta::type_name("sluice::await_frame"), x.frame);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, token& x) {
  return f(caf::meta::type_name("sluice::token"), x.frame, x.port, x.content);
}

/// Makes the types above known to actor systems of this configuration, so that they travel between processes.
SLUICE_API void register_message_types(caf::actor_system_config& config);

} // namespace sluice
