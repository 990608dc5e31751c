#include <sluice/actors/node_actor.hpp>

#include <sluice/actors/messages.hpp>

#include <caf/exit_reason.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/sec.hpp>
#include <caf/system_messages.hpp>

namespace sluice {

void node_actor::enqueue(caf::mailbox_element_ptr message, caf::execution_unit* unit) {
  const auto session = host_.lock();
  const auto& content = message->content();
  if (content.match_elements<caf::exit_msg>()) {
    const auto reason = content.get_as<caf::exit_msg>(0).reason;
    if (!reason || killed_.exchange(true))
      return; // somebody linked ended as planned, or it is dead already
    if (session)
      session->node_killed(cell_);
    cleanup(caf::error{reason}, unit);
    return;
  }
  if (handle_system_message(*message, unit, false))
    return;
  // Not bounce(): it tells the sender nothing but that somebody is down.
  const auto answer = [&](caf::message reply) {
    if (message->sender && message->mid.is_request())
      message->sender->enqueue(caf::strong_actor_ptr{ctrl()}, message->mid.response_id(), std::move(reply),
                               unit);
  };
  if (!session || fail_state())
    answer(caf::make_message(caf::make_error(caf::sec::request_receiver_down)));
  else if (!content.match_elements<token>())
    answer(caf::make_message(caf::make_error(caf::sec::unexpected_message)));
  else {
    const auto& t = content.get_as<token>(0);
    const auto refusal = session->take_token(cell_, t.frame, t.port, t.content);
    answer(refusal.empty() ? caf::message{}
                           : caf::make_message(caf::make_error(caf::sec::invalid_argument, refusal)));
  }
}

} // namespace sluice
