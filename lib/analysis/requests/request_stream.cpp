// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/request_stream.h"

#include <algorithm>
#include <utility>

#include "analysis/requests/late_requests.h"
#include "analysis/requests/request_checks.h"
#include "wire/aeth.h"

namespace lw::analysis {
namespace {

using wire::Operation;

constexpr Sequence kFirstOrigin = Sequence{1} << 32;  // leaves room for smaller ones

/// Whether a repeated NAK comes sooner after the newest transmission of its packet than any answer
/// did: the receiver sent it before. `passed`: the packet has passed since an earlier NAK.
bool is_outdated(StreamState& state, const CapturedPacket& nak, Sequence psn, bool passed) {
  const Sent* const sent = state.log.find(psn);
  const auto least = state.answers.least_round_trip();
  if (sent == nullptr || !(passed || state.naks.was_answered(psn))) return false;
  return least ? stamp_difference(nak.stamp, sent->last_stamp) < *least : passed;
}

/// Whether the packet that a NAK names has passed since: another NAK of it is one more for a sender
/// that repeats single packets.
bool has_passed_since(StreamState& state, const Nak& nak) {
  const Sent* const sent = state.log.find(nak.psn);
  return state.setup().scheme == RecoveryScheme::selective && sent != nullptr && sent->seen &&
         sent->last_stamp > nak.stamp;
}

/// Whether an entry of the log is a READ whose RETH was cut off. Null: there is no entry.
bool is_cut_read(const Sent* sent) noexcept {
  return sent != nullptr && sent->seen && is_read(sent->opcode) && !sent->has_reth;
}

/// Whether an answer with a PSN acknowledges that PSN, too: it is no NAK.
bool acknowledges_own(const CapturedPacket& answer) noexcept {
  return answer.info->operation != Operation::ack ||
         (answer.has_aeth && wire::AethFields{answer.syndrome, 0}.kind() == wire::AethKind::ack);
}

/// Whether a request is a FLUSH or ATOMIC WRITE: a READ RESPONSE ONLY without data answers it, as
/// Linux does, or an ACK.
bool is_answered_without_data(const Sent& sent) noexcept {
  const Operation operation = wire::find_opcode(sent.opcode)->operation;
  return operation == Operation::flush || operation == Operation::atomic_write;
}

/// Whether nothing more is expected for a request. A READ or atomic without its whole response
/// still waits: its requester may ask for the rest.
bool is_done(const StreamState& state, const Sent& sent) {
  constexpr Sequence kLong = 4096;
  const Sequence end = sent.psn + sent.span;
  if (end > state.acked()) return false;
  if (!sent.seen || state.acked() - end > kLong) return true;
  return sent.answered && !(sent.fetches && state.fetched.gap_in(sent.psn, end));
}

}  // namespace

// Requests

Sequence RequestStream::unwrap(std::uint32_t psn) const noexcept {
  if (state_.log.empty()) return kFirstOrigin + psn;
  const auto ahead = wire::Psn::distance(wire::Psn{psn_of(state_.next_)}, wire::Psn{psn});
  return state_.next_ + static_cast<Sequence>(std::int64_t{ahead});
}

void RequestStream::count_request(const CapturedPacket& packet) {
  if (state_.counts.packets == 0 && state_.counts.responses == 0)
    state_.counts.first = packet.stamp;
  state_.counts.last = std::max(state_.counts.last, packet.stamp);
  ++state_.counts.packets;
  state_.counts.acks_asked += packet.ack_req;
  state_.counts.bytes += packet.wire_length;
  if (packet.info != counted_) {
    counted_ = packet.info;
    count_ = &state_.counts.opcodes[packet.info->opcode];
  }
  ++*count_;
  state_.reliable_ = packet.is_reliable();
}

/// Reports a stall: requests wait for their response, and neither side sends anything for long,
/// until the response comes. Before a packet that is sent again, the silence is the sender's timer.
/// Before a new packet, the response may be missing in the capture.
void RequestStream::check_silence(const CapturedPacket& packet) {
  constexpr Duration kLong = std::chrono::milliseconds{10};
  constexpr std::int64_t kRoundTrips = 16;  // divided by: stamps are any numbers
  const auto before = std::exchange(last_packet_, packet.stamp);
  state_.revisions.begin(packet.number);
  state_.silence_ = before ? stamp_difference(packet.stamp, *before) : Duration{};
  if (!packet.is_response() || state_.log.waiting() == 0 || state_.acks_cut_) return;
  if (state_.silence_ < kLong) [[likely]]
    return;
  if (state_.silence_.count() / kRoundTrips < state_.counts.rtt.maximum()) return;
  state_.report.stall(packet, state_.log.oldest_waiting().psn, state_.next_, state_.silence_);
}

void RequestStream::request(const CapturedPacket& packet) {
  check_silence(packet);
  count_request(packet);
  const Sequence psn = unwrap(packet.psn);
  if (calm_ && psn == state_.next_) return append(packet, psn);
  if (state_.log.empty()) {
    state_.next_ = state_.acked_ = psn;
    state_.begin.take_first(packet, psn);
    state_.counts.first_psn = packet.psn;
    state_.fetched.note_lone(psn, state_.begin.lone_end());
  }
  if (psn < state_.next_) state_.answers.note_earlier_psn(packet.stamp);
  settle_held(wrong_.settle_by_request(psn));  // an early ACK prolongs the first round trip
  end_first_round_trip();
  if (psn < state_.next_ && take_reuse(packet, psn)) return;
  reuse_.finish();
  if (psn < state_.next_ && state_.ip_numbers_.is_late(packet.ip_id) && take_if_late(packet, psn))
    return;
  repetitions_.judge(psn, &packet);
  fills_.judge_place(psn);
  losses_.take_request(packet, psn);
  // Before a packet within a message, that message has begun.
  const bool begins = packet.info->position != wire::Position::middle &&
                      packet.info->position != wire::Position::last;
  if (psn >= state_.next_ && state_.taken.replays())
    state_.taken.note_new(psn, packet.stamp, state_.time_to_react(), state_.acked_);
  if (psn > state_.next_) extend_cut_read(begins ? psn : psn - 1);
  if (psn == state_.next_)
    advance(packet, psn);
  else if (psn > state_.next_)
    skip(packet, psn);
  else
    behind(packet, sent_of(packet, psn, state_.setup_.span_of(packet)));
  newest_end_ = psn + state_.setup_.span_of(packet);
  state_.ip_numbers_.add(packet.ip_id);
  calm_ = state_.begin.has_order() && recoveries_.none_open() && fills_.none_open() &&
          losses_.none_open() && !early_ack_ && !wrong_.holds() && repetitions_.none_open() &&
          !state_.taken.replays();
}

/// Notes that the first round trip is over, if it is.
void RequestStream::end_first_round_trip() {
  if (!state_.begin.end_round_trip(state_.counts.rtt.count() > 0, state_.next_)) return;
  state_.report.shows_from(state_.next_);
}

/// The newest request takes all PSNs up to the one before `end`, if it is a READ whose RETH was cut
/// off.
void RequestStream::extend_cut_read(Sequence end) {
  constexpr Sequence kMost = Sequence{1} << 23;  // half of all PSNs
  if (state_.log.empty() || state_.log.newest().span_known) return;
  Sent& read = state_.log.newest();
  if (end - read.psn > kMost) return;
  read.span = static_cast<std::uint32_t>(end - read.psn);
  state_.next_ = end;
  state_.reads_cut_ = true;
}

/// Processes the next packet in order.
void RequestStream::advance(const CapturedPacket& packet, Sequence psn) {
  fills_.judge(packet, psn, nullptr);
  recoveries_.skip_to_end(packet, psn);
  recoveries_.end();
  state_.begin.note_in_order();
  recoveries_.report_if_final(packet);
  if (early_ack_ && early_ack_->psn >= psn && !state_.begin.was_acked_early(early_ack_->psn))
    state_.report.ack_of_unsent(*early_ack_, packet);
  early_ack_.reset();
  append(packet, psn);
}

void RequestStream::append(const CapturedPacket& packet, Sequence psn) {
  check_form(packet);
  state_.ip_numbers_.add_new(packet.ip_id);
  state_.counts.payload += packet.payload;
  state_.log.push([&] { return sent_of(packet, psn, state_.setup_.span_of(packet)); });
  Sent& sent = state_.log.newest();
  state_.fetched.note_request(sent);
  state_.next_ = newest_end_ = psn + sent.span;
  if (state_.reliable_) {
    state_.limits.add(sent, state_.next_ - state_.acked_);
    flight_.sent(sent, state_.next_ - state_.acked_, state_.last_progress_);
  }
  state_.last_progress_ = packet.stamp;
  retire_beyond(state_.reliable_ ? memory_.waiting : std::min(memory_.waiting, kLatePackets));
}

/// Whether a capture may have begun while its sender repeated a single packet: then the PSNs before
/// the next packet were sent before. The sender's IP numbers tell, or the length of the gap, or an
/// answer to a packet in it.
bool RequestStream::begins_within_recovery(const CapturedPacket& packet,
                                           Sequence psn) const noexcept {
  if ((state_.begin.joined() ? state_.begin.is_over() : state_.begin.has_order()) ||
      !state_.reliable_)
    return false;
  if (state_.begin.begins_again() && state_.counts.packets == 2) return true;
  return psn - state_.next_ >= CaptureBegin::kManyInARow ||
         state_.fetched.answered_end() > state_.next_ ||
         state_.ip_numbers_.follows_last(packet.ip_id);
}

/// Whether a NAK named the newest packet before it came: it was sent before the capture began, and
/// perhaps others behind it.
bool RequestStream::repeats_newest() noexcept {
  const Sent& newest = state_.log.newest();
  const auto named = state_.naks.stamp_of(newest.psn);
  return named && *named <= newest.stamp;
}

/// Processes a packet beyond the next PSN: the PSNs in between are missing, as far as is known now.
void RequestStream::skip(const CapturedPacket& packet, Sequence psn) {
  fills_.judge(packet, psn, nullptr);
  recoveries_.skip_to_end(packet, psn);
  recoveries_.end();
  if (begins_within_recovery(packet, psn)) {
    state_.begin.begin_at(psn);
  } else if (state_.reliable_ && !state_.begin.is_over() && state_.fetched.answered_end() == psn) {
    // What it repeated from before the capture was acknowledged.
    state_.begin.note_sent_before();
    state_.begin.begin_at(psn);
  }
  const bool in_row = newest_end_ == state_.next_ && !repeats_newest();
  state_.log.push([&] { return gap_before(packet, state_.next_, psn); });
  state_.log.newest().in_row = in_row;
  state_.log.newest().answered_before = state_.fetched.answered_end() >= psn;
  state_.next_ = psn;
  previous_ = nullptr;
  const auto early = early_ack_;
  early_ack_.reset();
  advance(packet, psn);
  if (early && early->psn < psn) acknowledge(early->psn + 1, packet);
}

/// Whether a READ with `psn`, which may be that of another response to `read`, is a request of its
/// own: a requester asks again from a response on of which it has got all before.
bool RequestStream::is_beyond_response(const Sent& read, Sequence psn) const noexcept {
  return state_.setup_.answered && psn - read.psn > read.responses;
}

/// A READ whose RETH was cut off takes the PSNs before `end` only.
void RequestStream::cut_read(const Sent& read, Sequence end) {
  recoveries_.shorten(read.psn + read.span, end);
  state_.log.cut(end);
}

/// Processes a PSN below the next one.
void RequestStream::behind(const CapturedPacket& packet, Sent sent) {
  if (sent.psn < state_.begin.first()) open_before_begin(packet, sent.psn);
  Sent* known = state_.log.find(sent.psn);
  if (is_cut_read(known) && known->psn < sent.psn &&
      (!is_read(sent.opcode) || is_beyond_response(*known, sent.psn))) {
    cut_read(*known, sent.psn);
    known = state_.log.find(sent.psn);
  }
  if (known != nullptr && known->seen && !sent.span_known)
    sent.span = static_cast<std::uint32_t>(known->psn + known->span - sent.psn);
  fills_.judge(packet, sent.psn, known);
  if (known != nullptr && !known->seen) {
    fills_.note(packet, sent);
  } else if (known == nullptr || !recoveries_.extend(packet, sent, *known)) {
    repetitions_.note(packet, sent, known);
  }
}

/// Processes a packet that was sent before the newest one: it is late, or a copy. Returns false if
/// this is not certain.
bool RequestStream::take_if_late(const CapturedPacket& packet, Sequence psn) {
  if (!state_.reliable_) return false;
  if (psn < state_.begin.first()) open_before_begin(packet, psn);
  Sent* known = state_.log.find(psn);
  if (is_cut_read(known) && known->psn < psn && IpNumbers::is_before(known->ip_id, packet.ip_id)) {
    cut_read(*known, psn);
    known = state_.log.find(psn);
  }
  return known != nullptr && take_late(state_, recoveries_, packet, psn, *known);
}

/// Processes a PSN below the first of the capture: the PSNs in between were sent before, or come
/// late.
void RequestStream::open_before_begin(const CapturedPacket& packet, Sequence psn) {
  Sent gap = gap_before(packet, psn, state_.begin.first());
  if (const Sent* const first = state_.log.find(state_.begin.first())) gap.ip_id = first->ip_id;
  const bool waits = state_.log.push_front(gap);
  if (waits) state_.acked_ = psn;
  state_.begin.note_below(psn);
}

void RequestStream::check_form(const CapturedPacket& packet) {
  const wire::OpcodeInfo* const before = std::exchange(previous_, packet.info);
  if (before != nullptr) report_if_wrong(packet, wrong_order(*before, packet));
  report_if_wrong(packet, wrong_lengths(packet, state_.setup_.mtu));
}

void RequestStream::report_if_wrong(const CapturedPacket& packet, std::string wrong) {
  if (!wrong.empty()) state_.report.malformed(packet, unwrap(packet.psn), std::move(wrong));
}

/// Processes a packet that is another request than the one that had its PSN before. Returns whether
/// it is one.
bool RequestStream::take_reuse(const CapturedPacket& packet, Sequence psn) {
  Sent* const known = state_.reliable_ ? state_.log.find(psn) : nullptr;
  if (known == nullptr || !known->seen) return false;
  const std::uint32_t span = state_.setup_.span_of(packet);
  if (!reuse_.note(packet, psn, span, *known)) return false;
  previous_ = nullptr;
  if (psn + span > state_.next_) append_rest(packet, psn + span);
  state_.ip_numbers_.add(packet.ip_id);
  calm_ = false;
  return true;
}

/// Appends the PSNs of a READ that are not those of another request, up to the one before `end`.
void RequestStream::append_rest(const CapturedPacket& packet, Sequence end) {
  Sent rest = sent_of(packet, state_.next_, static_cast<std::uint32_t>(end - state_.next_));
  rest.reused = rest.asked_again = true;
  state_.log.push([&] { return rest; });
  state_.next_ = end;
}

// Responses

void RequestStream::response(const CapturedPacket& packet) {
  check_silence(packet);
  if (state_.counts.packets == 0 && state_.counts.responses == 0)
    state_.counts.first = packet.stamp;
  state_.counts.last = std::max(state_.counts.last, packet.stamp);
  if (state_.counts.responses++ == 0) {
    state_.begin.note_first_answer(packet.number);
    first_answer_ = {unwrap(packet.psn) + 1, packet.msn};
  }
  state_.answers.begin(packet.stamp);
  if (state_.log.empty()) return take_lone_response(packet);
  recoveries_.report_if_final(packet);
  const Sequence psn = unwrap(packet.psn);
  settle_held(wrong_.settle_by_answer(packet, psn));
  wrong_.note_begin(state_.begin.joined());
  // The response to a repeated request has the newest count.
  state_.begin.note_answer(packet, psn, state_.counts.resent > 0 ? state_.next_ : psn + 1);
  if (state_.counts.responses == 1) state_.answers.note_first(state_.begin.joined());
  switch (packet.info->operation) {
    case Operation::ack:
      take_ack(packet, psn);
      break;
    case Operation::read_response:
      take_read_response(packet, psn);
      break;
    default:
      take_atomic_ack(packet, psn);
  }
  if (state_.taken.replays()) [[unlikely]] {
    calm_ = false;
    replay(packet);
  }
  state_.fetched.note(packet, psn);
}

/// Gives an answer to the replay of the requester.
void RequestStream::replay(const CapturedPacket& packet) {
  const Sequence psn = unwrap(packet.psn);
  const Sent* const sent = state_.log.find(psn);
  const bool responds =
      packet.info->operation != Operation::ack && sent != nullptr && sent->seen && sent->fetches;
  state_.taken.note_answer(state_.log,
                           {.psn = psn,
                            .end = acknowledges_own(packet) ? psn + 1 : psn,
                            .responds = responds,
                            .first = packet.stamp,
                            .last = {packet.number, packet.stamp}},
                           state_.acked_);
}

/// Processes a response to a request that was not captured.
void RequestStream::take_lone_response(const CapturedPacket& packet) {
  state_.begin.take_lone(packet);
  if (packet.info->operation != Operation::ack) return lone_.note(packet);
  if (!packet.has_aeth) return;
  if (wire::AethFields{packet.syndrome, 0}.kind() == wire::AethKind::ack)
    return lone_.take_ack(packet);
  state_.begin.note_lone_nak(packet);
  state_.report.nak(packet, kFirstOrigin + packet.psn, nullptr);
}

/// Both an ACK and a NAK acknowledge the packets before theirs.
void RequestStream::take_cut_ack(const CapturedPacket& packet, Sequence psn) {
  state_.acks_cut_ = true;
  acknowledge(std::min(psn, state_.next_), packet);
}

void RequestStream::take_ack(const CapturedPacket& packet, Sequence psn) {
  if (!packet.has_aeth) return take_cut_ack(packet, psn);
  const auto kind = wire::AethFields{packet.syndrome, 0}.kind();
  if (kind != wire::AethKind::ack) return take_nak(packet, psn);
  ++state_.counts.acks;
  if (state_.counts.fetches_repeated > 0) state_.fetched.skip_rest_of_again(psn, packet);
  if (psn >= state_.next_) {
    calm_ = false;
    if (!wrong_.hold(packet, psn)) take_early_ack(packet, psn);
    return;
  }
  if (psn < state_.acked_) return;
  Sent* const sent = state_.log.find(psn);
  if (sent != nullptr && sent->fetches) [[unlikely]] {
    if (wrong_.take_in_place_of_data(packet, psn)) return acknowledge(sent->psn, packet);
    if (is_answered_without_data(*sent)) return complete_atomic(packet, psn, *sent);
  }
  if (sent != nullptr) state_.answers.sample(*sent, packet.stamp);
  acknowledge(psn + 1, packet);
}

/// Processes an ACK of a PSN that was not sent before: requests are missing, or come behind it.
void RequestStream::take_early_ack(const CapturedPacket& packet, Sequence psn) {
  state_.begin.note_early_ack(psn);
  early_ack_ = EarlyAck{psn, packet.number, packet.stamp};
  acknowledge(state_.next_, packet);
}

/// Processes an answer that was held, and is right.
void RequestStream::settle_held(std::optional<CapturedPacket> right) {
  if (right && right->info->operation == Operation::ack) take_early_ack(*right, unwrap(right->psn));
}

/// Whether a PSN is behind the first one of a READ whose RETH was cut off. If a NAK names it, it is
/// that of another request, which was not captured.
bool RequestStream::is_within_cut_read(Sequence psn) noexcept {
  const Sent* const read = state_.log.find(psn);
  return is_cut_read(read) && read->psn != psn;
}

/// Whether the PSNs of a gap from `psn` on may be those of a READ whose RETH was cut off, and that
/// filled a part of the gap.
bool RequestStream::follows_cut_read(Sequence psn) noexcept {
  return is_cut_read(state_.log.find(psn - 1));
}

void RequestStream::take_nak(const CapturedPacket& packet, Sequence psn) {
  calm_ = false;
  const Anomaly found = state_.report.nak(packet, psn, state_.log.find(psn));
  const bool rnr = found.kind == AnomalyKind::rnr_nak;
  const bool sequence_error = found.cause == Cause::sequence_nak;
  acknowledge(std::min(psn, state_.next_), packet);
  // A receiver that discards what comes behind a gap.
  if (sequence_error && !recoveries_.selective()) fills_.take_nak(psn);
  const bool asks = sequence_error && !state_.naks.was_refused(psn);
  const Nak* const open = state_.naks.asking_for(psn, state_.acked_);
  const bool named = open != nullptr && open->psn == psn;
  const bool passed = named && has_passed_since(state_, *open);
  const bool outdated = asks && is_outdated(state_, packet, psn, passed);
  const bool known = named && !passed;
  if (known) state_.naks.note_repeated(open->frame, packet.stamp);
  if (asks && !outdated && !named && !is_within_cut_read(psn)) losses_.take_nak(found, psn);
  if (sequence_error) state_.begin.note_expected(psn, packet.msn);
  if (!known)
    state_.naks.add({.psn = psn,
                     .frame = packet.number,
                     .stamp = packet.stamp,
                     .newest = packet.stamp,
                     .rnr = rnr,
                     .used = !rnr && !sequence_error,
                     .outdated = outdated,
                     .refusal = found.cause == Cause::fatal_nak ? Cause::fatal_nak : Cause::none});
}

/// A request of the first round trip of a capture may have been sent before, too.
void RequestStream::note_early(Sent& request) const noexcept {
  if (state_.begin.joined() && state_.report.is_early(request.psn))
    FetchResponses::note_sent_before(request);
}

void RequestStream::take_read_response(const CapturedPacket& packet, Sequence psn) {
  state_.counts.fetches_answered += packet.info->position == wire::Position::last ||
                                    packet.info->position == wire::Position::only;
  if (wrong_.take_of_other_mtu(packet, psn)) return;
  if (psn >= state_.next_) extend_cut_read(psn + 1);
  Sent* const read = psn < state_.next_ ? state_.log.find(psn) : nullptr;
  if (read == nullptr || !read->seen) {
    state_.counts.payload_unasked += packet.payload;
    if (psn >= state_.next_ && wrong_.hold(packet, psn)) calm_ = false;
    return;
  }
  if (is_answered_without_data(*read)) return complete_atomic(packet, psn, *read);
  if (!is_read(read->opcode)) return wrong_.take_to_other(packet, psn, *read);
  note_early(*read);
  if (state_.fetched.take_behind(packet, psn, *read)) {
    if (state_.taken.replays()) replay(packet);
    return retire_done();
  }
  if (psn > read->psn + read->responses) state_.taken.begin(read->psn + read->responses);
  acknowledge(read->psn, packet);
  if (psn == read->psn) state_.answers.sample(*read, packet.stamp);
  // A receiver that keeps what comes behind a gap answers the request and its repetition.
  const bool may_keep = state_.setup_.scheme != RecoveryScheme::go_back_n;
  if (may_keep && read->responses == 0 && read->answers_due == 1) ++read->answers_due;
  if (!state_.fetched.add(packet, psn, *read, state_.setup_.mtu)) return;
  Sequence end = read->psn + read->span;
  if (is_cut_read(read) && psn + 1 < end) {
    cut_read(*read, psn + 1);
    end = psn + 1;
  }
  acknowledge(end, packet);
  retire_done();
}

void RequestStream::take_atomic_ack(const CapturedPacket& packet, Sequence psn) {
  ++state_.counts.fetches_answered;
  if (psn >= state_.next_) {
    if (wrong_.hold(packet, psn)) calm_ = false;
    return;
  }
  Sent* const atomic = state_.log.find(psn);
  if (atomic == nullptr || !atomic->seen) return;
  if (!is_atomic(atomic->opcode)) return wrong_.take_to_other(packet, psn, *atomic);
  complete_atomic(packet, psn, *atomic);
}

/// Processes the response to an atomic, or to a FLUSH or ATOMIC WRITE.
void RequestStream::complete_atomic(const CapturedPacket& packet, Sequence psn, Sent& atomic) {
  note_early(atomic);
  if (atomic.responses > 0 && atomic.reused) return;
  if (atomic.responses > 0) {
    state_.fetched.take_again(packet, psn, atomic);
    if (state_.taken.replays()) replay(packet);
    return retire_done();
  }
  state_.fetched.take_atomic(packet, psn, atomic);
  state_.answers.sample(atomic, packet.stamp);
  acknowledge(psn, packet);
  acknowledge(psn + 1, packet);
  retire_done();
}

void RequestStream::acknowledge(Sequence end, const CapturedPacket& packet) {
  if (end <= state_.acked_) return;
  if (!calm_) losses_.take_ack(end, packet.stamp);
  if (end < state_.next_)
    state_.limits.add_ack(state_.next_ - state_.acked_, state_.last_progress_, packet.stamp);
  if (state_.answers.is_after_quiet())
    state_.answers.note_after_quiet(state_.acked_, end, state_.log.find(state_.acked_),
                                    state_.log.find(end - 1));
  state_.log.for_each(state_.acked_, end, [&](Sent& sent) {
    if (sent.psn + sent.span <= end) mark_acknowledged(sent, packet);
  });
  state_.acked_ = end;
  if (state_.taken.replays()) [[unlikely]]
    replay(packet);
  if (recoveries_.running() != nullptr) flight_.forget();
  flight_.acknowledged(end, packet.stamp);
  state_.last_progress_ = packet.stamp;
  if (!calm_) fills_.take_ack();
  retire_done();
}

void RequestStream::retire_done() {
  while (state_.log.waiting() > 0 && is_done(state_, state_.log.oldest_waiting()))
    retire(Cause::missing_in_capture);
}

/// Marks a request as executed.
void RequestStream::mark_acknowledged(Sent& sent, const CapturedPacket& packet) {
  if (!sent.seen || sent.answered) return;
  if (sent.fetches) [[unlikely]]
    state_.taken.begin(sent.psn + sent.responses);
  if (sent.copies > 0) state_.answers.note_answer(sent, packet.stamp);
  // An ACK without a new MSN answers a repetition: it shows no loss of the answers before it.
  if (sent.fetches && packet.info->operation == Operation::ack &&
      state_.fetched.has_newest_msn(packet))
    return;
  if (sent.fetches) return state_.fetched.skip_rest(sent, packet);
  sent.answered = true;
  sent.response_frame = packet.number;
  sent.response_stamp = packet.stamp;
}

/// Retires the oldest request: it needs no more responses, or is no longer waited for.
void RequestStream::retire(Cause cause_of_gap) {
  const Sent& oldest =
      state_.log.retire(memory_.answered, [this](const Sent& sent) { forget(sent); });
  if (!oldest.seen) {
    // Those before the capture's begin may have been sent before.
    if (oldest.psn >= state_.begin.psn() && !follows_cut_read(oldest.psn))
      state_.report.gap(oldest, cause_of_gap);
  } else if (state_.reliable_ && oldest.fetches) {
    state_.limits.retire_read(oldest.answered ? std::optional(oldest.response_stamp)
                                              : std::nullopt);
  }
}

/// A request leaves the log. Only now it is certain which answer completed it: a requester that has
/// missed the answer to a READ or atomic asks again.
void RequestStream::forget(const Sent& oldest) {
  const bool discards = state_.setup_.scheme != RecoveryScheme::selective;
  auto completion = state_.taken.forget(oldest, discards);
  if (!state_.reliable_) completion = Message::Completion{oldest.last_frame, oldest.last_stamp};
  messages_.add(oldest, completion);
}

void RequestStream::retire_beyond(std::size_t most) {
  while (state_.log.waiting() > most) {
    const Sent& oldest = state_.log.oldest_waiting();
    retire(state_.was_taken(oldest.psn + oldest.span) ? Cause::missing_in_capture : Cause::none);
  }
}

void RequestStream::finish(Instant end, bool host_answered) {
  state_.revisions.begin(0);
  reuse_.finish();
  settle_held(wrong_.take_held());
  repetitions_.judge(0, nullptr);
  losses_.finish();
  fills_.finish();
  recoveries_.end();
  recoveries_.report_ended();
  if (early_ack_) state_.report.unseen_before(*early_ack_, state_.next_);
  early_ack_.reset();
  state_.fetched.finish(end);
  state_.taken.finish(end, state_.time_to_react());
  lone_.finish();
  report_unanswered(end, host_answered);
  retire_beyond(0);
  if (!state_.log.empty())
    state_.log.for_each(state_.log.front_psn(), state_.next_,
                        [this](const Sent& sent) { forget(sent); });
  messages_.finish();
  state_.counts.span = state_.next_ - state_.begin.first();
  if (state_.counts.is_sample()) note_sample();
}

void RequestStream::note_sample() {
  StreamCounts& counts = state_.counts;
  counts.of_sample = counts.lacks_many(std::max(counts.missing, counts.lost));
  if (counts.of_sample)
    counts.messages_by_psn =
        messages_.rate().messages_in(counts.span, first_answer_, state_.fetched.newest_answer());
}

ConnectionFacts RequestStream::facts() const noexcept {
  ConnectionFacts facts{.answered = state_.counts.responses > 0,
                        .joined = state_.begin.joined(),
                        .stopped = stopped_};
  facts.began_before = state_.begin.began_before();
  facts.first_answer = state_.begin.first_answer();
  facts.least_rtt = state_.answers.least_round_trip();
  facts.steady_rtt = state_.answers.is_steady();
  facts.least_reaction = state_.setup_.least_reaction;
  facts.round_trip = state_.setup_.round_trip;
  facts.selective = recoveries_.selective();
  facts.goes_back = state_.setup_.goes_back();
  facts.asked = {state_.counts.gaps_asked, state_.counts.lost_behind};
  facts.resent = {state_.counts.gaps_resent, state_.counts.resent};
  facts.responses = {state_.counts.responses_asked, state_.counts.fetches_repeated};
  facts.repeats = state_.reliable_;
  facts.headers_whole = !state_.acks_cut_ && !state_.reads_cut_;
  facts.disorder = {state_.counts.out_of_order, state_.counts.lost};
  facts.response_disorder = {state_.counts.responses_late, state_.counts.responses_lost};
  facts.ip_numbers_ordered = state_.ip_numbers_.ordered();
  std::uint64_t fetches = 0;
  for (const auto& [opcode, count] : state_.counts.opcodes)
    if (is_read(opcode) || is_atomic(opcode)) fetches += count;
  const std::uint64_t asked =
      state_.counts.acks_asked - std::min(state_.counts.acks_asked, fetches);
  facts.ip_numbers_vary = state_.ip_numbers_.vary();
  const std::uint64_t tail = state_.answers.unanswered_at(state_.counts.last);
  // A responder that answers a READ or atomic has got all before it: ACKs may be for several.
  constexpr std::uint64_t kMany = 8;
  facts.all_answered = state_.counts.naks.empty() &&
                       (state_.counts.acks + tail >= asked || fetches >= kMany) &&
                       state_.counts.fetches_answered + tail >= fetches;
  facts.least_answer = state_.answers.least();
  facts.longest_quiet = state_.answers.longest_quiet(state_.counts.last);
  facts.reads_refused = state_.fetched.are_refused();
  facts.all_repeated = 5 * state_.counts.resent >= 2 * state_.counts.packets;
  return facts;
}

/// Returns the oldest request that waits for an answer; null: none. One without its response that
/// was not sent again since an answer to a later one came has been answered.
const Sent* RequestStream::oldest_unanswered() noexcept {
  const Sent* oldest = nullptr;
  bool due = false;  // a waiting request asks for an answer, or its sender missed it
  state_.log.for_each(state_.log.oldest_waiting().psn, state_.next_, [&](const Sent& sent) {
    const bool waits =
        sent.psn + sent.span > state_.acked_ || sent.last_stamp > state_.answers.newest();
    if (waits && oldest == nullptr) oldest = &sent;
    due = due || (waits && sent.seen && (sent.ack_req || sent.fetches || sent.copies > 0));
  });
  return due ? oldest : nullptr;
}

/// Whether a sender that has no answer to its oldest request has given up: it repeated it until the
/// end, and sent nothing new meanwhile.
bool RequestStream::was_given_up(const Sent& oldest) noexcept {
  constexpr std::uint32_t kMany = 3;  // repetitions
  return oldest.copies >= kMany && state_.log.newest().stamp < oldest.last_stamp;
}

std::optional<OpenRequests> RequestStream::find_open() noexcept {
  if (!state_.reliable_ || state_.log.waiting() == 0 || state_.acks_cut_) return std::nullopt;
  const Sent* const oldest = oldest_unanswered();
  if (oldest == nullptr || !oldest->seen) return std::nullopt;
  const Sent& newest = state_.log.newest();
  OpenRequests open{.psn = psn_of(oldest->psn),
                    .packets = state_.next_ - oldest->psn,
                    .frame = oldest->frame,
                    .last_frame = std::max(oldest->last_frame, newest.last_frame),
                    .first = oldest->stamp,
                    .last = std::max(oldest->last_stamp, newest.last_stamp),
                    .ever_answered = state_.counts.responses > 0};
  if (recoveries_.retry_waits().psn == oldest->psn) open.waits = recoveries_.retry_waits();
  open.payload = oldest->payload;
  constexpr Sequence kBack = 4096;
  if (open.ever_answered)
    state_.log.for_each(oldest->psn - kBack, oldest->psn, [&open](const Sent& sent) {
      open.largest_answered = std::max(open.largest_answered, sent.payload);
    });
  return open;
}

/// Reports requests without a response, if they were sent long enough before the end, and answers
/// would have been captured. A sender that repeats a request is not answered since it sent it
/// first; one that gives up shows by itself that no answer has reached it.
void RequestStream::report_unanswered(Instant end, bool host_answered) {
  open_ = find_open();
  if (!open_) return;
  constexpr Duration kLong = std::chrono::milliseconds{100};
  constexpr Duration kLongForNone =
      std::chrono::seconds{1};  // without a round trip to compare with
  constexpr std::int64_t kRoundTrips = 16;
  const Sent& oldest = *oldest_unanswered();
  const bool given_up = was_given_up(oldest);
  if (!open_->ever_answered && !host_answered && !given_up) return;
  // Repetitions; fewer where others answer this host.
  const std::uint32_t many = !open_->ever_answered && host_answered ? 2 : 3;
  const bool repeated = oldest.copies >= many;
  const bool is_compared = repeated && state_.counts.rtt.count() > 0;
  const Duration least = is_compared                                 ? Duration{}
                         : open_->ever_answered || oldest.copies > 0 ? kLong
                                                                     : kLongForNone;
  const Duration silence = stamp_difference(end, repeated ? oldest.stamp : oldest.last_stamp);
  if (silence < least || silence.count() / kRoundTrips < state_.counts.rtt.maximum()) return;
  if (wrong_.refused(oldest.psn)) return;  // it was answered, and the answer was wrong
  const Cause refusal = state_.naks.refusal_of(oldest.psn);
  if (repeated && refusal == Cause::none && (open_->ever_answered || host_answered))
    stopped_ = open_->ever_answered ? state_.answers.newest() : Instant::min();
  open_->reported = true;
  state_.report.unanswered(*open_, end, refusal);
}

}  // namespace lw::analysis
