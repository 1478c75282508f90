// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/qp_flows.h"

#include <algorithm>
#include <bit>
#include <span>

#include "analysis/pair_choice.h"
#include "analysis/requests/request_checks.h"

namespace lw::analysis {
namespace {

std::int32_t distance(std::uint32_t from, std::uint32_t to) noexcept {
  return wire::Psn::distance(wire::Psn{from}, wire::Psn{to});
}

QpFlowKey reversed(const QpFlowKey& key) noexcept {
  return {.source = key.destination,
          .destination = key.source,
          .qp = key.source_qp,
          .source_qp = key.qp,
          .point = key.point};
}

bool is_sequence_nak(const CapturedPacket& packet) noexcept {
  constexpr std::uint8_t kSequenceError = 0x60;  // IBTA vol. 1, 9.3.3
  return packet.has_aeth && packet.syndrome == kSequenceError;
}

bool is_fetch(const CapturedPacket& packet) noexcept {
  return is_read(packet.info->opcode) || is_atomic(packet.info->opcode);
}

/// Whether a UC or UD message with the first PSN begins a new flow. Nobody repeats these, but the
/// path may copy the first one.
bool begins_unreliable_flow(const QpFlow& flow, const CapturedPacket& packet) noexcept {
  constexpr std::uint64_t kLate = 1024;  // packets, or a time, after which no copy comes
  constexpr Duration kLateTime = std::chrono::seconds{1};
  return !packet.is_reliable() && packet.psn == flow.first_psn &&
         (flow.requests > kLate || stamp_difference(packet.stamp, flow.last) > kLateTime);
}

/// Whether a message without known responses begins its QP's next connection: it has the first PSN
/// once more after a silence that no path lasts, and its sender counts IP packets anew.
bool begins_unanswered_flow(const QpFlow& flow, const QpFlow* peer,
                            const CapturedPacket& packet) noexcept {
  constexpr Duration kLateTime = std::chrono::seconds{1};
  return packet.is_reliable() && (peer == nullptr || peer->responses == 0) && flow.requests > 0 &&
         distance(flow.first_psn, packet.psn) <= 0 && flow.ip_numbers.restarts(packet) &&
         stamp_difference(packet.stamp, flow.last) > kLateTime;
}

/// Whether the packet's transport and PSN continue the requests or responses of the flow.
bool continues(const QpFlow& flow, const CapturedPacket& packet) noexcept {
  const bool known = flow.requests + flow.responses > 0 && packet.info != nullptr;
  if (known && packet.info->transport != flow.transport &&
      packet.info->transport != wire::Transport::cnp)
    return false;
  if (packet.is_request()) {
    if (flow.requests == 0) return true;
    return distance(flow.last_psn, packet.psn) >= -QpFlows::kFar &&
           distance(flow.end_psn, packet.psn) <= QpFlows::kFar;
  }
  if (!packet.is_response() || flow.responses == 0) return true;
  return std::abs(distance(flow.response_psn, packet.psn)) <= std::int32_t{1} << 22;
}

bool sent_exactly(const QpFlow& flow, std::uint32_t psn) noexcept {
  return distance(flow.first_psn, psn) >= 0 && distance(psn, flow.end_psn) > 0;
}

/// Whether the flow sent `psn`, allowing for requests that the capture missed.
bool sent_about(const QpFlow& flow, std::uint32_t psn) noexcept {
  constexpr std::int32_t kMissed = 1024;
  return distance(flow.first_psn, psn) >= -kMissed && distance(psn, flow.end_psn) > -kMissed;
}

/// Whether a response may answer a request of the flow: it has sent that PSN, or all up to it were
/// lost and a NAK asks for the first one.
bool may_answer(const QpFlow& flow, const CapturedPacket& response) noexcept {
  return sent_exactly(flow, response.psn) ||
         (is_sequence_nak(response) && sent_about(flow, response.psn) &&
          distance(response.psn, flow.first_psn) > 0);
}

/// PSNs in a group of flows; few flows have requests in more than one.
constexpr std::uint32_t kBlock = 4096;
constexpr std::uint32_t kUcBlock = ~0U;  // UC has no responses: one group for all PSNs

/// The first PSN of the block after that of `psn`.
constexpr std::uint32_t next_block(std::uint32_t psn) noexcept {
  return (psn / kBlock + 1) * kBlock & wire::Psn::kMask;
}

/// The key of a group of flows: their addresses, and, in place of the QPs, the block of PSNs (or
/// kUcBlock) and the source port of the requests (0: any port).
QpFlowKey group_key(const QpFlowKey& flow, std::uint32_t block,
                    std::uint16_t source_port) noexcept {
  return {.source = flow.source,
          .destination = flow.destination,
          .qp = block,
          .source_qp = source_port,
          .point = flow.point};
}

}  // namespace

std::string_view name_of(PairedBy paired) noexcept {
  constexpr std::string_view kNames[] = {"not paired", "connection manager", "queue pairs",
                                         "responses",  "source port",        "NAK",
                                         "order"};
  return kNames[static_cast<std::size_t>(paired)];
}

std::uint32_t QpFlows::enter(const KeyedPacket& keyed) {
  const CapturedPacket& packet = keyed.packet;
  std::uint32_t index = find(keyed);
  if (index == QpFlow::kNone) return index;
  if (shows_restart(flows_[index], packet)) index = begin_next_connection(index);
  if (index == QpFlow::kNone) return index;
  QpFlow& flow = flows_[index];
  flow.encapsulation = keyed.encapsulation;
  if (packet.good_icrc && flow.good_icrcs > 0) [[likely]]
    ++flow.good_icrcs;
  else
    count_icrc(flow, keyed);
  if (is_damaged(flow, packet) || packet.info == nullptr) return index;
  learn(flow, packet);
  if (packet.is_request()) learn_request(index, packet);
  if (packet.is_response()) learn_response(index, packet);
  if (keyed.rare && keyed.rare->connection) learn_connection(keyed.key, *keyed.rare->connection);
  return index;
}

IcrcState QpFlows::Host::icrcs() const noexcept {
  constexpr std::uint64_t kEnough = 3;  // frames, so that it is no chance
  if (good_flows > 0 || bad < kEnough) return IcrcState::judged;
  if (2 * unwritten >= bad) return IcrcState::missing;
  // Who goes on has taken the answers; who asks again and again has not.
  if (answers > 0 || (heard > 0 && 2 * heard > unheard)) return IcrcState::missing;
  const bool unanswered = sent_again >= 2 && sent_again >= 2 * sent;
  const bool refused = unheard >= kEnough;
  if (mistaken > 0 || unanswered || refused) return IcrcState::wrong;
  return IcrcState::unknown;
}

/// Counts an ICRC. The first good one of a source shows that the frames before it were damaged:
/// what was learned from them is forgotten.
void QpFlows::count_icrc(QpFlow& flow, const KeyedPacket& keyed) noexcept {
  const CapturedPacket& packet = keyed.packet;
  Host& host = hosts_[flow.source];
  flow.bad_icrcs += packet.bad_icrc;
  host.bad += packet.bad_icrc;
  host.unwritten += packet.icrc_unwritten;
  if (keyed.rare && keyed.rare->bad_icrc) host.mistaken += keyed.rare->bad_icrc->concerns_all();
  in_doubt_ = in_doubt_ || (packet.bad_icrc && host.good_flows == 0);
  if (!packet.good_icrc) return;
  if (flow.good_icrcs++ > 0) return;
  ++host.good_flows;
  if (flow.bad_icrcs > 0 && is_free(flow)) {
    flow.requests = flow.responses = 0;
    flow.candidates.clear();
  }
}

/// Notes what a request shows: whether its sender has heard the answers before, and whether it got
/// any.
void QpFlows::note_hearing(const QpFlow& flow, const CapturedPacket& packet) noexcept {
  const bool again = flow.requests > 0 && distance(flow.highest_psn, packet.psn) <= 0;
  Host& own = hosts_[flow.source];
  ++(again ? own.sent_again : own.sent);
  if (flow.peer == QpFlow::kNone || flows_[flow.peer].responses == 0) return;
  Host& other = hosts_[flows_[flow.peer].source];
  if (!again)
    ++other.heard;
  else if (distance(packet.psn, flows_[flow.peer].response_psn) >= 0)
    ++other.unheard;
}

/// Index of what is known of a host at a point.
std::uint32_t QpFlows::host_of(const HostAddress& address, std::uint32_t point) {
  const QpFlowKey source{.source = address, .point = point};
  const auto [known, is_new] =
      sources_.try_emplace(source, static_cast<std::uint32_t>(hosts_.size()));
  if (is_new) hosts_.emplace_back();
  return known->second;
}

std::uint32_t QpFlows::current_of(const QpFlowKey& key, std::uint64_t hash) {
  std::uint32_t& recent = recent_[recent_place(hash)];
  if (recent != QpFlow::kNone && !flows_[recent].ended && flows_[recent].key == key) [[likely]]
    return recent;
  return look_up(key, recent);
}

/// The current flow of a key, which becomes the `recent` one; apart from current_of(), which each
/// packet calls.
[[gnu::noinline]] std::uint32_t QpFlows::look_up(const QpFlowKey& key,
                                                 std::uint32_t& recent) const {
  const auto known = current_.find(key);
  if (known == current_.end()) return QpFlow::kNone;
  recent = known->second;
  return recent;
}

bool QpFlows::begins_flow(const QpFlow& flow, const CapturedPacket& packet) const noexcept {
  if (packet.psn == flow.end_psn && packet.is_reliable()) return false;  // the next one, or an ACK
  if (!packet.is_request() || !packet.begins_message()) return false;
  const QpFlow* const peer = flow.peer == QpFlow::kNone ? nullptr : &flows_[flow.peer];
  return begins_unreliable_flow(flow, packet) || begins_unanswered_flow(flow, peer, packet);
}

std::uint32_t QpFlows::find(const KeyedPacket& keyed) {
  const std::uint32_t known = current_of(keyed.key, keyed.hash);
  if (known == QpFlow::kNone) return begin(keyed.key);
  if (is_damaged(flows_[known], keyed.packet) ||
      (continues(flows_[known], keyed.packet) && !begins_flow(flows_[known], keyed.packet)))
    return known;
  const std::uint32_t peer = flows_[known].peer;
  end(known);
  if (peer != QpFlow::kNone) end(peer);
  return begin(keyed.key);
}

/// Notes a request that may be the first of the QP's next connection: it does not continue the
/// others, and either all of these were answered, or nothing was sent for a time, or its sender
/// counts IP packets anew.
void QpFlows::note_restart(std::uint32_t index, const CapturedPacket& packet) {
  constexpr std::uint64_t kEnough = 16;  // to decide which responses answer them
  constexpr Duration kSilence = std::chrono::milliseconds{10};
  if (packet.psn == flows_[index].end_psn || !packet.is_reliable() || !packet.begins_message() ||
      flows_[index].requests == 0)
    return;
  const bool from_the_first = distance(flows_[index].first_psn, packet.psn) <= 0;
  if (from_the_first && flows_[index].peer == QpFlow::kNone && flows_[index].requests >= kEnough)
    decide_pairs(flows_[index].key, false);
  QpFlow& flow = flows_[index];
  const QpFlow* const peer = flow.peer == QpFlow::kNone ? nullptr : &flows_[flow.peer];
  if (peer == nullptr || peer->responses == 0) return;
  if (flow.restart && distance(flow.restart->psn, packet.psn) > 0) return;
  if (distance(flow.last_psn, peer->response_psn) >= 0 ||
      stamp_difference(packet.stamp, flow.last) >= kSilence || flow.ip_numbers.restarts(packet))
    flow.restart = QpFlow::Restart{packet.number, packet.psn, 0};
}

/// Whether a response counts messages anew: a responder's MSN only grows, also if requests are
/// repeated. (IBTA vol. 1, 9.7.7.1)
bool QpFlows::shows_restart(const QpFlow& responses, const CapturedPacket& packet) const noexcept {
  if (!packet.is_response() || packet.bad_icrc || !packet.has_aeth) return false;
  if (responses.peer == QpFlow::kNone || !flows_[responses.peer].restart) return false;
  const QpFlow::Restart& restart = *flows_[responses.peer].restart;
  return distance(responses.msn, packet.msn) < 0 && packet.msn <= restart.requests &&
         distance(restart.psn, packet.psn) >= 0;
}

/// Begins the flows of a QP pair's next connection, which the responses of `responses` show.
/// Returns the flow of the responses; kNone: there are too many flows.
std::uint32_t QpFlows::begin_next_connection(std::uint32_t responses) {
  const std::uint32_t requests = flows_[responses].peer;
  std::uint64_t frame = flows_[requests].restart->frame;
  if (flows_[responses].restart) frame = std::min(frame, flows_[responses].restart->frame);
  const std::uint32_t a = begin_next(requests), b = begin_next(responses);
  if (b == QpFlow::kNone) return b;
  pair(a, b, PairedBy::responses);
  moved_ = MovedPackets{.frame = frame, .from = {requests, responses}, .to = {a, b}};
  return b;
}

/// Begins a flow with the key of another, which ends, and with its packets since its restart.
std::uint32_t QpFlows::begin_next(std::uint32_t index) {
  end(index);
  const QpFlow before = flows_[index];
  const std::uint32_t next = begin(before.key);
  if (next == QpFlow::kNone) return next;
  QpFlow& flow = flows_[next];
  flow.transport = before.transport;
  flow.encapsulation = before.encapsulation;
  flow.source_port = before.source_port;
  flow.mtu = before.mtu;
  flow.good_icrcs = before.good_icrcs;
  if (!before.restart) return next;
  flow.requests = before.restart->requests;
  flow.first_psn = before.restart->psn;
  flow.last_psn = before.last_psn;
  flow.end_psn = (wire::Psn{before.last_psn} + 1).value();
  return next;
}

/// Begins a flow. Returns kNone if there are too many.
std::uint32_t QpFlows::begin(const QpFlowKey& key) {
  if (flows_.size() >= kMostFlows) return QpFlow::kNone;
  const auto index = static_cast<std::uint32_t>(flows_.size());
  flows_.push_back({.key = key,
                    .source = host_of(key.source, key.point),
                    .target = host_of(key.destination, key.point)});
  current_[key] = index;
  if (constexpr std::size_t kMost = 1U << 18;
      2 * flows_.size() > recent_.size() && recent_.size() < kMost)
    recent_.assign(8 * recent_.size(), QpFlow::kNone);
  recent_[recent_place(QpFlowKeyHash{}(key))] = index;
  if (key.source_qp > 1) {
    const auto other = current_.find(reversed(key));
    if (other != current_.end()) pair(index, other->second, PairedBy::queue_pairs);
  }
  return index;
}

/// Ends a flow: the next packet with its key begins a new one.
void QpFlows::end(std::uint32_t flow) {
  const auto known = current_.find(flows_[flow].key);
  if (known != current_.end() && known->second == flow) current_.erase(known);
  flows_[flow].ended = true;
  forget_asked(flows_[flow]);
}

/// Enters a flow with requests from `from_psn` to the PSN before `end_psn`. Of a long READ, it
/// enters only the first blocks: responses begin there, and memory stays bounded.
void QpFlows::enter_groups(std::uint32_t index, std::uint32_t from_psn, std::uint32_t end_psn) {
  constexpr std::int32_t kMostPsns = 64 * kBlock;
  constexpr std::size_t kMostGroups = 4 * kMostFlows;
  if (groups_.size() > kMostGroups) return;
  const QpFlow& flow = flows_[index];
  for (std::int32_t left = std::min(distance(from_psn, end_psn), kMostPsns); left > 0;) {
    groups_[group_key(flow.key, from_psn / kBlock, 0)].push_back(index);
    if (flow.source_port != 0)
      groups_[group_key(flow.key, from_psn / kBlock, flow.source_port)].push_back(index);
    left -= static_cast<std::int32_t>(kBlock - from_psn % kBlock);
    from_psn = next_block(from_psn);
  }
}

/// Adds the first open flows of a group for which fits(flow) holds, until there are
/// kMostCandidates.
template <class Fits>
void QpFlows::add_fitting(const QpFlowKey& key, std::vector<QpFlow::Candidate>& to, Fits fits) {
  constexpr std::size_t kManyGone = 64;
  const auto known = groups_.find(key);
  if (known == groups_.end()) return;
  Group& group = known->second;
  std::size_t gone = 0;
  for (const std::uint32_t other : group) {
    if (to.size() == kMostCandidates) break;
    const bool open = is_open(flows_[other]);
    gone += !open;
    if (open && fits(flows_[other]) &&
        std::ranges::find(to, other, &QpFlow::Candidate::flow) == to.end())
      to.push_back({other});
  }
  if (gone >= kManyGone)
    std::erase_if(group, [this](std::uint32_t index) { return !is_open(flows_[index]); });
}

/// Adds the open flows that a response of `flow` with this PSN may answer and for which fits(flow)
/// holds: first those with the same source port, which many NICs compute from both QPs.
template <class Fits>
void QpFlows::add_requests(const QpFlow& flow, std::uint32_t psn,
                           std::vector<QpFlow::Candidate>& to, Fits fits) {
  const QpFlowKey key = reversed(flow.key);
  if (flow.source_port != 0) add_fitting(group_key(key, psn / kBlock, flow.source_port), to, fits);
  add_fitting(group_key(key, psn / kBlock, 0), to, fits);
}

void QpFlows::pair(std::uint32_t a, std::uint32_t b, PairedBy by) {
  QpFlow &one = flows_[a], &other = flows_[b];
  if (one.session != QpFlow::kNone && other.session != QpFlow::kNone) return;
  part(a);
  part(b);
  one.peer = b;
  other.peer = a;
  one.paired_by = other.paired_by = by;
  for (QpFlow* const flow : {&one, &other}) {
    flow->candidates.clear();
    forget_asked(*flow);
  }
}

/// Pairs two flows until other responses contest it.
void QpFlows::pair_for_now(std::uint32_t a, std::uint32_t b, PairedBy by) {
  QpFlow &one = flows_[a], &other = flows_[b];
  one.peer = b;
  other.peer = a;
  one.provisional = other.provisional = true;
  one.paired_by = other.paired_by = by;
}

/// Takes a provisional pair back.
void QpFlows::part(std::uint32_t index) noexcept {
  if (!flows_[index].provisional) return;
  for (QpFlow* const flow : {&flows_[flows_[index].peer], &flows_[index]}) {
    flow->peer = QpFlow::kNone;
    flow->paired_by = PairedBy::none;
    flow->provisional = flow->contested = false;
  }
}

void QpFlows::forget_asked(QpFlow& flow) noexcept {
  asking_ -= flow.asked != nullptr;
  flow.asked.reset();
}

void QpFlows::learn(QpFlow& flow, const CapturedPacket& packet) {
  flow.transport =
      packet.info->transport == wire::Transport::cnp ? flow.transport : packet.info->transport;
  if (packet.trimmed) [[unlikely]]
    return note_trimmed(flow, packet);
  if (!packet.complete) return;
  if (packet.wire_length > flow.largest_frame) note_whole(flow, packet);
  flow.mtu.add(packet);
}

void QpFlows::note_trimmed(const QpFlow& flow, const CapturedPacket& packet) {
  Trimmed& trimmed = trimmed_[flow.key.point];
  if (trimmed.length != 0 && trimmed.length != packet.wire_length) trimmed.one_length = false;
  trimmed.length = packet.wire_length;
}

/// Notes the size of a whole packet that is larger than the flow's others.
void QpFlows::note_whole(QpFlow& flow, const CapturedPacket& packet) {
  if (flow.largest_frame == 0) flow.dscp = packet.dscp;
  flow.largest_frame = packet.wire_length;
  Trimmed& trimmed = trimmed_[flow.key.point];
  trimmed.longest_whole = std::max(trimmed.longest_whole, packet.wire_length);
}

CutBy QpFlows::cut_by(const CapturedPacket& packet) const noexcept {
  const QpFlow& flow = flows_[packet.flow];
  const bool remarked = flow.largest_frame > 0 && packet.dscp != flow.dscp;
  const auto at = trimmed_.find(flow.key.point);
  if (remarked || at == trimmed_.end() || at->second.longest_whole > packet.wire_length)
    return CutBy::network;
  return at->second.one_length ? CutBy::mirror : CutBy::unknown;
}

void QpFlows::learn_request(std::uint32_t index, const CapturedPacket& packet) {
  if (open_naks_ > 0 && is_free(flows_[index]) && sent_exactly(flows_[index], packet.psn))
    pair_by_nak(index, packet.psn);
  note_restart(index, packet);
  QpFlow& flow = flows_[index];
  if (in_doubt_ && packet.is_reliable()) note_hearing(flow, packet);
  if (flow.restart) ++flow.restart->requests;
  if (flow.recovery && flow.recovery->is_open())
    change_votes(flow, [&](RecoveryVotes& votes) {
      votes.add(packet.psn, flow.last_psn, flow.highest_psn + 1, packet.stamp, is_fetch(packet),
                hosts_[flow.source].round_trip.value_or(Duration{}) / 2);
    });
  if (flow.read) {
    flow.mtu.add_distance(flow.read->length, distance(flow.read->psn, packet.psn));
    flow.read.reset();
  }
  const bool reads = packet.info->operation == wire::Operation::read_request && packet.has_reth;
  if (reads) flow.read = QpFlow::PendingRead{packet.psn, packet.dma_length};
  const std::uint32_t span =
      reads ? read_span(packet.dma_length, mtu_of(index).value_or(kMtus[0])) : 1;
  const wire::Psn end = wire::Psn{packet.psn} + span;
  const bool begins = flow.requests++ == 0;
  const bool is_new = begins || distance(flow.highest_psn, packet.psn) > 0;
  probe(flow, packet, is_new);
  if (is_new && is_open(flow) && packet.is_reliable()) note_asked(flow, packet);
  if (begins) {
    flow.first_psn = flow.end_psn = flow.highest_psn = packet.psn;
    flow.source_port = packet.source_port;
  }
  if (distance(flow.end_psn, packet.psn) > 0) flow.gap_end = packet.psn;
  if (flow.repeated.is_open() || (!begins && distance(flow.highest_psn, packet.psn) <= 0))
    flow.repeated.add(packet.psn, end.value(), flow.highest_psn);
  const std::uint32_t old_first = flow.first_psn, old_end = flow.end_psn;
  if (distance(flow.end_psn, end.value()) > 0) flow.end_psn = end.value();
  if (distance(packet.psn, flow.first_psn) > 0) flow.first_psn = packet.psn;
  if (distance(flow.highest_psn, packet.psn) > 0) flow.highest_psn = packet.psn;
  flow.last_psn = packet.psn;
  flow.last = packet.stamp;
  flow.ip_numbers.add(packet);
  if (!is_open(flow) || flow.key.source_qp != 0) return;
  if (flow.transport == wire::Transport::uc) {
    if (begins) groups_[group_key(flow.key, kUcBlock, 0)].push_back(index);
    return;
  }
  if (begins) return enter_groups(index, flow.first_psn, flow.end_psn);
  enter_groups(index, flow.first_psn, old_first & ~(kBlock - 1));
  enter_groups(index, next_block((old_end - 1) & wire::Psn::kMask), flow.end_psn);
}

/// Notes a new request of an open flow: its answer tells which flow its peer is.
void QpFlows::note_asked(QpFlow& flow, const CapturedPacket& packet) {
  constexpr std::uint32_t kMostAsking = 4096;  // 1 KiB each
  if (!flow.asked) {
    if (asking_ == kMostAsking) return;
    ++asking_;
    flow.asked = std::make_shared<AskedRequests>();
  }
  flow.asked->add(packet, is_fetch(packet));
}

/// Calls `change` with the votes of a flow, and counts for its source what they show.
template <class Change>
void QpFlows::change_votes(QpFlow& flow, Change change) {
  if (!flow.recovery) flow.recovery = std::make_shared<RecoveryVotes>();
  RecoveryVotes& votes = *flow.recovery;
  Host& host = hosts_[flow.source];
  const std::uint32_t reactions = votes.quick_reactions().count;
  change(votes);
  const RecoveryScheme before = std::exchange(flow.scheme, votes.scheme(host.round_trip));
  host.going_back -= before == RecoveryScheme::go_back_n;
  host.selective -= before == RecoveryScheme::selective;
  host.going_back += flow.scheme == RecoveryScheme::go_back_n;
  host.selective += flow.scheme == RecoveryScheme::selective;
  const QuickReactions now = votes.quick_reactions();
  host.reactions.count += now.count - reactions;
  if (now.least)
    host.reactions.least = std::min(host.reactions.least.value_or(*now.least), *now.least);
}

/// Measures a round trip from one request at a time. One that comes again has two answers.
void QpFlows::probe(QpFlow& flow, const CapturedPacket& packet, bool is_new) noexcept {
  if (flow.probe && distance(packet.psn, flow.probe->psn) >= 0) flow.probe.reset();
  if (!flow.probe && is_new && packet.is_reliable() && (packet.ack_req || is_fetch(packet)))
    flow.probe = QpFlow::Probe{packet.psn, packet.stamp};
}

void QpFlows::take_probe(const QpFlow& responses, const CapturedPacket& packet) noexcept {
  if (responses.peer == QpFlow::kNone) return;
  std::optional<QpFlow::Probe>& probe = flows_[responses.peer].probe;
  if (!probe || distance(probe->psn, packet.psn) < 0) return;
  auto& round_trip = hosts_[responses.source].round_trip;
  const Duration after = stamp_difference(packet.stamp, probe->stamp);
  if (packet.psn == probe->psn && after > Duration{})
    round_trip = std::min(round_trip.value_or(after), after);
  probe.reset();
}

void QpFlows::learn_response(std::uint32_t index, const CapturedPacket& packet) {
  QpFlow& flow = flows_[index];
  if (flow.requests == 0) flow.source_port = packet.source_port;
  if (flow.responses++ == 0) ++hosts_[flow.target].answers;
  if (flow.responses == 1) flow.first_response_psn = packet.psn;
  flow.response_psn = packet.psn;
  if (packet.has_aeth) flow.msn = packet.msn;
  if (packet.has_aeth && flow.peer != QpFlow::kNone) flows_[flow.peer].restart.reset();
  take_probe(flow, packet);
  if (is_sequence_nak(packet) && flow.peer != QpFlow::kNone)
    change_votes(flows_[flow.peer], [&](RecoveryVotes& votes) {
      const QpFlow& requests = flows_[flow.peer];
      votes.add_nak(packet.psn, packet.stamp, requests.highest_psn + 1,
                    requests.gap_end == (wire::Psn{packet.psn} + 1).value());
    });
  else if (flow.peer != QpFlow::kNone && answers(packet))
    learn_ack(flows_[flow.peer], packet.psn);
  if (is_open(flow)) match(index, packet);
  if (is_sequence_nak(packet) && is_free(flow) && flow.candidates.size() > 1 && !flow.naked) {
    flow.naked = packet.psn;
    ++open_naks_;
  }
}

/// All requests of a flow up to `psn` are acknowledged.
void QpFlows::learn_ack(QpFlow& requests, std::uint32_t psn) {
  if (requests.recovery && requests.recovery->is_open())
    change_votes(requests, [&](RecoveryVotes& votes) { votes.add_ack(psn); });
}

/// A request of a free flow with a PSN that it has sent. If one undecided flow of responses has
/// asked for this PSN, this is its answer: both are a pair.
void QpFlows::pair_by_nak(std::uint32_t requests, std::uint32_t psn) {
  std::uint32_t asking = QpFlow::kNone;
  const QpFlowKey& key = flows_[requests].key;
  for (const std::uint32_t index : undecided_) {
    const QpFlow& flow = flows_[index];
    if (!is_free(flow) || flow.naked != psn || flow.key.source != key.destination ||
        flow.key.destination != key.source || flow.key.point != key.point)
      continue;
    if (asking != QpFlow::kNone) return;  // two ask for it
    asking = index;
  }
  if (asking == QpFlow::kNone) return;
  --open_naks_;
  pair(requests, asking, PairedBy::nak);
}

/// Keeps the candidates with requests that the responses may answer. Pairs the flow, for now, if
/// one is left.
void QpFlows::match(std::uint32_t index, const CapturedPacket& packet) {
  QpFlow& flow = flows_[index];
  std::vector<QpFlow::Candidate>& candidates = flow.candidates;
  if (candidates.empty()) return find_candidates(index, packet);
  std::erase_if(candidates, [&](QpFlow::Candidate& candidate) {
    weigh(candidate, packet);
    const QpFlow& other = flows_[candidate.flow];
    if (candidate.flow == flow.peer) return false;
    if (is_open(other)) return !may_answer(other, packet) && !sent_about(other, packet.psn);
    flow.guessed = flow.guessed || other.paired_by == PairedBy::order;
    return true;
  });
  if (is_alone(flow)) return judge_provisional(index, packet);
  if (std::has_single_bit(flow.responses)) add_candidates(index, packet);
  if (!flow.provisional && candidates.size() == 1 && is_free(flows_[candidates.front().flow]))
    pair_for_now(index, candidates.front().flow,
                 flow.guessed ? PairedBy::order : PairedBy::responses);
}

/// Adds what a response shows about a candidate.
void QpFlows::weigh(QpFlow::Candidate& candidate, const CapturedPacket& packet) {
  const QpFlow& other = flows_[candidate.flow];
  const bool before = other.requests > 0 && distance(other.first_psn, packet.psn) < 0;
  if (!may_answer(other, packet))
    before ? candidate.evidence.add_before() : candidate.evidence.add_early();
  else if (other.asked)
    candidate.evidence.add(packet, *other.asked);
}

/// Finds the flows that the first response of a flow fits: the free ones that have sent its PSN,
/// or, if there are none, all that may have.
void QpFlows::find_candidates(std::uint32_t index, const CapturedPacket& packet) {
  QpFlow& flow = flows_[index];
  if (flow.provisional)
    flow.candidates.push_back({flow.peer});
  else
    add_requests(flow, packet.psn, flow.candidates,
                 [&](const QpFlow& other) { return is_free(other) && may_answer(other, packet); });
  for (QpFlow::Candidate& candidate : flow.candidates) {
    note_listed(candidate.flow);
    weigh(candidate, packet);
  }
  if (flow.candidates.empty()) add_candidates(index, packet);
  if (flow.candidates.empty()) return;
  note_undecided(index);
  if (flow.provisional) return judge_provisional(index, packet);
  const std::uint32_t first = flow.candidates.front().flow;
  if (flow.candidates.size() == 1 && is_free(flows_[first]) && may_answer(flows_[first], packet))
    pair_for_now(index, first, PairedBy::responses);
}

/// Adds flows that have sent about the PSN of a response, whether they have a provisional peer or
/// not. The flow's responses before did not fit them.
void QpFlows::add_candidates(std::uint32_t index, const CapturedPacket& packet) {
  QpFlow& flow = flows_[index];
  std::vector<QpFlow::Candidate>& candidates = flow.candidates;
  const std::size_t known = candidates.size();
  add_requests(flow, packet.psn, candidates, [&](const QpFlow& other) {
    return may_answer(other, packet) || sent_about(other, packet.psn);
  });
  const auto before =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(flow.responses - 1, PairEvidence::kMost));
  for (QpFlow::Candidate& candidate : std::span(candidates).subspan(known)) {
    if (distance(flow.first_response_psn, flows_[candidate.flow].first_psn) > 0)
      candidate.evidence.add_before();
    else
      candidate.evidence.add_early(before);
    note_listed(candidate.flow);
    weigh(candidate, packet);
    contest(candidate.flow);
  }
}

