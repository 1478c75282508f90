// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/flow_cursor.h"
#include "gen/traffic/frame_template.h"
#include "support/property.h"
#include "support/random_frame.h"
#include "wire/signature.h"

namespace lw::gen {
namespace template_property_test {

using wire::Operation;
using wire::Transport;

VariableFields random_fields() {
  VariableFields m;
  m.psn = wire::Psn{test::wide<std::uint32_t>()};
  m.ack_req = *rc::gen::arbitrary<bool>();
  m.va = test::wide<std::uint64_t>();
  m.msn = test::wide<std::uint32_t>();
  m.immediate = test::wide<std::uint32_t>();
  m.sequence = test::wide<std::uint64_t>();
  m.send_time_ns = test::wide<std::uint64_t>();
  return m;
}

/// The frame with other variable fields, composed from scratch.
std::vector<std::byte> from_scratch(roce::FrameFields fields, const VariableFields& values,
                                    std::vector<std::byte> payload,
                                    const std::uint32_t* signed_by) {
  fields.bth.psn = values.psn;
  fields.bth.ack_req = values.ack_req;
  fields.reth.va = fields.atomiceth.va = values.va;
  fields.aeth.msn = values.msn & 0xffffff;
  fields.immdt.immediate = values.immediate;
  if (signed_by != nullptr) {
    wire::view<wire::Signature>(wire::MutableBytes(payload))
        ->set_words(wire::Signature::kMagic2, *signed_by, values.sequence, values.send_time_ns);
  }
  return roce::compose(fields, payload);
}

RC_GTEST_PROP(FrameTemplate, WritesAndPatchesWhatComposeComposes, ()) {
  const auto fields = test::random_frame();
  const auto payload = test::random_payload(4096);
  const auto flow = test::wide<std::uint32_t>();
  const bool is_signed = payload.size() >= sizeof(wire::Signature) && *rc::gen::arbitrary<bool>();
  const std::uint32_t* signed_by = is_signed ? &flow : nullptr;
  LayoutCache layouts;
  const FrameTemplate frame(fields, payload, signed_by, layouts);

  std::vector<std::byte> out(frame.size(), std::byte{0xa5});
  const VariableFields first = random_fields();
  frame.write(first, out);
  RC_ASSERT(out == from_scratch(fields, first, payload, signed_by));
  const VariableFields second = random_fields();
  frame.patch(second, out);
  RC_ASSERT(out == from_scratch(fields, second, payload, signed_by));
}

RC_GTEST_PROP(FrameTemplate, AVariablePayloadHasAnyLength, ()) {
  const auto fields = test::random_frame();
  const std::vector<std::byte> longest(4096, std::byte{0x5a});
  const auto flow = test::wide<std::uint32_t>();
  const bool is_signed = *rc::gen::arbitrary<bool>();
  LayoutCache layouts;
  const FrameTemplate frame(fields, longest, is_signed ? &flow : nullptr, layouts,
                            {.variable_length = true, .variable_dma_length = true, .fault = {}});
  for (int i = 0; i < 3; ++i) {
    VariableFields values = random_fields();
    values.payload = *rc::gen::inRange(0u, 4097u);
    values.dma_length = test::wide<std::uint32_t>();
    auto expected = fields;
    expected.reth.dma_length = values.dma_length;
    const bool room = values.payload >= sizeof(wire::Signature);
    std::vector<std::byte> out(frame.size(values), std::byte{0xa5});
    i == 2 ? frame.patch(values, out) : frame.write(values, out);
    const std::vector<std::byte> payload(values.payload, std::byte{0x5a});
    RC_ASSERT(out == from_scratch(expected, values, payload, is_signed && room ? &flow : nullptr));
    RC_ASSERT(frame.has_signature(values) == (is_signed && room));
  }
}

RC_GTEST_PROP(FrameTemplate, AMovingLengthIsPatched, ()) {
  const auto fields = test::random_frame();
  const auto payload = test::random_payload(4096);
  LayoutCache layouts;
  const FrameTemplate frame(fields, payload, nullptr, layouts,
                            {.variable_length = false, .variable_dma_length = true, .fault = {}});
  VariableFields values = random_fields();
  values.dma_length = test::wide<std::uint32_t>();
  auto expected = fields;
  expected.reth.dma_length = values.dma_length;
  std::vector<std::byte> out(frame.size(), std::byte{0xa5});
  frame.write(values, out);
  RC_ASSERT(out == from_scratch(expected, values, payload, nullptr));
}

/// Frames of several templates, one after the other in one buffer, which keeps what it can.
RC_GTEST_PROP(FrameTemplate, MakesInAUsedBufferWhatItWritesIntoANewOne, ()) {
  const auto longest = test::random_payload(4096);
  LayoutCache layouts;
  const std::uint32_t flow = 7;
  std::vector<std::unique_ptr<FrameTemplate>> templates;
  auto fields = test::random_frame();
  for (int i = 0; i < 6; ++i) {
    // Some QPs of one range, some frames that share nothing.
    if (*rc::gen::inRange(0, 3) == 0) fields = test::random_frame();
    fields.bth.dest_qp = test::wide<std::uint32_t>(0xffffff);
    const auto length = *rc::gen::element<std::size_t>(0, longest.size(), longest.size() / 2);
    const auto payload = wire::Bytes(longest).first(length);
    const bool is_signed = length >= sizeof(wire::Signature) && *rc::gen::arbitrary<bool>();
    TemplateOptions options;
    options.variable_length = *rc::gen::inRange(0, 4) == 0;
    if (*rc::gen::inRange(0, 4) == 0) {
      options.fault = *rc::gen::element(config::FaultKind::bad_icrc, config::FaultKind::wrong_tver,
                                        config::FaultKind::truncated_bth);
    }
    templates.push_back(std::make_unique<FrameTemplate>(
        fields, payload, is_signed ? &flow : nullptr, layouts, options));
  }
  std::vector<std::byte> buffer(FrameTemplate::kHeadroom + FrameTemplate::kTailroom);
  BufferTag tag;
  for (int i = 0; i < 20; ++i) {
    const FrameTemplate& frame = *templates[*rc::gen::inRange<std::size_t>(0, templates.size())];
    VariableFields values = random_fields();
    if (frame.has_variable_length()) values.payload = 0;
    SendStamp stamp{.time_ns = values.send_time_ns};
    const auto* made = frame.encode(values, stamp, &buffer[FrameTemplate::kHeadroom], tag);
    std::vector<std::byte> written(frame.size(values));
    frame.write(values, written);
    RC_ASSERT(std::vector<std::byte>(made, made + written.size()) == written);
  }
}

config::Flow random_flow() {
  config::Flow flow;
  flow.id = test::wide<std::uint32_t>();
  flow.frame = test::random_frame();
  roce::MessageFields& m = flow.message;
  m.transport =
      *rc::gen::element(Transport::rc, Transport::uc, Transport::rd, Transport::ud, Transport::xrc);
  m.operation = *rc::gen::element(Operation::send, Operation::write, Operation::read_request,
                                  Operation::read_response, Operation::ack, Operation::fetch_add);
  m.mtu = *rc::gen::element(256u, 512u, 1024u);
  m.length = *rc::gen::inRange<std::uint64_t>(0, 5 * m.mtu);
  m.immediate = *rc::gen::arbitrary<bool>();
  m.invalidate = !m.immediate && *rc::gen::arbitrary<bool>();
  // Near the end of the circle: PSNs wrap within the test.
  m.first_psn = wire::Psn{0xffffff - *rc::gen::inRange(0u, 8u)};
  m.solicited_event = *rc::gen::arbitrary<bool>();
  m.ack_every = *rc::gen::inRange(0u, 4u);
  flow.messages = *rc::gen::inRange<std::uint64_t>(1, 4);
  flow.repeat = *rc::gen::inRange<std::uint64_t>(1, 3);
  flow.va_slots = *rc::gen::inRange<std::uint64_t>(1, 4);
  flow.va_step = m.length;
  flow.immediate_step = *rc::gen::element(0u, 1u, 0xfffffff0u);
  flow.payload.pattern =
      *rc::gen::element(config::Pattern::zeros, config::Pattern::counter, config::Pattern::prbs31);
  flow.signature = *rc::gen::arbitrary<bool>();
  return flow;
}

/// A flow's frames, each cut from its message by packet_of() and composed whole.
class Expected {
 public:
  Expected(const config::Flow& flow, PayloadPool& payloads) : flow_(flow), payloads_(payloads) {}

