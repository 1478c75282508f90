// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/packet.h"
#include "roce/envelope.h"
#include "roce/frame.h"
#include "support/property.h"
#include "support/random_frame.h"

namespace lw::analysis {
namespace {

void assert_same(const KeyedPacket& one, const KeyedPacket& other) {
  const auto &a = one.packet, &b = other.packet;
  RC_ASSERT(a.number == b.number);
  RC_ASSERT(a.stamp == b.stamp);
  RC_ASSERT(a.info == b.info);
  RC_ASSERT(a.va == b.va);
  RC_ASSERT(a.flow == b.flow);
  RC_ASSERT(a.psn == b.psn);
  RC_ASSERT(a.payload == b.payload);
  RC_ASSERT(a.dma_length == b.dma_length);
  RC_ASSERT(a.r_key == b.r_key);
  RC_ASSERT(a.immediate == b.immediate);
  RC_ASSERT(a.source_qp == b.source_qp);
  RC_ASSERT(a.msn == b.msn);
  RC_ASSERT(a.wire_length == b.wire_length);
  RC_ASSERT(a.ip_id == b.ip_id);
  RC_ASSERT(a.source_port == b.source_port);
  RC_ASSERT(a.p_key == b.p_key);
  RC_ASSERT(a.syndrome == b.syndrome);
  RC_ASSERT(a.ecn == b.ecn);
  RC_ASSERT(a.pad == b.pad);
  RC_ASSERT(a.has_reth == b.has_reth);
  RC_ASSERT(a.has_aeth == b.has_aeth);
  RC_ASSERT(a.has_immediate == b.has_immediate);
  RC_ASSERT(a.ack_req == b.ack_req);
  RC_ASSERT(a.bad_icrc == b.bad_icrc);
  RC_ASSERT(a.good_icrc == b.good_icrc);
  RC_ASSERT(a.becn == b.becn);
  RC_ASSERT(a.complete == b.complete);
  RC_ASSERT(one.key == other.key);
  RC_ASSERT(one.hash == other.hash);
  RC_ASSERT(one.encapsulation == other.encapsulation);
  RC_ASSERT(one.rare == nullptr && other.rare == nullptr);
}

/// Puts in the right ICRC, where the frame's lengths say where.
void mend_icrc(std::vector<std::byte>& bytes) {
  if (const auto place = roce::expected_icrc(roce::open_envelope(bytes)))
    wire::store_icrc(wire::MutableBytes(bytes).subspan(place->offset, wire::kIcrcSize),
                     place->expected);
}

// Most frames of a capture are read without parsing.
RC_GTEST_PROP(PacketReader, ReadsPlainFramesAsIfTheyWereParsed, ()) {
  auto bytes = roce::compose(test::random_frame(), test::random_payload(200));
  // A damaged opcode, pad count or length, of which the ICRC knows.
  if (*rc::gen::arbitrary<bool>())
    bytes[*rc::gen::inRange<std::size_t>(14, 54)] ^=
        static_cast<std::byte>(1U << *rc::gen::inRange(0, 8));
  mend_icrc(bytes);
  if (*rc::gen::inRange(0, 8) == 0) bytes.resize(*rc::gen::inRange<std::size_t>(1, bytes.size()));
  const roce::Envelope envelope = roce::open_envelope(bytes);
  const roce::IcrcVerdict icrc = roce::check_icrc(envelope);
  KeyedPacket plain;
  const bool taken = PacketReader::read_plain(
      {.number = 7, .stamp = Instant{Duration{9}}, .point = 3, .envelope = envelope, .icrc = icrc},
      plain);
  const auto frame = roce::parse(envelope);
  const bool usual = frame && envelope.plain && !frame->defect &&
                     frame->info->transport != wire::Transport::ud &&
                     frame->info->transport != wire::Transport::rd;
  RC_CLASSIFY(usual, "plain");
  RC_ASSERT(taken == usual);
  if (!taken) return;
  PacketReader reader;
  const KeyedPacket parsed = reader.read(
      {.number = 7, .stamp = Instant{Duration{9}}, .point = 3, .frame = *frame, .icrc = icrc});
  assert_same(plain, parsed);
}

}  // namespace
}  // namespace lw::analysis