/// Other responses fit the requests of a flow: its provisional pair is decided again.
void QpFlows::contest(std::uint32_t index) noexcept {
  if (flows_[index].provisional)
    flows_[index].contested = flows_[flows_[index].peer].contested = true;
}

/// Makes a provisional pair final after enough responses, or has it decided again, if some do not
/// fit and others may be meant.
void QpFlows::judge_provisional(std::uint32_t index, const CapturedPacket& packet) {
  constexpr std::uint32_t kTooMany = 2;
  QpFlow& flow = flows_[index];
  const auto own = std::ranges::find(flow.candidates, flow.peer, &QpFlow::Candidate::flow);
  if (own == flow.candidates.end()) return;
  const PairEvidence& evidence = own->evidence;
  if (evidence.contradictions() >= kTooMany) {
    add_candidates(index, packet);
    if (flow.candidates.size() > 1) contest(index);
  }
  if (is_alone(flow) && own->evidence.answers() >= kConfirming)
    pair(index, flow.peer, flow.paired_by);
}

void QpFlows::learn_connection(const QpFlowKey& key, const roce::CmSighting& heard) {
  const auto connection = learners_[key.point].hear(heard);
  if (!connection) return;
  // A REP comes from the replier.
  QpFlowKey to_requester = key;
  to_requester.qp = connection->to_requester.dest_qp & wire::Psn::kMask;
  to_requester.source_qp = 0;
  QpFlowKey to_replier = reversed(to_requester);
  to_replier.qp = connection->to_replier.dest_qp & wire::Psn::kMask;
  to_replier.source_qp = 0;
  for (const QpFlowKey& end_key : {to_requester, to_replier}) {
    const auto old = current_.find(end_key);
    if (old != current_.end()) end(old->second);
  }
  const std::uint32_t a = begin(to_replier), b = begin(to_requester);
  if (b != QpFlow::kNone) pair(a, b, PairedBy::connection_manager);
}

