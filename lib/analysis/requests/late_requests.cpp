// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/late_requests.h"

#include <algorithm>

namespace lw::analysis {
namespace {

/// Processes a packet that fills a gap, and was sent before the packet that showed the gap.
bool take_late_original(StreamState& state, const CapturedPacket& packet, Sequence psn,
                        const Sent& gap) {
  const Nak* const nak = state.naks.of_frame(state.naks.frame_naming(gap.psn, psn));
  if (nak != nullptr) state.naks.note_late(nak->frame);
  const Sent old = gap;
  Fill fill{.first = psn, .first_frame = packet.number, .first_stamp = packet.stamp};
  fill.add(old, state.log.fill(sent_of(packet, psn, state.setup().span_of(packet))));
  state.counts.payload += packet.payload;
  state.late.add(psn, packet.stamp);
  state.note_late(fill, nak != nullptr ? Cause::sequence_nak : Cause::none);
  return true;
}

/// Processes a packet of a recovery that fills a gap, and comes after later packets of it. Returns
/// false if there is no recovery.
bool take_late_replacement(StreamState& state, Recoveries& recoveries, const CapturedPacket& packet,
                           Sequence psn, const Sent& gap) {
  const Recovery* const recovery = recoveries.find([](const Recovery&) { return true; });
  if (recovery == nullptr) return false;
  const Sent old = gap;
  const Sent& sent = state.log.fill(sent_of(packet, psn, state.setup().span_of(packet)));
  const Filled skipped = recoveries.add_late(
      recovery, psn, sent.span, {psn, sent.span, old.frame, old.stamp}, recovery->skips(psn, old));
  recoveries.fill_late(*recovery, old, sent);
  recoveries.begin_at(*recovery, psn);
  state.counts.payload += packet.payload;
  state.report.late_in_recovery(packet, psn, skipped);
  state.late.add(psn, packet.stamp);
  return true;
}

/// Processes a packet of a recovery that comes after later packets of it.
void take_late_repetition(StreamState& state, Recoveries& recoveries, const CapturedPacket& packet,
                          Sequence psn, Sent& known) {
  const Recovery* const recovery = recoveries.find_sent(packet.ip_id);
  const Filled skipped = recoveries.add_late(recovery, psn, known.span,
                                             {psn, known.span, known.last_frame, known.last_stamp},
                                             recovery != nullptr && recovery->skips(psn));
  if (recovery != nullptr) recoveries.begin_at(*recovery, psn);
  known.note_again(packet);
  known.last_ip_id = packet.ip_id;
  state.report.late_in_recovery(packet, psn, skipped);
  state.late.add(psn, packet.stamp);
}

}  // namespace

void take_overtaken(StreamState& state, Recoveries& recoveries, const Recovery& recovery,
                    const CapturedPacket& packet, Sequence psn, const Sent& known) {
  const Filled gap = recoveries.take_back_loss(recovery, psn, known.span);
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
  } else if (const Recovery* const recovery = recoveries.find_filled(psn);
             recovery != nullptr && IpNumbers::is_before(packet.ip_id, known.ip_id)) {
    take_overtaken(state, recoveries, *recovery, packet, psn, known);
  } else {
    take_late_repetition(state, recoveries, packet, psn, known);
  }
  return true;
}

}  // namespace lw::analysis
