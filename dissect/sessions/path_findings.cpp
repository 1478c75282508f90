// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/sessions/path_findings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "wire/psn.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;
using analysis::AnomalyKind;
using analysis::Cause;
using analysis::Certainty;
using analysis::Hypothesis;

wire::Role role_of(const CaptureRecord& record) noexcept {
  const wire::OpcodeInfo* info = wire::find_opcode(record.opcode);
  return info == nullptr ? wire::Role::request : info->role;
}

/// A session and the direction of its requests that a flow belongs to.
struct Place {
  std::uint32_t session = 0;
  std::uint8_t direction = 0;  // of the flow
};

/// The sessions of the path's flows.
class FlowSessions {
 public:
  FlowSessions(const analysis::Analyst& analyst, const PathPoints& path) {
    std::map<roce::FlowKey, std::uint32_t> numbers;
    for (std::uint32_t flow = 0; flow < path.flows.size(); ++flow)
      numbers.emplace(plain(path.flows[flow]), flow);
    places_.resize(path.flows.size());
    for (const analysis::Session& session : analyst.sessions())
      for (const std::uint8_t direction : {std::uint8_t{0}, std::uint8_t{1}}) {
        const std::uint32_t flow = session.directions[direction].flow;
        if (flow == analysis::QpFlow::kNone) continue;
        const analysis::QpFlowKey& key = analyst.flows()[flow].key;
        if (key.point != path.numbers.front()) continue;
        const auto known = numbers.find(roce::FlowKey{
            .source = key.source, .destination = key.destination, .dest_qp = key.qp, .role = {}});
        if (known == numbers.end()) continue;
        places_[known->second].push_back({session.number, direction, session.first});
        flows_[{session.number, direction}] = known->second;
      }
  }
  /// The session of a flow at a time; session 0: none.
  [[nodiscard]] Place place_of(std::uint32_t flow, Instant stamp) const {
    Place place;
    for (const Known& one : places_[flow])
      if (place.session == 0 || one.first <= stamp) place = {one.session, one.direction};
    return place;
  }
  /// The flow of one direction of a session; nothing: it is not on the path.
  [[nodiscard]] std::optional<std::uint32_t> flow_of(std::uint32_t session,
                                                     std::uint8_t direction) const {
    const auto known = flows_.find({session, direction});
    if (known == flows_.end()) return std::nullopt;
    return known->second;
  }

 private:
  struct Known {
    std::uint32_t session;
    std::uint8_t direction;
    Instant first;
  };
  static roce::FlowKey plain(roce::FlowKey key) {
    key.role = {};
    return key;
  }
  std::vector<std::vector<Known>> places_;  // by flow
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> flows_;
};

/// The packets of each flow, role and PSN, in the order of their times.
class PacketsByPsn {
 public:
  explicit PacketsByPsn(const PathPackets& packets) : packets_(packets) {
    entries_.reserve(packets.size());
    for (std::uint32_t packet = 0; packet < packets.size(); ++packet) {
      const CaptureRecord record = packets.analysed(packet);
      entries_.push_back({key_of(record.flow, role_of(record), record.psn), packet});
    }
    std::ranges::sort(entries_, {}, [&](const Entry& entry) {
      return std::tuple(entry.key, packets.time_ns(entry.packet));
    });
  }
  struct Entry {
    std::uint64_t key;
    std::uint32_t packet;
  };
  [[nodiscard]] std::span<const Entry> with(std::uint32_t flow, wire::Role role,
                                            std::uint32_t psn) const {
    const auto [begin, end] =
        std::ranges::equal_range(entries_, key_of(flow, role, psn), {}, &Entry::key);
    return {begin, end};
  }

 private:
  static std::uint64_t key_of(std::uint32_t flow, wire::Role role, std::uint32_t psn) noexcept {
    return std::uint64_t{flow} << 32 | std::uint64_t{role == wire::Role::response} << 24 | psn;
  }
  const PathPackets& packets_;
  std::vector<Entry> entries_;
};

class PathAnomalies {
 public:
  PathAnomalies(const std::vector<Anomaly>& analysed, const analysis::Analyst& analyst,
                const PathPackets& packets)
      : analysed_(analysed),
        packets_(packets),
        path_(packets.path()),
        sessions_(analyst, path_),
        by_psn_(packets) {
    for (const Anomaly& anomaly : analysed)
      if (anomaly.kind == AnomalyKind::unanswered)
        unanswered_[{anomaly.session, anomaly.direction}] = anomaly.psn;
    for (std::uint32_t packet = 0; packet < packets.size(); ++packet) note_answer(packet);
  }