  std::vector<std::byte> frame(std::uint64_t message_number, std::uint32_t index) {
    roce::MessageFields message = flow_.message;
    message.first_psn =
        message.first_psn + static_cast<std::uint32_t>(message_number * psn_count(message));
    const auto packet = packet_of(message, index);
    roce::FrameFields fields = flow_.frame;
    fields.bth.opcode = packet.opcode;
    fields.bth.solicited_event = packet.solicited_event;
    VariableFields values;
    values.psn = packet.psn;
    values.ack_req = packet.ack_req;
    values.va = flow_.frame.reth.va + message_number % flow_.va_slots * flow_.va_step;
    values.msn = flow_.frame.aeth.msn + static_cast<std::uint32_t>(message_number);
    values.immediate = flow_.frame.immdt.immediate +
                       static_cast<std::uint32_t>(message_number) * flow_.immediate_step;
    const auto shared = payloads_.get(flow_.payload, packet.payload);
    const bool is_signed = flow_.signature && shared.size() >= sizeof(wire::Signature);
    if (is_signed) values.sequence = sequence_++;
    const std::uint32_t origin = wire::Signature::origin_word(flow_.origin.clock, flow_.id);
    return from_scratch(fields, values, {shared.begin(), shared.end()},
                        is_signed ? &origin : nullptr);
  }

 private:
  const config::Flow& flow_;
  PayloadPool& payloads_;
  std::uint64_t sequence_ = 0;
};

RC_GTEST_PROP(FlowCursor, SendsItsMessagesPacketByPacket, ()) {
  const auto flow = random_flow();
  RC_PRE(refusal_of(flow.message).empty());
  LayoutCache layouts;
  PayloadPool payloads(7);
  FlowCursor cursor(flow, layouts, payloads);
  Expected expected(flow, payloads);
  std::uint64_t frames = 0;
  for (std::uint64_t message = 0; message < flow.messages * *flow.repeat; ++message) {
    for (std::uint32_t index = 0; index < packet_count(flow.message); ++index, ++frames) {
      RC_ASSERT(cursor.has_next());
      RC_ASSERT(cursor.ends_message() == (index + 1 == packet_count(flow.message)));
      std::vector<std::byte> out(cursor.frame().size());
      cursor.frame().write(cursor.fields(), out);
      RC_ASSERT(out == expected.frame(message, index));
      cursor.advance();
    }
  }
  RC_ASSERT(!cursor.has_next());
  RC_ASSERT(cursor.total_frames() == frames);
}

}  // namespace template_property_test
}  // namespace lw::gen
