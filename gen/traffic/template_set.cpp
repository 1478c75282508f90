// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/template_set.h"

#include <algorithm>
#include <cassert>

#include "core/chance.h"
#include "gen/traffic/flow_cursor.h"
#include "wire/signature.h"

namespace lw::gen {
namespace {

using config::FaultKind;
using config::Flow;
using wire::Operation;

constexpr std::uint32_t kShortBy = 4;  // bytes that a short MIDDLE packet lacks

/// The sequence of 2^31 - 1 bits of ITU-T O.150, first bit in a byte's top bit.
class Prbs31 {
 public:
  explicit Prbs31(std::uint64_t seed)
      : state_(static_cast<std::uint32_t>(Chance(seed, hash_name("prbs31")).bits(0)) & kMask) {
    if (state_ == 0) state_ = 1;  // the state that never changes
  }

  std::byte next() {
    unsigned byte = 0;
    for (int bit = 0; bit < 8; ++bit) {
      const std::uint32_t fresh = (state_ >> 30 ^ state_ >> 27) & 1;
      state_ = (state_ << 1 | fresh) & kMask;
      byte = byte << 1 | fresh;
    }
    return static_cast<std::byte>(byte);
  }

 private:
  static constexpr std::uint32_t kMask = 0x7fffffff;
  std::uint32_t state_;
};

std::vector<std::byte> make_pattern(const config::Payload& payload, std::uint64_t seed) {
  std::vector<std::byte> bytes(PayloadPool::kLongest);
  Prbs31 prbs(seed);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    switch (payload.pattern) {
      case config::Pattern::zeros:
        break;
      case config::Pattern::counter:
        bytes[i] = static_cast<std::byte>(i & 0xff);
        break;
      case config::Pattern::prbs31:
        bytes[i] = prbs.next();
        break;
      case config::Pattern::text:
      case config::Pattern::file:
        bytes[i] = static_cast<std::byte>(payload.text[i % payload.text.size()]);
        break;
    }
  }
  return bytes;
}

bool has_fault(const Flow& flow, FaultKind kind) {
  return flow.faults &&
         std::ranges::find(*flow.faults, kind, &config::Fault::kind) != flow.faults->end();
}

/// True if messages of the flow have a packet at a position.
bool has_position(const Flow& flow, PacketPosition position) {
  roce::MessageFields smallest = flow.message;
  if (flow.sizes.vary()) smallest.length = flow.sizes.smallest();
  const std::uint32_t most = packet_count(flow.message);
  switch (position) {
    case PacketPosition::only:
      return packet_count(smallest) == 1;
    case PacketPosition::middle:
      return most > 2 || has_fault(flow, FaultKind::middle_without_first);
    default:
      return most > 1;
  }
}

/// True if messages carry payload, so that their size decides the last packet's size.
bool carries_payload(const Flow& flow) {
  const Operation operation = flow.message.operation;
  return operation == Operation::send || operation == Operation::write ||
         operation == Operation::read_response;
}

bool ends_message(PacketPosition position) {
  return position == PacketPosition::last || position == PacketPosition::only;
}

bool has_variable_length(const Flow& flow, PacketPosition position) {
  return flow.sizes.vary() && ends_message(position) && carries_payload(flow);
}

/// Returns the longest packet of a flow at a position.
roce::MessagePacket packet_at(const Flow& flow, PacketPosition position) {
  roce::MessageFields message = flow.message;
  const std::uint64_t mtu = message.mtu;
  if (position == PacketPosition::only && has_variable_length(flow, position))
    message.length = std::min(message.length, mtu);
  if (position == PacketPosition::middle ||
      (position == PacketPosition::last && has_variable_length(flow, position))) {
    message.length = 3 * mtu;
  }
  const std::uint32_t count = packet_count(message);
  return packet_of(message, position == PacketPosition::middle ? 1
                            : position == PacketPosition::last ? count - 1
                                                               : 0);
}

std::unique_ptr<FrameTemplate> make_template(const Flow& flow, PacketPosition position,
                                             std::optional<FaultKind> fault, LayoutCache& layouts,
                                             PayloadPool& payloads) {
  roce::MessagePacket packet = packet_at(flow, position);
  if (fault == FaultKind::short_middle) {
    packet.payload -= kShortBy;
    fault.reset();
  }
  roce::FrameFields fields = flow.frame;
  fields.bth.opcode = packet.opcode;
  fields.bth.solicited_event = packet.solicited_event;
  const config::Payload zeros{config::Pattern::zeros, {}};
  const bool cnp = flow.message.operation == Operation::cnp;
  const auto payload = payloads.get(cnp ? zeros : flow.payload, packet.payload);
  const TemplateOptions options{.variable_length = has_variable_length(flow, position),
                                .variable_dma_length = flow.sizes.vary(),
                                .fault = fault};
  const bool room = options.variable_length || payload.size() >= sizeof(wire::Signature);
  const std::uint32_t origin = wire::Signature::origin_word(flow.origin.clock, flow.id);
  return std::make_unique<FrameTemplate>(
      fields, payload, flow.signature && room ? &origin : nullptr, layouts, options);
}

}  // namespace

wire::Bytes PayloadPool::get(const config::Payload& payload, std::size_t length) {
  assert(length <= kLongest);
  auto found = patterns_.find(payload);
  if (found == patterns_.end())
    found = patterns_.emplace(payload, make_pattern(payload, seed_)).first;
  return wire::Bytes(found->second).first(length);
}

std::size_t longest_frame(const Flow& flow) {
  std::size_t longest = 0;
  for (const PacketPosition position : {PacketPosition::first, PacketPosition::middle,
                                        PacketPosition::last, PacketPosition::only}) {
    if (!has_position(flow, position)) continue;
    const roce::MessagePacket packet = packet_at(flow, position);
    roce::FrameFields fields = flow.frame;
    fields.bth.opcode = packet.opcode;
    longest = std::max(longest, roce::layout_of(fields, packet.payload).size);
  }
  return longest;
}

TemplateSet::TemplateSet(const Flow& flow, LayoutCache& layouts, PayloadPool& payloads) {
  for (const PacketPosition position : {PacketPosition::first, PacketPosition::middle,
                                        PacketPosition::last, PacketPosition::only}) {
    if (!has_position(flow, position)) continue;
    const auto index = static_cast<std::size_t>(position);
    valid_[index] = make_template(flow, position, std::nullopt, layouts, payloads);
    for (std::size_t k = 0; flow.faults && k < config::kFaultKinds; ++k) {
      const auto kind = static_cast<FaultKind>(k);
      const bool own = is_in_bytes(kind) ||
                       (kind == FaultKind::short_middle && position == PacketPosition::middle);
      if (!own || !has_fault(flow, kind)) continue;
      if (!faulty_[k]) faulty_[k] = std::make_unique<Templates>();
      (*faulty_[k])[index] = make_template(flow, position, kind, layouts, payloads);
    }
  }
}

const FrameTemplate& TemplateSet::faulty(FaultKind kind, PacketPosition position) const noexcept {
  return *(*faulty_[static_cast<std::size_t>(kind)])[static_cast<std::size_t>(position)];
}

}  // namespace lw::gen