  std::vector<Anomaly> all() {
    for (const PacketEvent& event : packets_.events()) add_event(event);
    merge_runs();
    for (const Anomaly& anomaly : analysed_) add_analysed(anomaly);
    std::ranges::stable_sort(found_, {},
                             [](const Anomaly& a) { return std::pair(a.stamp, a.frame); });
    return std::move(found_);
  }

 private:
  // Between the points.

  /// Keeps the last answer of each flow, by time, and the request with the highest PSN.
  void note_answer(std::uint32_t packet) {
    const CaptureRecord record = packets_.analysed(packet);
    if (role_of(record) != wire::Role::response) {
      const auto [newest, is_first] = last_new_.try_emplace(record.flow, packet);
      const wire::Psn known{packets_.analysed(newest->second).psn};
      if (!is_first && wire::Psn::distance(known, wire::Psn{record.psn}) > 0)
        newest->second = packet;
      return;
    }
    const auto [last, is_new] = last_answers_.try_emplace(record.flow, packet);
    if (packets_.time_ns(packet) > packets_.time_ns(last->second)) last->second = packet;
  }

  [[nodiscard]] std::size_t sender_side(const PacketEvent& event) const {
    return packets_.goes_far(event.packet) ? event.segment : event.segment + 1U;
  }
  [[nodiscard]] std::size_t receiver_side(const PacketEvent& event) const {
    return packets_.goes_far(event.packet) ? event.segment + 1U : event.segment;
  }

  void add_event(const PacketEvent& event) {
    const bool seen_where_it_went = event.what != HopEvent::lost;
    std::size_t point = seen_where_it_went ? receiver_side(event) : sender_side(event);
    if (packets_.at(event.packet, point) == PathPackets::kUnseen)
      point = packets_.analysed_at(event.packet);
    const CaptureRecord record = packets_.record(event.packet, point);
    const Instant stamp = instant_from_ns(packets_.time_ns(event.packet));
    const Place place = sessions_.place_of(record.flow, stamp);
    const wire::Role role = role_of(record);
    Anomaly found{.role = role,
                  .session = place.session,
                  .direction = static_cast<std::uint8_t>(
                      role == wire::Role::response ? 1 - place.direction : place.direction),
                  .frame = record.number,
                  .last_frame = record.number,
                  .stamp = stamp,
                  .psn = record.psn,
                  .where = path_.segment_name(event.segment, packets_.goes_far(event.packet))};
    switch (event.what) {
      case HopEvent::lost:
        found.kind = AnomalyKind::lost_after_capture;
        found.cause = Cause::lost_between;
        if (has_arrived(event.packet, record, place)) {
          found.kind = AnomalyKind::psn_gap;
          found.cause = Cause::missing_in_capture;
          found.where = path_.names[receiver_side(event)];
        }
        break;
      case HopEvent::late:
        found.kind = AnomalyKind::out_of_order;
        found.related_frame = packets_.record(event.behind, point).number;
        break;
      case HopEvent::copied:
        found.kind = AnomalyKind::duplicate;
        found.cause = Cause::path_copy;
        break;
      case HopEvent::damaged:
        found.kind = AnomalyKind::bad_icrc;
        break;
      case HopEvent::missed:
        found.kind = AnomalyKind::psn_gap;
        found.cause = Cause::missing_in_capture;
        found.where = path_.names[sender_side(event)];
        break;
    }
    found_.push_back(std::move(found));
  }

  /// Whether a packet that the next point does not have arrived all the same: its connection
  /// repeats what is lost, was answered to its end, and did not repeat it.
  [[nodiscard]] bool has_arrived(std::uint32_t packet, const CaptureRecord& record,
                                 const Place& place) const {
    const wire::OpcodeInfo* info = wire::find_opcode(record.opcode);
    if (place.session == 0 || info == nullptr || info->transport != wire::Transport::rc)
      return false;
    const wire::Role role = info->role;
    if (role == wire::Role::response && info->payload == wire::PayloadRule::none) return false;
    const auto same = by_psn_.with(record.flow, role, record.psn);
    if (same.empty() || same.back().packet != packet || has_passed_before(same)) return false;
    const std::uint8_t direction = role == wire::Role::response
                                       ? static_cast<std::uint8_t>(1 - place.direction)
                                       : place.direction;
    const auto open = unanswered_.find({place.session, direction});
    if (open != unanswered_.end() &&
        wire::Psn::distance(wire::Psn{record.psn}, wire::Psn{open->second}) <= 0)
      return false;
    return role == wire::Role::response ? is_gone_beyond(packet, place)
                                        : is_answered(packet, record, place);
  }

