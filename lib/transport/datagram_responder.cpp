// SPDX-License-Identifier: BSD-3-Clause
#include "transport/datagram_responder.h"

namespace lw::transport {

void DatagramResponder::receive(const Packet& packet, Instant now) {
  const OpcodeMeaning& meaning = meaning_of(packet.opcode);
  if (config_.transport == wire::Transport::uc && packet.psn != expected_) {
    ++counters_.out_of_sequence;
    sink_.abandon();
  }
  expected_ = packet.psn + 1;
  // A message that begins ends an unfinished one before it: its last packet never came.
  if (meaning.begins) sink_.abandon();
  const bool taken =
      meaning.known && sink_.in_place(meaning) && sink_.take(packet, meaning, now) == Refusal::none;
  if (!taken) sink_.abandon();
  ++(taken ? counters_.packets : counters_.dropped);
}

}  // namespace lw::transport
