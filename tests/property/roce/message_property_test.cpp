// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "roce/message.h"
#include "support/property.h"
#include "support/random_frame.h"
#include "support/reassembler.h"

namespace lw::roce {
namespace {

using wire::Operation;
using wire::Position;
using wire::Transport;

MessageFields random_message() {
  MessageFields m;
  m.transport =
      *rc::gen::element(Transport::rc, Transport::uc, Transport::rd, Transport::ud, Transport::xrc);
  m.operation = *rc::gen::element(Operation::send, Operation::write, Operation::read_request,
                                  Operation::read_response);
  m.mtu = *rc::gen::element(256u, 512u, 1024u, 2048u, 4096u);
  const bool datagram = m.transport == Transport::ud;
  m.length = *rc::gen::inRange<std::uint64_t>(0, (datagram ? 1 : 5) * m.mtu + 1);
  m.immediate = *rc::gen::arbitrary<bool>();
  m.invalidate = !m.immediate && *rc::gen::arbitrary<bool>();
  m.first_psn = wire::Psn{test::wide<std::uint32_t>()};
  m.solicited_event = *rc::gen::arbitrary<bool>();
  m.ack_every = *rc::gen::inRange(0u, 4u);
  return m;
}

std::vector<std::byte> frame_of(const MessageFields& m, const MessagePacket& packet,
                                Bytes whole_payload) {
  FrameFields f;
  f.bth.opcode = packet.opcode;
  f.bth.psn = packet.psn;
  f.bth.ack_req = packet.ack_req;
  f.bth.solicited_event = packet.solicited_event;
  f.reth.dma_length = static_cast<std::uint32_t>(m.length);
  return compose(f, whole_payload.subspan(packet.payload ? packet.offset : 0, packet.payload));
}

/// The rules of REFERENCE 1, said again: lengths by position, PSNs one by one, pads on the last.
void check_rules(const MessageFields& m, std::uint32_t index, const MessagePacket& packet) {
  const std::uint32_t count = packet_count(m);
  const auto* info = wire::find_opcode(packet.opcode);
  RC_ASSERT(info != nullptr);
  RC_ASSERT(packet.psn.value() == ((m.first_psn.value() + index) & 0xffffff));
  RC_ASSERT((packet.payload + packet.pad) % 4 == 0u);
  if (count > 1 && index + 1 < count) {
    RC_ASSERT(packet.payload == m.mtu);
    RC_ASSERT(packet.pad == 0);
    RC_ASSERT(info->position == (index == 0 ? Position::first : Position::middle));
  } else {
    RC_ASSERT(info->position == (count == 1 ? Position::only : Position::last));
    RC_ASSERT(info->extensions.has(wire::Extension::immdt) == m.immediate);
    RC_ASSERT(packet.solicited_event == m.solicited_event);
  }
}

RC_GTEST_PROP(Message, CutsByTheRulesAndComesBackWhole, ()) {
  const MessageFields m = random_message();
  RC_PRE(refusal_of(m).empty());
  const auto payload = test::random_payload(0);
  std::vector<std::byte> whole(m.length);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<std::byte>(i * 7 + i / 256);

  test::Reassembler reassembler(m.mtu);
  std::vector<std::byte> back(m.length);
  std::optional<test::ReceivedMessage> received;
  for (std::uint32_t i = 0; i < packet_count(m); ++i) {
    const MessagePacket packet = packet_of(m, i);
    check_rules(m, i, packet);
    const auto bytes = frame_of(m, packet, whole);
    const auto frame = parse(bytes);
    RC_ASSERT(frame.has_value());
    RC_ASSERT(!frame->defect.has_value());
    const auto outcome = reassembler.add(*frame);
    RC_ASSERT(outcome.violation == test::Violation::none);
    std::ranges::copy(frame->payload, back.begin() + static_cast<std::ptrdiff_t>(outcome.offset));
    received = outcome.completed;
  }
  RC_ASSERT(received.has_value());
  RC_ASSERT(received->message.length == m.length);
  RC_ASSERT(received->message.transport == m.transport);
  RC_ASSERT(received->message.operation == m.operation);
  RC_ASSERT(received->message.immediate == m.immediate);
  RC_ASSERT(received->message.invalidate == m.invalidate);
  RC_ASSERT(received->message.first_psn == m.first_psn);
  if (m.operation != Operation::read_request) RC_ASSERT(back == whole);
}

RC_GTEST_PROP(Message, AMissingPacketIsAPsnGap, ()) {
  MessageFields m;
  m.operation = Operation::write;
  m.mtu = 256;
  m.length = *rc::gen::inRange<std::uint64_t>(3 * 256, 8 * 256);
  m.first_psn = wire::Psn{test::wide<std::uint32_t>()};
  const auto lost = *rc::gen::inRange(1u, packet_count(m) - 1);
  const std::vector<std::byte> whole(m.length);
  test::Reassembler reassembler(m.mtu);
  for (std::uint32_t i = 0; i < packet_count(m); ++i) {
    if (i == lost) continue;
    const auto bytes = frame_of(m, packet_of(m, i), whole);
    const auto outcome = reassembler.add(*parse(bytes));
    RC_ASSERT(!outcome.completed.has_value());
    if (i < lost) RC_ASSERT(outcome.violation == test::Violation::none);
    if (i == lost + 1) RC_ASSERT(outcome.violation == test::Violation::psn_gap);
  }
}

}  // namespace
}  // namespace lw::roce