  /// Whether an earlier one of these packets, of one PSN, passed the path.
  [[nodiscard]] bool has_passed_before(std::span<const PacketsByPsn::Entry> same) const {
    return std::ranges::any_of(same.first(same.size() - 1), [&](const auto& entry) {
      return !packets_.has(entry.packet, HopEvent::lost);
    });
  }

  /// Whether an answer that comes after a request covers its PSN.
  [[nodiscard]] bool is_answered(std::uint32_t packet, const CaptureRecord& record,
                                 const Place& place) const {
    const auto back =
        sessions_.flow_of(place.session, static_cast<std::uint8_t>(1 - place.direction));
    if (!back) return false;
    const auto last = last_answers_.find(*back);
    return last != last_answers_.end() &&
           packets_.time_ns(last->second) > packets_.time_ns(packet) &&
           wire::Psn::distance(wire::Psn{record.psn},
                               wire::Psn{packets_.analysed(last->second).psn}) >= 0;
  }

  /// Whether the requester sent new requests long after a response: it misses none.
  [[nodiscard]] bool is_gone_beyond(std::uint32_t packet, const Place& place) const {
    constexpr std::int64_t kLong = 10'000'000;  // ns
    const auto requests =
        sessions_.flow_of(place.session, static_cast<std::uint8_t>(1 - place.direction));
    if (!requests) return false;
    const auto last = last_new_.find(*requests);
    return last != last_new_.end() &&
           packets_.time_ns(last->second) > packets_.time_ns(packet) + kLong;
  }

  /// Makes one row of packets in a row with the same event.
  void merge_runs() {
    std::vector<Anomaly> merged;
    std::map<std::tuple<std::uint32_t, std::uint8_t, wire::Role, AnomalyKind, std::string>,
             std::size_t>
        last;
    std::ranges::stable_sort(found_, {}, &Anomaly::stamp);
    for (Anomaly& one : found_) {
      const auto key = std::tuple(one.session, one.direction, one.role, one.kind, one.where);
      const auto known = last.find(key);
      if (known != last.end() && one.kind != AnomalyKind::out_of_order &&
          one.kind != AnomalyKind::duplicate && one.kind != AnomalyKind::bad_icrc) {
        Anomaly& run = merged[known->second];
        if (one.session != 0 && run.cause == one.cause &&
            ((run.psn + run.packets) & wire::Psn::kMask) == one.psn) {
          ++run.packets;
          run.last_frame = one.frame;
          continue;
        }
      }
      last[key] = merged.size();
      merged.push_back(std::move(one));
    }
    found_ = std::move(merged);
  }

  // Before the first point of the way, and behind the last one.

  /// The flow of an anomaly's packets; nothing: it is not on the path.
  [[nodiscard]] std::optional<std::uint32_t> flow_of(const Anomaly& anomaly) const {
    if (anomaly.session == 0) return std::nullopt;
    const bool answers = anomaly.role == wire::Role::response;
    return sessions_.flow_of(
        anomaly.session,
        static_cast<std::uint8_t>(answers ? 1 - anomaly.direction : anomaly.direction));
  }

  [[nodiscard]] std::optional<bool> goes_far(std::uint32_t flow, wire::Role role,
                                             const Anomaly& anomaly) const {
    if (const auto packet = packets_.find(anomaly.frame)) {
      const CaptureRecord record = packets_.analysed(*packet);
      const bool same = record.flow == flow;
      return same ? packets_.goes_far(*packet) : !packets_.goes_far(*packet);
    }
    const auto known = by_psn_.with(flow, role, anomaly.psn);
    if (known.empty()) return std::nullopt;
    return packets_.goes_far(known.front().packet);
  }

  /// The name of the first or the last point that records a flow.
  [[nodiscard]] const std::string& end_of(std::uint32_t flow, bool last) const {
    const auto lacks = [&](std::size_t point) {
      return std::ranges::any_of(packets_.unrecorded(), [&](const UnrecordedFlow& one) {
        return one.flow == flow && one.point == point;
      });
    };
    std::size_t point = last ? path_.size() - 1 : 0;
    while (lacks(point) && (last ? point > 0 : point + 1 < path_.size()))
      point = last ? point - 1 : point + 1;
    return path_.names[point];
  }
  [[nodiscard]] std::string before_first(std::uint32_t flow, bool goes_far) const {
    return fmt::format("before {}", end_of(flow, !goes_far));
  }
  [[nodiscard]] std::string behind_last(std::uint32_t flow, bool goes_far) const {
    return fmt::format("behind {}", end_of(flow, goes_far));
  }

