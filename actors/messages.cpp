#include <sluice/actors/messages.hpp>

#include <caf/actor_system_config.hpp>

namespace sluice {

void register_message_types(caf::actor_system_config& config) {
  config.add_message_type<run_request>("sluice::run_request")
      .add_message_type<run_reply>("sluice::run_reply")
      .add_message_type<open_frame>("sluice::open_frame")
      .add_message_type<frame_opened>("sluice::frame_opened")
      .add_message_type<await_frame>("sluice::await_frame")
      .add_message_type<token>("sluice::token");
}

} // namespace sluice
