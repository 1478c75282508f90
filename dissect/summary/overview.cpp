// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/summary/overview.h"

#include <algorithm>

#include <fmt/format.h>

#include "roce/describe.h"

namespace lw::dissect {
namespace {

void grow(Count& count, std::uint64_t bytes) {
  ++count.frames;
  count.bytes += bytes;
}

std::string vlan_text(const roce::Envelope& envelope) {
  std::string text = fmt::format("{}", envelope.vlans[0]->id());
  if (envelope.vlan_count > 1) text += fmt::format(".{}", envelope.vlans[1]->id());
  return text;
}

/// Name of another protocol. UDP has no ports here: a row per connection would be too many.
std::string other_name(const roce::Envelope& envelope) {
  const std::string protocol = roce::protocol_of(envelope);
  return protocol.starts_with("UDP") ? "UDP" : protocol;
}

}  // namespace

std::string_view ecn_name(std::uint8_t codepoint) noexcept {
  constexpr std::string_view kNames[] = {"Not-ECT", "ECT(1)", "ECT(0)", "CE"};
  return kNames[codepoint & 3];
}

std::string_view kind_of(const roce::Frame& frame) noexcept {
  if (!frame.info) return "reserved";
  if (frame.info->role == wire::Role::request) return "requests";
  if (frame.info->role == wire::Role::notification) return "CNPs";
  if (frame.info->operation != wire::Operation::ack) return "responses";
  switch (frame.aeth ? frame.aeth->kind() : wire::AethKind::ack) {
    case wire::AethKind::ack:
      return "ACKs";
    case wire::AethKind::nak:
      return "NAKs";
    case wire::AethKind::rnr_nak:
      return "RNR NAKs";
    case wire::AethKind::reserved:
      break;
  }
  return "reserved";
}

void OtherFlows::add(const Count& count) {
  ++flows;
  frames += count.frames;
  bytes += count.bytes;
}

void Overview::add_roce(const roce::Envelope& envelope, const Dissection& dissection) {
  const std::uint64_t bytes = dissection.captured.record.wire_length;
  grow(roce, bytes);
  grow(ecn[envelope.ecn()], bytes);
  if (envelope.fragment) ++fragments;
  if (envelope.bytes.size() < envelope.wire_length) ++cut;
  AddressPair pair{envelope.source(), envelope.destination()};
  grow(pairs.use(pair, [this](const Count& gone) { other_pairs.add(gone); }), bytes);
  if (!dissection.frame) return;
  const wire::Bth& bth = *dissection.frame->bth;
  grow(kinds[kind_of(*dissection.frame)], bytes);
  grow(opcodes[bth.opcode.get()], bytes);
  QpTraffic& qp = qps.use({std::move(pair.first), std::move(pair.second), bth.dest_qp.get()},
                          [this](const Count& gone) { other_qps.add(gone); });
  if (qp.frames == 0) qp.first_psn = bth.psn().value();
  qp.last_psn = bth.psn().value();
  grow(qp, bytes);
}

void Overview::add(const Dissection& dissection) {
  const capture::Record& record = dissection.captured.record;
  const roce::Envelope& envelope = dissection.captured.envelope;
  grow(all, record.wire_length);
  first = first ? std::min(*first, record.stamp) : record.stamp;
  last = last ? std::max(*last, record.stamp) : record.stamp;
  if (const roce::TunnelStack* stack = dissection.captured.tunnels) {
    if (!stack->empty()) grow(tunnels[stack->names()], record.wire_length);
    if (!stack->unopened().empty())
      grow(unopened_tunnels[std::string(stack->unopened())], record.wire_length);
  }
  if (envelope.vlan_count > 0)
    grow(vlans.use(vlan_text(envelope), [this](const Count& gone) { other_vlans.add(gone); }),
         record.wire_length);
  if (!dissection.is_roce()) {
    grow(others[other_name(envelope)], record.wire_length);
  } else {
    add_roce(envelope, dissection);
  }
}

}  // namespace lw::dissect