  /// Whether a packet with this PSN, not sent after the anomaly, has a event between the points
  /// that explains that its receiver misses it, or got it late.
  [[nodiscard]] const PacketEvent* event_between(std::uint32_t flow, wire::Role role,
                                                 std::uint32_t psn, Instant until) const {
    const PacketEvent* last = nullptr;
    for (const auto& entry : by_psn_.with(flow, role, psn)) {
      if (instant_from_ns(packets_.time_ns(entry.packet)) > until) break;
      const PacketEvent* event = packets_.event_of(entry.packet);
      if (event && event->what != HopEvent::copied && event->what != HopEvent::missed) last = event;
    }
    return last;
  }

  /// Whether a request that arrived at the last point came there before one that was sent before
  /// it, or behind the place of one that did not come: its receiver discards it, so nothing was
  /// lost.
  [[nodiscard]] bool is_discarded(std::uint32_t flow, std::uint32_t psn, Instant until) const {
    constexpr std::uint32_t kMostBefore = 64;  // PSNs
    const auto sent = by_psn_.with(flow, wire::Role::request, psn);
    if (sent.empty()) return false;
    const std::uint32_t packet = sent.front().packet;
    const std::size_t last = packets_.last_point(packet);
    if (packets_.at(packet, last) == PathPackets::kUnseen) return false;
    for (std::uint32_t before = 1; before <= kMostBefore; ++before)
      for (const auto& entry : by_psn_.with(flow, wire::Role::request, (psn - before) & 0xffffff)) {
        if (packets_.time_ns(entry.packet) > packets_.time_ns(packet) ||
            instant_from_ns(packets_.time_ns(entry.packet)) > until)
          break;
        const std::uint32_t arrived = packets_.at(entry.packet, last);
        if (arrived == PathPackets::kUnseen || arrived > packets_.at(packet, last) ||
            packets_.has(entry.packet, HopEvent::damaged))
          return true;
      }
    return false;
  }

  /// Whether a response passed all points before: its requester has it, so a gap in responses that
  /// are sent again says nothing of a loss, as the responder may have left it out.
  [[nodiscard]] bool is_known(std::uint32_t flow, std::uint32_t psn, Instant until) const {
    const auto same = by_psn_.with(flow, wire::Role::response, psn);
    return std::ranges::any_of(same, [&](const auto& entry) {
      return instant_from_ns(packets_.time_ns(entry.packet)) < until &&
             packets_.at(entry.packet, packets_.last_point(entry.packet)) != PathPackets::kUnseen &&
             !packets_.has(entry.packet, HopEvent::damaged);
    });
  }

