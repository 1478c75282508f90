// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/stream_report.h"

#include <utility>

#include <fmt/format.h>

#include "roce/describe.h"
#include "wire/aeth.h"

namespace lw::analysis {

using wire::Role;

// Losses

Fact StreamReport::missing(Role role, const Filled& gap, Cause cause) {
  const bool early = is_early(gap.first);
  if (cause == Cause::missing_in_capture) {
    counts_.missing += gap.packets;
    counts_.missing_early += early ? gap.packets : 0;
  }
  Anomaly seen{.kind = AnomalyKind::psn_gap,
               .cause = cause,
               .role = role,
               .session = session_,
               .direction = direction_,
               .frame = gap.frame,
               .last_frame = gap.frame,
               .stamp = gap.stamp,
               .psn = psn_of(gap.first),
               .packets = gap.packets};
  return {.seen = std::move(seen), .in_row = gap.in_row, .early = early};
}

void StreamReport::gap(const Sent& gap, Cause cause) {
  counts_.lost += gap.span;
  Filled skipped{gap.psn, gap.span, gap.frame, gap.stamp};
  skipped.in_row = gap.in_row;
  Fact fact = missing(Role::request, skipped, cause);
  if (gap.answered_before && !fact.early) {
    fact.early = true;
    if (cause == Cause::missing_in_capture) counts_.missing_early += gap.span;
  }
  log_.add(std::move(fact));
}

void StreamReport::unseen_before(const EarlyAck& ack, Sequence next) {
  const std::uint64_t packets = ack.psn + 1 - next;
  counts_.lost += packets;
  log_.add(
      missing(Role::request, {next, packets, ack.frame, ack.stamp}, Cause::missing_in_capture));
}

void StreamReport::response_gap(const ResponseGap& gap, Cause cause) {
  if (!gap.may_be_unasked) counts_.responses_lost += gap.packets;
  Fact fact = missing(Role::response, {gap.first, gap.packets, gap.frame, gap.stamp}, cause);
  fact.in_row = fact.inside = gap.in_row;
  if (gap.requested) fact.waits.sent = stamp_difference(gap.stamp, *gap.requested);
  fact.asked = gap.named && gap.packets == 1;
  fact.may_be_unasked = gap.may_be_unasked;
  counts_.responses_asked += fact.asked;
  log_.add(std::move(fact));
}

/// Whether the NAK that a recovery answers came before any answer to the packet that showed the
/// gap: the receiver missed the gap's packets before the capture began.
bool StreamReport::was_missed_before(const Filled& gap, const Recovery& recovery) const noexcept {
  if (!recovery.waits.asked) return false;
  const Duration after = stamp_difference(recovery.first, gap.stamp) - *recovery.waits.asked;
  return after < answers_.least_round_trip().value_or(Duration{});
}

void StreamReport::sent_again(Filled gap, const Recovery& recovery, Sequence begin) {
  const bool asked =
      gap.asked || (recovery.cause == Cause::sequence_nak && gap.first == recovery.start);
  const bool inside = gap.first >= begin;
  if ((!inside && !asked) || gap.reported) return;
  if (!inside && was_missed_before(gap, recovery)) return;
  if (!inside && !gap.one_packet) gap.packets = 1;  // the others may have come before
  counts_.lost += gap.packets;
  Fact fact = missing(Role::request, gap, Cause::lost_before_capture);
  fact.asked = asked;
  fact.inside = inside;
  fact.taken = gap.taken;
  (asked ? counts_.gaps_asked : counts_.gaps_resent) += gap.one_packet ? 1 : gap.packets;
  log_.add(std::move(fact));
}

// Packets that came late or again

void StreamReport::late(const Fill& fill, Cause cause) {
  for (const Filled& filled : fill.filled) {
    counts_.out_of_order += filled.packets;
    Anomaly seen{.kind = AnomalyKind::out_of_order,
                 .cause = cause,
                 .session = session_,
                 .direction = direction_,
                 .frame = fill.first_frame,
                 .last_frame = fill.last_frame,
                 .related_frame = filled.frame,
                 .stamp = fill.first_stamp,
                 .duration = stamp_difference(fill.first_stamp, filled.stamp),
                 .psn = psn_of(filled.first),
                 .packets = filled.one_packet ? 1 : filled.packets};
    const bool early = is_early(filled.first);
    if (!early || filled.in_row) {
      Anomaly gap = seen;
      gap.kind = AnomalyKind::psn_gap;
      gap.cause = Cause::lost_before_capture;
      gap.frame = gap.last_frame = filled.frame;
      gap.stamp = filled.stamp;
      gap.packets = filled.packets;
      gap.duration = {};
      log_.add(Fact{.seen = std::move(gap), .filled = fill.last_frame});
    }
    log_.add(Fact{.seen = std::move(seen), .early = early});
  }
}

void StreamReport::late_after_recovery(const CapturedPacket& packet, const Filled& gap) {
  ++counts_.out_of_order;
  Anomaly late = anomaly(AnomalyKind::out_of_order, packet, packet.psn);
  late.cause = Cause::sequence_nak;
  late.related_frame = gap.frame;
  late.duration = stamp_difference(packet.stamp, gap.stamp);
  log_.add(late);
}

void StreamReport::late_in_recovery(const CapturedPacket& packet, Sequence psn,
                                    const Filled& skipped) {
  Anomaly late = anomaly(AnomalyKind::out_of_order, packet, psn);
  late.related_frame = skipped.frame;
  late.duration = stamp_difference(packet.stamp, skipped.stamp);
  log_.add(late);
}

void StreamReport::late_response(const CapturedPacket& packet, Sequence psn, const ResponseGap& gap,
                                 bool again) {
  ++counts_.responses_late;
  Anomaly late = response_anomaly(AnomalyKind::out_of_order, packet, psn);
  late.related_frame = gap.frame;
  late.duration = stamp_difference(packet.stamp, gap.stamp);
  log_.add(Fact{.seen = std::move(late), .again = again, .early = is_early(psn)});
}

void StreamReport::copy(const CapturedPacket& packet, Sequence psn, const Sent* original,
                        bool newest, bool unasked, const Waits& waits) {
  ++counts_.duplicates;
  Anomaly copy = anomaly(AnomalyKind::duplicate, packet, psn);
  copy.cause = Cause::path_copy;
  copy.related_frame = original != nullptr ? original->frame : 0;
  log_.add(Fact{.seen = std::move(copy),
                .waits = waits,
                .fetches = original != nullptr && original->fetches,
                .newest = newest,
                .unasked = unasked});
}

void StreamReport::response_copy(const CapturedPacket& packet, Sequence psn, std::uint64_t original,
                                 Cause cause) {
  ++counts_.responses_duplicated;
  Anomaly copy = response_anomaly(AnomalyKind::duplicate, packet, psn);
  copy.cause = cause;
  copy.related_frame = original;
  log_.add(copy);
}

void StreamReport::response_again(const CapturedPacket& packet, const Filled& again,
                                  std::uint64_t last_frame, Cause cause) {
  Anomaly seen = response_anomaly(AnomalyKind::retransmission, packet, again.first);
  seen.cause = cause;
  seen.packets = again.packets;
  seen.last_frame = last_frame;
  seen.related_frame = again.frame;
  log_.add(seen);
}

void StreamReport::lost_again(const Filled& gap, std::uint64_t since) {
  Fact fact = missing(Role::request, gap, Cause::lost_before_capture);
  fact.again = fact.inside = true;
  fact.since = since;
  fact.sent = gap.sent;
  fact.begins = gap.begins;
  fact.taken = gap.taken;
  fact.may_be_unasked = gap.may_be_unasked;
  log_.add(std::move(fact));
}

void StreamReport::recovery(const Recovery& recovery, Sequence begin, bool goes_back) {
  constexpr std::uint64_t kFew = 3;  // a recovery of as many packets is none of single packets
  ++counts_.recoveries;
  for (const Filled& gap : recovery.filled) sent_again(gap, recovery, begin);
  for (const Filled& gap : recovery.skipped) {
    const bool goes_back_here = gap.begins ? recovery.packets >= kFew : goes_back;
    if (goes_back_here || gap.sent.value_or(false)) lost_again(gap, recovery.first_frame);
  }
  Anomaly seen{.kind = AnomalyKind::retransmission,
               .cause = recovery.cause,
               .session = session_,
               .direction = direction_,
               .frame = recovery.first_frame,
               .last_frame = recovery.last_frame,
               .related_frame = recovery.related_frame,
               .stamp = recovery.first,
               .duration = stamp_difference(recovery.last, recovery.since),
               .psn = psn_of(recovery.start),
               .packets = recovery.packets};
  log_.add(Fact{.seen = std::move(seen),
                .waits = recovery.waits,
                .fetches = recovery.fetches,
                .inside = recovery.start >= begin,
                .early = is_early(recovery.start)});
}

void StreamReport::retry_storm(const CapturedPacket& packet, Sequence psn, const Sent& original) {
  Anomaly storm = anomaly(AnomalyKind::retry_storm, packet, psn);
  storm.related_frame = original.frame;
  storm.duration = stamp_difference(packet.stamp, original.stamp);
  log_.add(storm);
}

// Responses, and their absence

Anomaly StreamReport::nak(const CapturedPacket& packet, Sequence psn, const Sent* refused) {
  const auto syndrome = wire::AethFields{packet.syndrome, packet.msn};
  const bool rnr = syndrome.kind() == wire::AethKind::rnr_nak;
  const auto code = static_cast<std::uint8_t>(packet.syndrome & wire::Aeth::kValue);
  Anomaly found = response_anomaly(rnr ? AnomalyKind::rnr_nak : AnomalyKind::nak, packet, psn);
  found.cause = rnr         ? Cause::receiver_not_ready
                : code == 0 ? Cause::sequence_nak
                            : Cause::fatal_nak;
  found.detail = roce::aeth_text(syndrome);
  if (refused != nullptr && refused->seen) found.related_frame = refused->frame;
  rnr ? ++counts_.rnr_naks : ++counts_.naks[code];
  log_.add(found);
  return found;
}

Anomaly StreamReport::lost_after_capture(Anomaly nak) {
  nak.kind = AnomalyKind::lost_after_capture;
  nak.cause = Cause::lost_behind;
  nak.role = Role::request;
  nak.detail.clear();
  return nak;
}

void StreamReport::overtaken(Anomaly lost, bool again) {
  if (!again) {
    lost.kind = AnomalyKind::out_of_order;
    lost.cause = Cause::reordered_behind;
  }
  log_.add(Fact{.seen = std::move(lost), .again = again});
}

void StreamReport::wrong_answer(const CapturedPacket& packet, Sequence psn, std::string wrong) {
  Anomaly found = response_anomaly(AnomalyKind::wrong_answer, packet, psn);
  found.detail = std::move(wrong);
  log_.add(found);
}

void StreamReport::ack_of_unsent(const EarlyAck& ack, const CapturedPacket& packet) {
  Anomaly early = response_anomaly(AnomalyKind::ack_of_unsent, packet, ack.psn);
  early.frame = early.last_frame = ack.frame;
  early.stamp = ack.stamp;
  early.related_frame = packet.number;
  log_.add(Fact{.seen = std::move(early), .early = is_early(ack.psn)});
}

void StreamReport::unanswered(const OpenRequests& open, Instant end, Cause cause) {
  log_.add(Anomaly{.kind = AnomalyKind::unanswered,
                   .cause = cause,
                   .session = session_,
                   .direction = direction_,
                   .frame = open.frame,
                   .last_frame = open.last_frame,
                   .stamp = open.first,
                   .duration = stamp_difference(end, open.first),
                   .psn = open.psn,
                   .packets = open.packets});
}

void StreamReport::stall(const CapturedPacket& packet, Sequence oldest, Sequence next,
                         Duration silence) {
  Anomaly stall = anomaly(AnomalyKind::stall, packet, oldest);
  stall.duration = silence;
  stall.packets = next - oldest;
  log_.add(stall);
}

// What the specification forbids

void StreamReport::malformed(const CapturedPacket& packet, Sequence psn, std::string wrong) {
  Anomaly found = anomaly(AnomalyKind::malformed, packet, psn);
  found.detail = std::move(wrong);
  log_.add(found);
}

Anomaly StreamReport::psn_reused(const CapturedPacket& packet, const Sent& known,
                                 std::string wrong) const {
  Anomaly reused = anomaly(AnomalyKind::psn_reused, packet, packet.psn);
  reused.related_frame = known.frame;
  reused.detail = std::move(wrong);
  return reused;
}

void StreamReport::read_span(const CapturedPacket& packet, Sequence psn, const Sent& read,
                             std::uint32_t packets, std::uint32_t mtu) {
  Anomaly wrong = response_anomaly(AnomalyKind::read_span, packet, psn);
  wrong.related_frame = read.frame;
  wrong.detail = fmt::format("{} packets where {} bytes at an MTU of {} are {}", packets,
                             read.dma_length, mtu, read.span);
  log_.add(wrong);
}

// Anomalies

Anomaly StreamReport::anomaly(AnomalyKind kind, const CapturedPacket& packet, Sequence psn) const {
  return {.kind = kind,
          .session = session_,
          .direction = direction_,
          .frame = packet.number,
          .last_frame = packet.number,
          .stamp = packet.stamp,
          .psn = psn_of(psn)};
}

Anomaly StreamReport::response_anomaly(AnomalyKind kind, const CapturedPacket& packet,
                                       Sequence psn) const {
  Anomaly found = anomaly(kind, packet, psn);
  found.role = Role::response;
  return found;
}

}  // namespace lw::analysis