/// The free flows that the responses of `flow` may answer; UC: all that may be the other direction.
std::vector<QpFlow::Candidate> QpFlows::possible_peers(const QpFlow& flow) {
  std::vector<QpFlow::Candidate> known = flow.candidates;
  std::erase_if(known, [this](const auto& one) { return !is_free(flows_[one.flow]); });
  if (!known.empty()) return known;
  if (flow.transport == wire::Transport::uc)
    add_fitting(group_key(reversed(flow.key), kUcBlock, 0), known,
                [](const auto&) { return true; });
  else if (flow.responses > 0)  // all candidates have a peer now
    add_requests(flow, flow.response_psn, known, [&](const QpFlow& other) {
      return is_free(other) && sent_exactly(other, flow.response_psn);
    });
  return known;
}

void QpFlows::decide_peer(std::uint32_t index) {
  const QpFlowKey key = flows_[index].key;
  const QpFlow& flow = flows_[index];
  if (!is_open(flow) || key.source_qp != 0) return;
  if (!is_alone(flow)) decide_pairs(key, true);
  if (flow.provisional) return pair(index, flow.peer, flow.paired_by);
  if (!is_free(flow)) return;
  const std::vector<QpFlow::Candidate> possible = possible_peers(flow);
  if (possible.empty()) return;
  const auto has_port = [&](const auto& one) {
    return flows_[one.flow].source_port == flow.source_port;
  };
  const auto with_port = std::ranges::find_if(possible, has_port);
  if (!flow.guessed && std::ranges::count_if(possible, has_port) == 1)
    return pair(index, with_port->flow, PairedBy::source_port);
  if (flow.transport == wire::Transport::uc && possible.size() > 1) return;  // nothing shows which
  pair(index, possible.front().flow, PairedBy::order);
}

