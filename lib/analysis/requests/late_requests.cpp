// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/late_requests.h"

#include <algorithm>

namespace lw::analysis {
namespace {

/// A packet of a recovery comes after later ones of it. If a NAK asks for it, the recovery answers
/// the NAK, though this did not show before.
void note_late_part(StreamState& state, Recovery& recovery, Sequence psn) {
  recovery.start = std::min(recovery.start, psn);
  Nak* const nak = state.naks.asking_for(psn, state.acked);
  if (nak == nullptr || nak->stamp > recovery.first) return;
  nak->used = true;
  if (!recovery.is_by_timer() && recovery.cause != Cause::response_lost) return;
  recovery.cause = nak->rnr ? Cause::receiver_not_ready : Cause::sequence_nak;
  recovery.related_frame = nak->frame;
  recovery.since = nak->stamp;
  recovery.waits.asked = stamp_difference(recovery.first, nak->stamp);
}

/// Processes a packet that fills a gap, and was sent before the packet that showed the gap.
bool take_late_original(StreamState& state, const CapturedPacket& packet, Sequence psn,
                        const Sent& gap) {
  Nak* const nak = state.naks.of_frame(state.naks.frame_naming(gap.psn, psn));
  if (nak != nullptr) nak->late = true;
  const Sent old = gap;
  Fill fill{.first = psn, .first_frame = packet.number, .first_stamp = packet.stamp};
  fill.add(old, state.log.fill(sent_of(packet, psn, state.setup.span_of(packet))));
  state.counts.payload += packet.payload;
  state.late.add(psn, packet.stamp);
  state.note_late(fill, nak != nullptr ? Cause::sequence_nak : Cause::none);
  return true;
}

/// Processes a packet of a recovery that fills a gap, and comes after later packets of it. Returns
/// false if there is no recovery.
bool take_late_replacement(StreamState& state, Recoveries& recoveries, const CapturedPacket& packet,
                           Sequence psn, const Sent& gap) {
  Recovery* const recovery = recoveries.find([](const Recovery&) { return true; });
  if (recovery == nullptr) return false;
  const Sent old = gap;
  const Sent& sent = state.log.fill(sent_of(packet, psn, state.setup.span_of(packet)));
  Filled skipped{psn, sent.span, old.frame, old.stamp};
  if (recovery->skips(psn, old)) skipped = recovery->take_skipped(psn, sent.span);
  add_filled(recovery->filled, old, sent);
  ++recovery->packets;
  note_late_part(state, *recovery, psn);
  ++state.counts.resent;
  state.counts.payload += packet.payload;
  state.report.late_in_recovery(packet, psn, skipped);
  state.late.add(psn, packet.stamp);
  return true;
}

/// Processes a packet of a recovery that comes after later packets of it.
void take_late_repetition(StreamState& state, Recoveries& recoveries, const CapturedPacket& packet,
                          Sequence psn, Sent& known) {
  Filled skipped{psn, known.span, known.last_frame, known.last_stamp};
  ++state.counts.resent;
  ++known.copies;
  Recovery* const recovery = recoveries.find_sent(packet.ip_id);
  if (recovery != nullptr) {
    if (recovery->skips(psn)) skipped = recovery->take_skipped(psn, known.span);
    ++recovery->packets;
    note_late_part(state, *recovery, psn);
  }
  known.last_frame = packet.number;
  known.last_stamp = packet.stamp;
  known.last_ip_id = packet.ip_id;
  state.report.late_in_recovery(packet, psn, skipped);
  state.late.add(psn, packet.stamp);
}

}  // namespace

void take_overtaken(StreamState& state, Recovery& recovery, const CapturedPacket& packet,
                    Sequence psn, const Sent& known) {
  const Filled gap = recovery.take_filled(psn, known.span);
  if (recovery.start == psn) recovery.cause = Cause::reordered;
  state.report.late_after_recovery(packet, gap);
  state.late.add(psn, packet.stamp);
}

bool take_late(StreamState& state, Recoveries& recoveries, const CapturedPacket& packet,
               Sequence psn, Sent& known) {
  if (!known.seen)
    return IpNumbers::is_before(packet.ip_id, known.ip_id)
               ? take_late_original(state, packet, psn, known)
               : take_late_replacement(state, recoveries, packet, psn, known);
  if (known.fetches) FetchResponses::note_copy(known);
  if (packet.ip_id == known.ip_id || packet.ip_id == known.last_ip_id) {
    state.report.copy(packet, psn, &known, false, true);
  } else if (Recovery* const recovery = recoveries.find_filled(psn);
             recovery != nullptr && IpNumbers::is_before(packet.ip_id, known.ip_id)) {
    take_overtaken(state, *recovery, packet, psn, known);
  } else {
    take_late_repetition(state, recoveries, packet, psn, known);
  }
  return true;
}

}  // namespace lw::analysis
