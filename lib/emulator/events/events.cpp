// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/events/events.h"

#include <algorithm>
#include <limits>

#include "core/figure.h"

namespace lw::emulator {

const FigureTable& EventHits::figures() {
  using Row = FigureOf<EventHits>;
  static constexpr Figure kRows[] = {
      Row::of<&EventHits::packets>("fell_on", "Packets on which events fell.", Unit::frames),
      Row::of<&EventHits::carried_out>("carried_out", "Packets on which they were carried out.",
                                       Unit::frames),
      Row::of<&EventHits::lost_before>("lost_before", "Packets that were lost before.",
                                       Unit::frames),
      Row::of<&EventHits::holds>("holds", "True if fell_on = carried_out + lost_before.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& EventOutcome::figures() {
  using Row = FigureOf<EventOutcome>;
  static constexpr Figure kRows[] = {
      Row::of<&EventOutcome::name>("name", "Name of the event."),
      Row::of<&EventOutcome::happened>("happened", "Times that it happened."),
      Row::of<&EventOutcome::all>("all", "Times that it was to happen.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}
namespace {

constexpr std::uint32_t kLargestQpn = 0xffffff;

/// Returns the PSN stream that a packet belongs to; null if it belongs to none.
std::uint32_t* stream_of(QpState& qp, PacketKind kind) noexcept {
  switch (kind) {
    case PacketKind::request:
      return &qp.first_request;
    case PacketKind::read_response:
    case PacketKind::ack:
    case PacketKind::nak:
    case PacketKind::rnr_nak:
    case PacketKind::atomic_ack:
      return &qp.first_response;
    default:
      return nullptr;
  }
}

/// Without other knowledge, the first packet seen starts its stream.
PacketPlace place_of(QpState& qp, PacketKind kind, wire::Psn psn) noexcept {
  std::uint32_t* first = stream_of(qp, kind);
  if (!first) return {kind, psn.value(), psn.value()};
  if (*first == QpState::kUnknown) *first = psn.value();
  return {kind, psn.value(), (psn - *first).value()};
}

}  // namespace

Events::Events(Direction direction, std::span<const EventConfig> events, std::size_t tracked_qps)
    : qps_(std::ranges::any_of(events, [&](const auto& e) { return e.applies(direction); })
               ? tracked_qps
               : 1),
      direction_(direction) {
  for (const EventConfig& event : events)
    if (event.applies(direction)) add(event);
  targets_.seal();
}

void Events::add(const EventConfig& event) {
  Group& group = event.qp ? by_number_[*event.qp] : event.qpn ? by_qpn_[*event.qpn] : all_;
  if (group == EventTargets::kNobody) group = targets_.add_group();
  targets_.add(group, event);
  if (event.qpn) wanted_.add(*event.qpn);
  if (event.qp) last_number_ = std::max(last_number_, *event.qp);
  // A distance from the first PSN, for packets to any QP, requires that the streams of all QPs are
  // known.
  if (!event.qp && !event.qpn && event.psn_from == PsnFrom::start)
    last_number_ = std::numeric_limits<std::uint32_t>::max();
}

EventActions Events::on_packet(const roce::Envelope& envelope, const wire::Bth& bth) noexcept {
  const std::uint32_t dest_qp = bth.dest_qp.get();
  if (!pending()) {
    // The other direction may still need it.
    if (exchange_ && dest_qp == wire::kGeneralServicesQp) hear(envelope, bth);
    return {};
  }
  if (exchange_) hear_others();
  const bool wanted = is_wanted(dest_qp);
  if (!wanted && !all_) return {};
  const PacketKind kind = kind_of(envelope, bth);
  if (dest_qp == wire::kGeneralServicesQp) hear(envelope, bth);
  QpState stranger;
  QpState* qp = wanted ? track(envelope, dest_qp) : nullptr;
  if (!qp) qp = &stranger;
  const PacketPlace place = place_of(*qp, kind, bth.psn());
  EventActions aimed;
  if (qp->by_number) hit(qp->by_number, place, aimed);
  if (qp->by_qpn) hit(qp->by_qpn, place, aimed);
  if (all_) hit(all_, place, aimed);
  return aimed;
}

QpState* Events::track(const roce::Envelope& envelope, std::uint32_t dest_qp) noexcept {
  QpState* qp = qps_.find_or_add(qp_key(envelope, dest_qp));
  if (!qp) {
    ++untracked_;
  } else if (!qp->number) {
    number(*qp, dest_qp);
  }
  return qp;
}

/// Assigns a QP's order of appearance. QP 1 is for management and has none.
void Events::number(QpState& qp, std::uint32_t dest_qp) noexcept {
  if (dest_qp > wire::kGeneralServicesQp) qp.number = ++seen_;
  find_groups(qp, dest_qp);
}

void Events::find_groups(QpState& qp, std::uint32_t dest_qp) noexcept {
  const auto by_qpn = by_qpn_.find(dest_qp);
  qp.by_qpn = by_qpn == by_qpn_.end() ? EventTargets::kNobody : by_qpn->second;
  const auto by_number = by_number_.find(qp.number);
  qp.by_number = by_number == by_number_.end() ? EventTargets::kNobody : by_number->second;
  if (qp.by_number) wanted_.add(dest_qp);
}

void Events::inherit(Events& old, bool continues) noexcept {
  if (continues) targets_.inherit(old.targets_);
  // Room for QPs exists only with events: with different room, there is nothing to take over.
  if (qps_.capacity() != old.qps_.capacity()) return;
  std::swap(qps_, old.qps_);
  std::swap(cm_, old.cm_);
  seen_ = old.seen_;
  untracked_ = old.untracked_;
  qps_.for_each([this](const roce::QpKey& key, QpState& qp) {
    if (qp.number || by_qpn_.contains(key.dest_qp & kLargestQpn))
      find_groups(qp, key.dest_qp & kLargestQpn);
  });
}

void Events::hear(const roce::Envelope& envelope, const wire::Bth& bth) noexcept {
  if (kind_of(envelope, bth) != PacketKind::cm) return;
  const auto sighting = roce::cm_sighting(envelope, bth);
  if (!sighting) return;
  hear(*sighting);
  if (exchange_) exchange_->from(direction_).push(*sighting);
}

void Events::hear(const roce::CmSighting& sighting) noexcept {
  if (const auto connection = cm_.hear(sighting)) learn(*connection);
}

void Events::hear_others() noexcept {
  while (const auto sighting = exchange_->to(direction_).pop()) hear(*sighting);
}

/// Counts the packet, and clears the group if no event waits in it any more.
void Events::hit(Group& group, const PacketPlace& place, EventActions& aimed) noexcept {
  if (targets_.pending(group)) targets_.meet(group, place, aimed);
  if (!targets_.pending(group)) group = EventTargets::kNobody;
}

void Events::learn(const roce::CmConnection& connection) noexcept {
  QpState* replier = qps_.find_or_add(connection.to_replier);
  QpState* requester = qps_.find_or_add(connection.to_requester);
  // Responses have the PSNs of the requests in the other direction.
  if (replier) replier->first_request = connection.replier_psn;
  if (replier) replier->first_response = connection.requester_psn;
  if (requester) requester->first_request = connection.requester_psn;
  if (requester) requester->first_response = connection.replier_psn;
}

}  // namespace lw::emulator