/// Whether responses of a flow, between the same hosts as `key` in either direction, may answer
/// several others.
bool QpFlows::is_undecided_between(const QpFlow& flow, const QpFlowKey& key) const noexcept {
  const auto has_ends = [&](const auto& source, const auto& destination) {
    return flow.key.source == source && flow.key.destination == destination;
  };
  return is_open(flow) && !is_alone(flow) && flow.key.point == key.point &&
         flow.key.source_qp == 0 &&
         (has_ends(key.source, key.destination) || has_ends(key.destination, key.source));
}

/// Pairs the undecided flows between two hosts, for good or until more is known.
void QpFlows::decide_pairs(const QpFlowKey& key, bool for_good) {
  constexpr std::size_t kMost = 64;  // the time rises with its cube
  PairChoice choice(flows_);
  for (const std::uint32_t index : undecided_) {
    if (choice.size() == kMost || !is_undecided_between(flows_[index], key)) continue;
    for (const QpFlow::Candidate& candidate : flows_[index].candidates)
      if (is_open(flows_[candidate.flow])) choice.add(index, candidate);
  }
  const std::vector<PairChoice::Pair> pairs = choice.decide();
  if (!for_good) {
    for (const auto& [a, b, by] : pairs) {
      part(a);
      part(b);
      pair_for_now(a, b, by);
      contest(a);
    }
    return;
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> parted;
  for (const std::uint32_t flow : choice.flows()) {
    if (flows_[flow].provisional) parted.emplace_back(flow, flows_[flow].peer);
    part(flow);
  }
  for (const auto& [a, b, by] : pairs) pair(a, b, by);
  for (const auto& [a, b] : parted)
    if (is_free(flows_[a]) && is_free(flows_[b])) pair(a, b, PairedBy::order);
}

void QpFlows::note_undecided(std::uint32_t responses) {
  constexpr std::size_t kMost = 1024;  // each use of undecided_ looks at all
  const auto is_decided = [this](std::uint32_t index) {
    const QpFlow& flow = flows_[index];
    return !is_open(flow) || is_alone(flow);
  };
  if (undecided_.size() == kMost) std::erase_if(undecided_, is_decided);
  if (undecided_.size() < kMost) undecided_.push_back(responses);
}

std::optional<std::uint32_t> QpFlows::mtu_of(std::uint32_t index) const noexcept {
  const QpFlow& flow = flows_[index];
  const QpFlow* peer = flow.peer == QpFlow::kNone ? nullptr : &flows_[flow.peer];
  return flow.mtu.mtu(peer != nullptr ? &peer->mtu : nullptr);
}

}  // namespace lw::analysis
