// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/analyst.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "analysis/check/protocol_check.h"
#include "analysis/findings/classify.h"
#include "analysis/setup/setup_findings.h"
#include "core/counted.h"
#include "core/quantity.h"
#include "wire/aeth.h"

namespace lw::analysis {
namespace {

constexpr std::uint8_t kCongested = 3;  // CE (RFC 3168, 5)

/// Whether the flows may show more about a stream than its setup has when a packet of it is
/// followed: how its sender recovers shows behind NAKs, and the path MTU behind READs.
bool may_teach(const RequestStream& stream, const CapturedPacket& packet) noexcept {
  const wire::Operation operation = packet.info->operation;
  if (packet.is_request())
    return operation == wire::Operation::read_request || packet.psn != psn_of(stream.next());
  if (!stream.setup().answered) return true;
  if (operation != wire::Operation::ack) return packet.begins_message();
  return packet.has_aeth && wire::AethFields{packet.syndrome, 0}.kind() != wire::AethKind::ack;
}

Anomaly about(const Session& session, std::uint8_t direction, const CapturedPacket& packet) {
  return {.session = session.number,
          .direction = direction,
          .frame = packet.number,
          .last_frame = packet.number,
          .stamp = packet.stamp,
          .psn = packet.psn,
          .detail = {}};
}

void add_spacing(std::unique_ptr<CompactHistogram>& spacing, Duration between) {
  if (!spacing) spacing = std::make_unique<CompactHistogram>();
  spacing->add(between.count());
}

bool is_of_same_stream(const Anomaly& one, const Anomaly& other) noexcept {
  return one.session == other.session && one.direction == other.direction;
}

/// 250 MB for all streams, of one direction each; at least what a normal connection needs.
StreamMemory memory_for(std::size_t sessions) {
  constexpr std::size_t kWaiting = std::size_t{3} << 18, kAnswered = std::size_t{1} << 19;
  constexpr StreamMemory kMost;
  return {.waiting = std::clamp<std::size_t>(kWaiting / sessions, 64, kMost.waiting),
          .answered = std::clamp<std::size_t>(kAnswered / sessions, 32, kMost.answered)};
}

}  // namespace

void Analyst::add(const KeyedPacket& keyed) {
  const std::uint32_t flow = flows_.enter(keyed);
  if (const auto moved = flows_.take_moved()) move(*moved);
  if (keyed.rare) [[unlikely]]
    add_rare(keyed, flow);
  if (waiting_count_ == kLookAhead) follow_oldest();
  const std::size_t place = (oldest_ + waiting_count_++) % kLookAhead;
  if (place == waiting_.size()) waiting_.emplace_back();
  waiting_[place] = keyed.packet;
  waiting_[place].flow = flow;
}

void Analyst::add_rare(const KeyedPacket& keyed, std::uint32_t flow) {
  const CapturedPacket& packet = keyed.packet;
  if (keyed.rare->bad_icrc) explanations_[packet.number] = *keyed.rare->bad_icrc;
  const bool damaged =
      packet.bad_icrc && flow != QpFlow::kNone && flows_.icrcs_of(flow) == IcrcState::judged;
  if (keyed.rare->setup && !damaged)
    setups_.add({.number = packet.number,
                 .stamp = packet.stamp,
                 .point = keyed.key.point,
                 .what = *keyed.rare->setup});
}

/// Brings into the cache what follow() needs for the packets that wait behind the oldest one: each
/// step reads what an earlier step has fetched.
void Analyst::fetch_waiting() const noexcept {
  constexpr std::size_t kFlow = 24, kSession = 16, kStream = 8;
  if (waiting_count_ <= kFlow) return;
  const auto flow_of = [this](std::size_t ahead) {
    return waiting_[(oldest_ + ahead) % kLookAhead].flow;
  };
  const auto session_ahead = [&](std::size_t ahead) -> const Session* {
    const std::uint32_t flow = flow_of(ahead);
    if (flow == QpFlow::kNone || flows_[flow].session == QpFlow::kNone) return nullptr;
    return &sessions_[flows_[flow].session];
  };
  flows_.fetch(flow_of(kFlow));
  if (const Session* session = session_ahead(kSession)) prefetch(session);
  if (const Session* session = session_ahead(kStream))
    for (const Session::Direction& direction : session->directions)
      prefetch(direction.stream.get());
}

/// Gives waiting packets to other flows. Packets that were sorted by their stamps have no rising
/// numbers, but few are between others.
void Analyst::move(const MovedPackets& moved) {
  constexpr std::size_t kMostBetween = 1024;
  std::size_t before = 0;
  for (std::size_t i = waiting_count_; i-- > 0 && before < kMostBetween;) {
    CapturedPacket& packet = waiting_[(oldest_ + i) % kLookAhead];
    before = packet.number < moved.frame ? before + 1 : 0;
    if (before > 0) continue;
    for (const std::size_t k : {0U, 1U})
      if (packet.flow == moved.from[k]) packet.flow = moved.to[k];
  }
}

bool Analyst::follow_oldest() {
  if (waiting_count_ == 0) return false;
  const std::size_t place = std::exchange(oldest_, (oldest_ + 1) % kLookAhead);
  --waiting_count_;
  if (has_many_flows()) [[unlikely]]
    fetch_waiting();
  follow(waiting_[place]);
  return true;
}

void Analyst::finish() {
  while (follow_oldest()) {
  }
  waiting_ = {};
  for (Session& session : sessions_) finish(session);
  mark_sample();
  join_setups(setups_, sessions_, flows_, std::max(end_, setups_.last()));
  judge_setups(setups_, sessions_, flows_, log_);
  if (const auto pauses = pauses_.summary()) log_.add(*pauses);
  report_findings();
}

/// A mirror that drops a part of the frames drops those of all connections.
void Analyst::mark_sample() {
  const auto for_each_stream = [this](auto&& use) {
    for (Session& session : sessions_)
      for (Session::Direction& direction : session.directions)
        if (direction.stream) use(*direction.stream);
  };
  bool is_sample = false;
  for_each_stream([&](const RequestStream& stream) { is_sample |= stream.counts().is_sample(); });
  if (is_sample) for_each_stream([](RequestStream& stream) { stream.note_sample(); });
}

/// Classifies all facts: now the whole capture is known.
void Analyst::report_findings() {
  CaptureFacts& capture = facts_;
  for (const Session& session : sessions_)
    for (const Session::Direction& direction : session.directions)
      if (direction.stream) direction.stream->add_to(capture);
  log_.add_to(capture);
  log_.mark();
  const std::vector<std::uint32_t> order = log_.by_connection();
  const auto& facts = log_.facts();
  for (std::size_t i = 0; i < order.size();) {
    const std::size_t first = i;
    while (i < order.size() && is_of_same_stream(facts[order[first]].seen, facts[order[i]].seen))
      ++i;
    report_findings_of(std::span(order).subspan(first, i - first), capture);
  }
  log_.facts() = {};
  if (log_.beyond() > 0) results_.beyond(log_.beyond());
}

/// Classifies and checks the facts of one direction of a session, or of none, at these places of
/// the log.
void Analyst::report_findings_of(std::span<const std::uint32_t> places,
                                 const CaptureFacts& capture) {
  const Anomaly& seen = log_.facts()[places.front()].seen;
  ConnectionFacts connection;
  const Session::Direction* direction = nullptr;
  if (seen.session != 0) direction = &sessions_[seen.session - 1].directions[seen.direction];
  if (direction != nullptr && direction->stream) connection = direction->stream->facts();
  if (direction != nullptr)
    connection.mtu_differs = has_other_mtu(sessions_[seen.session - 1], seen.direction);
  if (direction != nullptr && direction->flow != QpFlow::kNone)
    connection.host_reactions = flows_.reactions_of_source(direction->flow);
  std::vector<Anomaly> findings;
  for (const std::uint32_t place : places)
    if (auto anomaly = classify(log_.facts()[place], connection, capture))
      findings.push_back(std::move(*anomaly));
  if (direction != nullptr && direction->passages) {
    direction->passages->finish();
    const bool guessed =
        direction->flow != QpFlow::kNone && flows_[direction->flow].paired_by == PairedBy::order;
    check_findings(*direction->passages,
                   {.guessed_pair = guessed,
                    .answered = connection.answered,
                    .began_before = connection.began_before,
                    .complete = !capture.is_incomplete() && connection.headers_whole,
                    .selective = connection.selective,
                    .ids_tell_copies = connection.ip_numbers_vary,
                    .ids_tell_order = connection.ip_numbers_ordered},
                   findings);
  }
  for (const Anomaly& anomaly : findings) results_.found(anomaly);
}

/// Whether the responder's packets of a session have another MTU than the requester's, of which the
/// largest shows the least.
bool Analyst::has_other_mtu(const Session& session, std::uint8_t direction) const {
  const std::uint32_t requests = session.directions[direction].flow;
  const std::uint32_t responses = session.directions[1 - direction].flow;
  if (requests == QpFlow::kNone || responses == QpFlow::kNone) return false;
  const std::uint32_t answer_mtu = flows_[responses].mtu.of_responses();
  return answer_mtu != 0 && flows_[requests].mtu.largest_payload() > answer_mtu;
}

Session* Analyst::session_of(const CapturedPacket& packet) {
  QpFlow& flow = flows_[packet.flow];
  if (flow.session != QpFlow::kNone) return &sessions_[flow.session];
  flows_.decide_peer(packet.flow);
  const std::uint32_t peer = flow.peer;
  if (peer == QpFlow::kNone || flows_[peer].session == QpFlow::kNone) return begin_session(packet);
  flow.session = flows_[peer].session;
  Session& session = sessions_[flow.session];
  session.directions[session.directions[0].flow == peer ? 1 : 0].flow = packet.flow;
  return &session;
}

Session* Analyst::begin_session(const CapturedPacket& packet) {
  if (sessions_.size() >= kMostSessions) return nullptr;
  QpFlow& flow = flows_[packet.flow];
  flow.session = static_cast<std::uint32_t>(sessions_.size());
  Session& session = sessions_.emplace_back();
  session.number = flow.session + 1;
  session.first = session.last = packet.stamp;
  session.first_frame = packet.number;
  session.directions[packet.is_request() ? 0 : 1].flow = packet.flow;
  session.directions[packet.is_request() ? 1 : 0].flow = flow.peer;
  if (flow.peer != QpFlow::kNone) flows_[flow.peer].session = flow.session;
  share_memory();
  return &session;
}

/// Each time that the number of sessions has doubled.
void Analyst::share_memory() {
  if (!std::has_single_bit(sessions_.size())) return;
  memory_ = memory_for(2 * sessions_.size());
  for (Session& session : sessions_)
    for (Session::Direction& direction : session.directions)
      if (direction.stream) direction.stream->remember(memory_);
}

/// The requester's path MTU: its connection manager said it, or its own packets show it. 0:
/// neither.
std::uint32_t Analyst::request_mtu_of(const Session& session, std::uint8_t direction) const {
  const std::uint32_t flow = session.directions[direction].flow;
  if (flow == QpFlow::kNone) return 0;
  if (const std::uint32_t mtu = flows_[flow].mtu.of_requests(); mtu != 0) return mtu;
  const ConnectionSetup* const setup = setups_.find(flows_[flow].key, session.first_frame);
  const std::size_t code = setup != nullptr && setup->request ? setup->request->mtu_code : 0;
  return code >= 1 && code <= kMtus.size() ? kMtus[code - 1] : 0;
}

/// What the packets that have come, with those of the look-ahead, show about a stream.
StreamSetup Analyst::setup_for(const Session& session, std::uint8_t direction) const {
  StreamSetup setup{.session = session.number, .direction = direction, .mtu = {}};
  const std::uint32_t requests = session.directions[direction].flow;
  const std::uint32_t responses = session.directions[1 - direction].flow;
  setup.answered = responses != QpFlow::kNone && flows_[responses].responses > 0;
  if (requests != QpFlow::kNone) {
    setup.mtu = flows_.mtu_of(requests);
    setup.ip_numbers_count = flows_[requests].ip_numbers.counts();
    setup.round_trip = flows_.round_trip_to_source(requests);
    if (const auto& recovery = flows_[requests].recovery) {
      setup.scheme = recovery->scheme(setup.round_trip);
      setup.least_reaction = flows_.least_reaction(requests);
    }
    // Both ends of a connection recover in the same way.
    if (setup.scheme == RecoveryScheme::unknown && responses != QpFlow::kNone)
      setup.scheme = flows_[responses].scheme;
    if (setup.scheme == RecoveryScheme::unknown && flows_.source_goes_back(requests))
      setup.scheme = RecoveryScheme::go_back_n;
    if (!setup.answered && setup.scheme == RecoveryScheme::unknown)
      setup.scheme = flows_[requests].repeated.scheme();
  }
  if (responses != QpFlow::kNone) {
    setup.largest_response = flows_[responses].mtu.largest_payload();
    setup.answer_time = flows_.round_trip_to_source(responses);
  }
  setup.request_mtu = request_mtu_of(session, direction);
  if (setup.request_mtu != 0) setup.mtu = setup.request_mtu;
  return setup;
}

RequestStream& Analyst::stream_of(Session& session, std::uint8_t direction) {
  auto& stream = session.directions[direction].stream;
  if (stream) return *stream;
  stream = std::make_unique<RequestStream>(setup_for(session, direction), results_, log_);
  session.directions[direction].passages = std::make_unique<PassageLog>(passages_);
  stream->remember(memory_);
  return *stream;
}

/// Decides again about a stream that is longer than the look-ahead, before a packet is followed of
/// which may_teach() is true.
void Analyst::decide_again(Session& session, std::uint8_t direction, const CapturedPacket& packet) {
  const std::uint32_t requests = session.directions[direction].flow;
  if (requests == QpFlow::kNone) return;
  RequestStream& stream = *session.directions[direction].stream;
  const StreamSetup& setup = stream.setup();
  const wire::Operation operation = packet.info->operation;
  const bool reads =
      operation == wire::Operation::read_request || operation == wire::Operation::read_response;
  const bool other_mtu = reads && setup.request_mtu == 0 && flows_.mtu_of(requests) != setup.mtu;
  const bool recovers = packet.is_response() ? operation == wire::Operation::ack
                                             : setup.scheme == RecoveryScheme::unknown &&
                                                   flows_[requests].recovery != nullptr;
  if (other_mtu || recovers || !setup.answered) stream.learn(setup_for(session, direction));
}

void Analyst::follow(const CapturedPacket& packet) {
  Session* const known = packet.flow == QpFlow::kNone ? nullptr : session_of(packet);
  if (known == nullptr) {
    ++unfollowed_;
    return;
  }
  end_ = std::max(end_, packet.stamp);
  note_load(packet);
  Session& session = *known;
  const std::uint8_t direction = session.directions[0].flow == packet.flow ? 0 : 1;
  count(session, session.directions[direction], direction, packet);
  const bool taken = !is_dropped(session, direction, packet);
  if (taken) process(session, direction, packet);
  if (observer_ != nullptr) observer_->followed(session, direction, packet, taken);
}

void Analyst::note_load(const CapturedPacket& packet) {
  const QpFlow& flow = flows_[packet.flow];
  if (flow.target >= loads_.size()) loads_.resize(flow.target + 1);
  loads_[flow.target].add(flow.source, packet.stamp, packet.wire_length, load_rows_);
}

void Analyst::process(Session& session, std::uint8_t direction, const CapturedPacket& packet) {
  const bool shared = is_management(packet, flows_[packet.flow].key);
  if (packet.is_request() && !shared) {
    RequestStream& stream = stream_of(session, direction);
    if (may_teach(stream, packet)) [[unlikely]]
      decide_again(session, direction, packet);
    session.directions[direction].passages->request(packet, stream.setup().span_of(packet));
    stream.request(packet);
  }
  const auto other = static_cast<std::uint8_t>(1 - direction);
  if (packet.is_response()) {
    RequestStream& stream = stream_of(session, other);
    if (may_teach(stream, packet)) [[unlikely]]
      decide_again(session, other, packet);
    session.directions[other].passages->answer(packet);
    stream.response(packet);
  }
}

void Analyst::count(Session& session, Session::Direction& direction, std::uint8_t index,
                    const CapturedPacket& packet) {
  session.first = std::min(session.first, packet.stamp);
  session.last = std::max(session.last, packet.stamp);
  ++direction.packets;
  if (packet.ecn == kCongested && direction.congested++ == 0)
    direction.first_congested = packet.number;
  const bool notifies = packet.info != nullptr && packet.info->role == wire::Role::notification;
  direction.markable += packet.ecn != 0 && !notifies;
  if (notifies) {
    if (direction.cnps++ == 0)
      direction.first_cnp = packet.number;
    else
      add_spacing(direction.cnp_spacing, stamp_difference(packet.stamp, direction.last_cnp));
    direction.last_cnp = packet.stamp;
  }
  if (packet.bad_icrc || notifies) return;
  if (!direction.p_key) direction.p_key = packet.p_key;
  if (*direction.p_key == packet.p_key) return;
  Anomaly found = about(session, index, packet);
  found.kind = AnomalyKind::p_key;
  found.detail = fmt::format("{:#06x} in place of {:#06x}", packet.p_key, *direction.p_key);
  log_.add(found);
}

/// Whether a packet that is shorter than its IP length says reached this point without its data, so
/// that its receiver does not take it either. If a mirror cut it, it is whole elsewhere.
bool Analyst::is_trimmed(Session& session, std::uint8_t direction, const CapturedPacket& packet) {
  const CutBy by = flows_.cut_by(packet);
  if (by == CutBy::mirror) {
    session.directions[direction].cut_by_mirror++;
    return false;
  }
  Anomaly found = about(session, direction, packet);
  found.kind = AnomalyKind::trimmed;
  found.role = packet.info->role;
  found.certainty = by == CutBy::network ? Certainty::certain : Certainty::unknown;
  found.detail =
      fmt::format("to {} bytes, of {} bytes of payload", packet.wire_length, packet.payload);
  if (packet.dscp != flows_[packet.flow].dscp)
    found.detail += fmt::format(", DSCP {} in place of {}", packet.dscp, flows_[packet.flow].dscp);
  log_.add(found);
  return by == CutBy::network;
}

/// Whether the analysis leaves a packet with a bad ICRC out, as its receiver drops it. If all of
/// its source's are bad, they may be missing; or its requests are followed, as its sender sends
/// them again and again, and its answers are not, as nobody hears them.
bool Analyst::is_dropped(Session& session, std::uint8_t direction, const CapturedPacket& packet) {
  if (packet.info == nullptr) return true;
  if (packet.trimmed) [[unlikely]]
    return is_trimmed(session, direction, packet);
  if (!packet.bad_icrc) return false;
  const QpFlow& flow = flows_[packet.flow];
  const IcrcState state = flows_.icrcs_of(packet.flow);
  const bool all = state != IcrcState::judged;
  const bool dropped = !all || (state == IcrcState::wrong && packet.is_response());
  const bool first = session.directions[direction].bad_icrcs++ == 0;
  if (all && !first) return dropped;
  Anomaly found = about(session, direction, packet);
  found.kind = state == IcrcState::wrong ? AnomalyKind::wrong_icrcs
               : all                     ? AnomalyKind::no_icrcs
                                         : AnomalyKind::bad_icrc;
  if (all) found.packets = flow.bad_icrcs;
  if (state == IcrcState::unknown) found.certainty = Certainty::unknown;
  if (const auto known = explanations_.find(packet.number);
      known != explanations_.end() && known->second.kind != IcrcError::Kind::unwritten)
    found.detail =
        known->second.explains(!all) ? known->second.text : "no single bit or field explains it";
  log_.add(found);
  return dropped;
}

void Analyst::finish(Session& session) {
  for (std::uint8_t direction = 0; direction < 2; ++direction) {
    auto& stream = session.directions[direction].stream;
    if (!stream) continue;
    const std::uint32_t flow = session.directions[direction].flow;
    stream->finish(std::max(end_, setups_.last()),
                   flow != QpFlow::kNone && flows_.has_answers_to_source(flow));
    judge_plateau(session, direction);
  }
  judge_congestion(session);
}

/// CE on one direction asks its receiver for CNPs on the other.
void Analyst::judge_congestion(const Session& session) {
  for (std::uint8_t direction = 0; direction < 2; ++direction) {
    const Session::Direction& marked = session.directions[direction];
    const Session::Direction& back = session.directions[1 - direction];
    Anomaly found{.session = session.number, .direction = direction, .stamp = session.first};
    if (marked.congested > 0 && back.cnps == 0 && back.packets > 0) {
      found.kind = AnomalyKind::ce_without_cnp;
      found.packets = marked.congested;
      found.frame = found.last_frame = marked.first_congested;
      log_.add(found);
    } else if (marked.congested == 0 && back.cnps > 0 && marked.packets > 0) {
      found.kind = AnomalyKind::cnp_without_ce;
      found.packets = back.cnps;
      found.frame = found.last_frame = back.first_cnp;
      log_.add(found);
    }
  }
}

/// A sender that is held by a limit reaches it again and again.
void Analyst::judge_plateau(const Session& session, std::uint8_t direction) {
  const StreamCounts& counts = session.directions[direction].stream->counts();
  Anomaly found{.kind = AnomalyKind::window_plateau,
                .session = session.number,
                .direction = direction,
                .frame = session.first_frame,
                .last_frame = session.first_frame,
                .stamp = session.first};
  if (const auto queue = counts.standing_queue()) {
    found.cause = Cause::full_link;
    found.packets = counts.most_outstanding;
    found.detail = fmt::format(
        "the round trip grew from {} to {} (median) with the data in flight, at the same rate, {}",
        format_duration(Duration{counts.rtt.minimum()}),
        format_duration(Duration{counts.rtt.quantile(0.5)}),
        format_bit_rate(queue->rate * counts.bytes_of_packet() * 8));
    log_.add(found);
  } else if (counts.held_by_reads()) {
    if (!counts.reads_bound_the_rate()) return;
    found.packets = counts.reads_at_most;
    found.detail = fmt::format(
        "never more than {} outstanding: the connection's limit, or the depth of "
        "the sender's queue",
        counted_fetches(counts.most_reads));
    log_.add(found);
  } else if (counts.held_by_window()) {
    found.packets = counts.held;
    found.detail = fmt::format(
        "never more than {} of SENDs and WRITEs outstanding, and {:.0f} % of the time waited for "
        "their ACKs: the depth of the sender's queue, or its window",
        counted(counts.most_outstanding, "packet"), 100 * counts.held_share());
    log_.add(found);
  }
}

}  // namespace lw::analysis
