// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/template_set.h"

#include <algorithm>

#include "gen/traffic/frame_fault.h"
#include "wire/signature.h"

namespace lw::gen {
namespace {

using config::FaultKind;
using config::Flow;
using wire::Operation;

constexpr std::uint32_t kShortBy = 4;  // bytes that a short MIDDLE lacks

bool has_fault(const Flow& flow, FaultKind kind) {
  return flow.faults &&
         std::ranges::find(*flow.faults, kind, &config::Fault::kind) != flow.faults->end();
}

/// Whether messages of the flow have a packet at such a place.
bool has_place(const Flow& flow, Place place) {
  roce::Message smallest = flow.message;
  if (flow.sizes.vary()) smallest.length = flow.sizes.smallest();
  const std::uint32_t most = packet_count(flow.message);
  switch (place) {
    case Place::only:
      return packet_count(smallest) == 1;
    case Place::middle:
      return most > 2 || has_fault(flow, FaultKind::middle_without_first);
    default:
      return most > 1;
  }
}

/// Whether payload travels with the messages, so that their size is that of their last packet.
bool carries_payload(const Flow& flow) {
  const Operation operation = flow.message.operation;
  return operation == Operation::send || operation == Operation::write ||
         operation == Operation::read_response;
}

bool ends_message(Place place) { return place == Place::last || place == Place::only; }

bool is_elastic(const Flow& flow, Place place) {
  return flow.sizes.vary() && ends_message(place) && carries_payload(flow);
}

/// The longest packet that a flow can have at a place.
roce::MessagePacket packet_at(const Flow& flow, Place place) {
  roce::Message message = flow.message;
  const std::uint64_t mtu = message.mtu;
  if (place == Place::only && is_elastic(flow, place))
    message.length = std::min(message.length, mtu);
  if (place == Place::middle || (place == Place::last && is_elastic(flow, place))) {
    message.length = 3 * mtu;
  }
  const std::uint32_t count = packet_count(message);
  return packet_of(message, place == Place::middle ? 1 : place == Place::last ? count - 1 : 0);
}

std::unique_ptr<FrameTemplate> make_template(const Flow& flow, Place place,
                                             std::optional<FaultKind> fault, LayoutCache& shapes,
                                             PayloadPool& payloads) {
  roce::MessagePacket packet = packet_at(flow, place);
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
  const TemplateOptions options{
      .elastic = is_elastic(flow, place), .moving_length = flow.sizes.vary(), .fault = fault};
  const bool room = options.elastic || payload.size() >= sizeof(wire::Signature);
  return std::make_unique<FrameTemplate>(
      fields, payload, flow.signature && room ? &flow.id : nullptr, shapes, options);
}

}  // namespace

TemplateSet::TemplateSet(const Flow& flow, LayoutCache& shapes, PayloadPool& payloads) {
  for (const Place place : {Place::first, Place::middle, Place::last, Place::only}) {
    if (!has_place(flow, place)) continue;
    const auto index = static_cast<std::size_t>(place);
    sound_[index] = make_template(flow, place, std::nullopt, shapes, payloads);
    for (std::size_t k = 0; flow.faults && k < config::kFaultKinds; ++k) {
      const auto kind = static_cast<FaultKind>(k);
      const bool own =
          is_in_bytes(kind) || (kind == FaultKind::short_middle && place == Place::middle);
      if (!own || !has_fault(flow, kind)) continue;
      if (!faulty_[k]) faulty_[k] = std::make_unique<Templates>();
      (*faulty_[k])[index] = make_template(flow, place, kind, shapes, payloads);
    }
  }
}

const FrameTemplate& TemplateSet::faulty(FaultKind kind, Place place) const noexcept {
  return *(*faulty_[static_cast<std::size_t>(kind)])[static_cast<std::size_t>(place)];
}

}  // namespace lw::gen