  /// A row for the packets of `anomaly` that no event between the points explains.
  void add_unexplained(Anomaly anomaly, std::uint32_t flow) {
    const std::uint64_t count = std::min<std::uint64_t>(anomaly.packets, 1U << 23);
    std::uint64_t left = 0;
    std::uint32_t first = anomaly.psn;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto psn = static_cast<std::uint32_t>((anomaly.psn + i) & 0xffffff);
      if (event_between(flow, anomaly.role, psn, anomaly.stamp)) continue;
      if (anomaly.kind == AnomalyKind::lost_after_capture && is_discarded(flow, psn, anomaly.stamp))
        continue;
      if (anomaly.kind == AnomalyKind::psn_gap && anomaly.role == wire::Role::response &&
          anomaly.certainty != Certainty::certain && is_known(flow, psn, anomaly.stamp))
        continue;
      if (left++ == 0) first = psn;
    }
    if (left == 0) return;
    anomaly.psn = first;
    anomaly.packets = left;
    found_.push_back(std::move(anomaly));
  }

  /// Of a gap at all points: neither capture lacks it alone.
  static void decide_gap(Anomaly& gap) {
    if (gap.certainty != Certainty::either) return;
    std::vector<Hypothesis> left(gap.alternatives.begin(), gap.alternatives.end());
    std::erase_if(left,
                  [](const Hypothesis& one) { return one.cause == Cause::missing_in_capture; });
    if (left.size() != 1) return;
    gap.certainty = Certainty::certain;
    gap.kind = left.front().kind;
    gap.cause = left.front().cause;
    gap.alternatives = {};
  }

  void add_gap(Anomaly gap, std::uint32_t flow, bool far) {
    decide_gap(gap);
    if (gap.cause != Cause::missing_in_capture) gap.where = before_first(flow, far);
    add_unexplained(std::move(gap), flow);
  }

  void add_recovery(Anomaly recovery, std::uint32_t flow) {
    const auto packet = packets_.find(recovery.frame);
    const bool may_be_late = std::ranges::any_of(recovery.alternatives, [](const Hypothesis& one) {
      return one.kind == AnomalyKind::out_of_order || one.kind == AnomalyKind::duplicate;
    });
    if (may_be_late && packet && packets_.has(*packet, HopEvent::late)) return;
    const auto nak =
        recovery.related_frame == 0 ? std::nullopt : packets_.find(recovery.related_frame);
    const PacketEvent* lost_answer = nak ? packets_.event_of(*nak) : nullptr;
    if (const PacketEvent* lost = event_between(flow, recovery.role, recovery.psn, recovery.stamp))
      recovery.where = path_.segment_name(lost->segment, packets_.goes_far(lost->packet));
    if (lost_answer && lost_answer->what == HopEvent::lost) {
      const bool acknowledged =
          recovery.cause == Cause::ack_lost || may_be(recovery, Cause::ack_lost);
      recovery.cause = acknowledged ? Cause::ack_lost : Cause::nak_lost;
      recovery.certainty = Certainty::certain;
      recovery.alternatives = {};
      recovery.where =
          path_.segment_name(lost_answer->segment, packets_.goes_far(lost_answer->packet));
    }
    found_.push_back(std::move(recovery));
  }

  /// Whether the order of a late packet and the one that overtook it was computed, not seen.
  [[nodiscard]] bool is_placed(const Anomaly& late) const {
    const auto is_placed = [&](std::uint64_t frame) {
      const auto packet = packets_.find(frame);
      return packet && packets_.is_placed(*packet);
    };
    return is_placed(late.frame) || is_placed(late.related_frame);
  }

  static bool may_be(const Anomaly& anomaly, Cause cause) {
    return std::ranges::any_of(anomaly.alternatives,
                               [cause](const Hypothesis& one) { return one.cause == cause; });
  }

  void add_analysed(Anomaly anomaly) {
    const auto flow = flow_of(anomaly);
    const auto far = flow ? goes_far(*flow, anomaly.role, anomaly) : std::nullopt;
    if (!flow || !far) return found_.push_back(std::move(anomaly));
    const auto packet = packets_.find(anomaly.frame);
    switch (anomaly.kind) {
      case AnomalyKind::psn_gap:
        return add_gap(std::move(anomaly), *flow, *far);
      case AnomalyKind::lost_after_capture:
        anomaly.where = behind_last(*flow, *far);
        return add_unexplained(std::move(anomaly), *flow);
      case AnomalyKind::out_of_order:
        if (anomaly.cause == Cause::reordered_behind) {
          anomaly.where = behind_last(*flow, *far);
          return add_unexplained(std::move(anomaly), *flow);
        }
        if (packet && (packets_.has(*packet, HopEvent::late) || is_placed(anomaly))) return;
        anomaly.where = before_first(*flow, *far);
        return found_.push_back(std::move(anomaly));
      case AnomalyKind::duplicate:
        anomaly.where = before_first(*flow, *far);
        return found_.push_back(std::move(anomaly));
      case AnomalyKind::bad_icrc:
        if (packet && packets_.has(*packet, HopEvent::damaged)) return;
        anomaly.where = before_first(*flow, *far);
        return found_.push_back(std::move(anomaly));
      case AnomalyKind::retransmission:
        return add_recovery(std::move(anomaly), *flow);
      default:
        found_.push_back(std::move(anomaly));
    }
  }

  const std::vector<Anomaly>& analysed_;
  const PathPackets& packets_;
  const PathPoints& path_;
  FlowSessions sessions_;
  PacketsByPsn by_psn_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> unanswered_;  // first PSN
  std::map<std::uint32_t, std::uint32_t> last_answers_, last_new_;              // packets, by flow
  std::vector<Anomaly> found_;
};

}  // namespace

std::vector<Anomaly> path_findings(const std::vector<Anomaly>& analysed,
                                   const analysis::Analyst& analyst, const PathPackets& packets) {
  return PathAnomalies(analysed, analyst, packets).all();
}

}  // namespace lw::dissect
