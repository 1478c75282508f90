// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/path_verdict.h"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;
using analysis::AnomalyKind;
using analysis::Cause;

/// Of a count, where the number of all is known: "1 of 68 requests".
std::string share_text(std::uint64_t count, std::uint64_t all, std::string_view noun) {
  if (all == 0) return counted(count, noun);
  return fmt::format("{} of {}", count, counted(all, noun));
}

void add_anomaly(PlaceVerdict& place, const Anomaly& anomaly) {
  if (anomaly.certainty != analysis::Certainty::certain) {
    if (anomaly.kind != AnomalyKind::retransmission) place.open += anomaly.packets;
    return;
  }
  const bool answer = anomaly.role == wire::Role::response;
  const bool lost =
      anomaly.kind == AnomalyKind::lost_after_capture ||
      (anomaly.kind == AnomalyKind::psn_gap && anomaly.cause == Cause::lost_before_capture);
  if (lost) (answer ? place.lost_answers : place.lost_requests) += anomaly.packets;
  if (anomaly.kind == AnomalyKind::out_of_order) place.late += anomaly.packets;
  if (anomaly.kind == AnomalyKind::duplicate) place.copied += anomaly.packets;
  if (anomaly.kind == AnomalyKind::bad_icrc) place.damaged += anomaly.packets;
}

/// Outages and steps of one direction between two points.
std::vector<std::string> changes_of(const PathPoints& path, std::size_t segment, bool goes_far,
                                    TimeStyle style) {
  const TimeChanges& changes = path.segments[segment].changes;
  const CapturePoint& sender = path.points[goes_far ? segment : segment + 1];
  const Instant begin = sender.first_stamp();
  const auto moment = [&](std::int64_t stamp_ns) {
    return moment_text(style, instant_from_ns(stamp_ns), begin);
  };
  std::vector<std::string> texts;
  for (const PathOutage& outage : changes.outages)
    if (outage.goes_far == goes_far)
      texts.push_back(
          fmt::format("{} at {}: {}", outage.name(), moment(outage.begin_ns), outage.words()));
  for (const DelayChange& step : changes.steps)
    if (step.by_ns[goes_far ? 1 : 0] != 0 && (goes_far || step.by_ns[1] == 0))
      texts.push_back(fmt::format("delay from {} on: {}", moment(step.at_ns), step.words()));
  for (const PeriodGroup& group : groups_of(changes.periods)) {
    if (group.goes_far != goes_far) continue;
    for (const PathPeriod& period : group.longest)
      texts.push_back(fmt::format("{} from {} to {}: {}", name_of(group.kind),
                                  moment(period.begin_ns), moment(period.end_ns), period.words()));
    if (group.others > 0)
      texts.push_back(fmt::format("{}: {}", name_of(group.kind), group.others_text()));
  }
  if (changes.drift && changes.drift->by_ns[goes_far ? 1 : 0] != 0 &&
      (goes_far || changes.drift->by_ns[1] == 0))
    texts.push_back(fmt::format("delay drifts by {}", changes.drift->words()));
  return texts;
}

PlaceVerdict segment_of(const PathPackets& packets, std::size_t segment, bool goes_far,
                        TimeStyle style) {
  const PathPoints& path = packets.path();
  PlaceVerdict place{.place = path.segment_name(segment, goes_far), .between = true};
  const std::size_t from = goes_far ? segment : segment + 1;
  std::vector<bool> unrecorded(path.flows.size());
  for (const UnrecordedFlow& one : packets.unrecorded())
    if (one.point == segment || one.point == segment + 1) unrecorded[one.flow] = true;
  for (std::uint32_t packet = 0; packet < packets.size(); ++packet) {
    if (packets.goes_far(packet) != goes_far || packets.at(packet, from) == PathPackets::kUnseen)
      continue;
    const CaptureRecord record = packets.record(packet, from);
    if (unrecorded[record.flow]) continue;
    const wire::OpcodeInfo* info = wire::find_opcode(record.opcode);
    ++(info && info->role == wire::Role::response ? place.answers : place.requests);
  }
  const Comparison& found = path.segments[segment];
  const DirectionResult& result = goes_far ? found.near_to_far : found.far_to_near;
  if (result.delays.count() > 0 && !result.variation_only) {
    place.by_stamps = found.clocks.empty();
    place.least_delay = Duration{result.delays.quantile(0)};
    place.median_delay = Duration{result.delays.quantile(0.5)};
  }
  place.changes = changes_of(path, segment, goes_far, style);
  return place;
}

/// The places of one direction, from its sender to its receiver.
void add_way(PathVerdict& verdict, const PathPackets& packets, bool goes_far, TimeStyle style) {
  const PathPoints& path = packets.path();
  const auto& names = path.names;
  verdict.places.push_back(
      {.place = fmt::format("before {}", goes_far ? names.front() : names.back())});
  for (std::size_t i = 0; i < path.segments.size(); ++i)
    verdict.places.push_back(
        segment_of(packets, goes_far ? i : path.segments.size() - 1 - i, goes_far, style));
  verdict.places.push_back(
      {.place = fmt::format("behind {}", goes_far ? names.back() : names.front())});
}

/// Behind the last point, only answers show what happened to requests.
void note_unanswered(PathVerdict& verdict) {
  const std::size_t places = verdict.places.size() / 2;  // of each direction
  for (const std::size_t first : {std::size_t{0}, places}) {
    const auto way = std::span(verdict.places).subspan(first, places);
    const auto back = std::span(verdict.places).subspan(places - first, places);
    const auto sent = [](const PlaceVerdict& place) { return place.requests > 0; };
    const auto heard = [](const PlaceVerdict& place) { return place.answers > 0; };
    if (std::ranges::any_of(way, sent) && std::ranges::none_of(back, heard))
      way.back().unknown = "cannot tell: no answer was captured";
  }
}

std::string addresses_text(const roce::FlowKey& key) {
  return fmt::format("{} to {}", address_text(key.source), address_text(key.destination));
}

/// Whether a flow is of a VLAN or a tunnel that a point does not record: said of all together.
bool is_of_carrier(const PathPoints& path, const UnrecordedFlow& one) {
  for (std::size_t s = 0; s < path.segments.size(); ++s)
    if ((one.point == s || one.point == s + 1) && path.segments[s].lacking.has_carrier_of(one.flow))
      return true;
  return false;
}

/// What points do not record: "far records no packet from 10.0.0.2 to 10.0.0.1 (60 at near)".
void add_unrecorded(PathVerdict& verdict, const PathPackets& packets) {
  const PathPoints& path = packets.path();
  std::map<std::pair<std::uint32_t, std::string>, std::pair<std::uint64_t, std::uint64_t>> all;
  for (std::size_t s = 0; s < path.segments.size(); ++s)
    for (const PointLack& lack : path.segments[s].lacking.lacks)
      if (lack.what == PointLack::What::carrier ||
          (lack.what == PointLack::What::share && !lack.answered))  // see add_capture_losses()
        verdict.notes.push_back(lack.words(path.names[s], path.names[s + 1]) + ".");
  for (const UnrecordedFlow& one : packets.unrecorded()) {
    if (is_of_carrier(path, one)) continue;
    auto& [flows, frames] = all[{one.point, addresses_text(path.flows[one.flow])}];
    ++flows;
    frames += one.frames;
  }
  for (const auto& [key, counts] : all)
    verdict.notes.push_back(
        fmt::format("{} records none of the {} of {} from {}: it does not see them, or all were "
                    "lost before it. They are not judged there.",
                    path.names[key.first], counted(counts.second, "packet"),
                    counted(counts.first, "flow"), key.second));
}

void add_capture_losses(PathVerdict& verdict, const Evidence& evidence) {
  std::map<std::string, std::uint64_t> missing;
  for (const Anomaly& anomaly : evidence.anomalies)
    if (anomaly.cause == Cause::missing_in_capture && !anomaly.where.empty())
      missing[anomaly.where] += anomaly.packets;
  for (const auto& [where, count] : missing)
    verdict.notes.push_back(
        fmt::format("{} lacks {} that passed it, as another point or the peer's answers show: its "
                    "capturing lost them, not the path.",
                    where, counted(count, "packet")));
}

std::string clock_text(const ClockFit& clock, const std::string& near, const std::string& far) {
  if (clock.is_refused() || !clock.has_both())
    return fmt::format(
        "The clocks of {} and {} differ by an unknown time: no delay between them is "
        "known.",
        near, far);
  return fmt::format(
      "The clock of {} is {:+.3f} ms from that of {}, by {:+.1f} ppm (+-{:.1f}), if the shortest "
      "delays of both directions are equal; their sum, {}, is known without that.",
      far, clock.offset_ns() / 1e6, near, clock.drift_ppm(), clock.drift_uncertainty_ppm(),
      format_duration(Duration{std::llround(clock.round_trip_ns())}));
}

void add_clocks(PathVerdict& verdict, const PathPoints& path) {
  for (std::size_t i = 0; i < path.segments.size(); ++i) {
    const Comparison& found = path.segments[i];
    if (!found.clocks.empty())
      verdict.notes.push_back(clock_text(found.clocks.front(), path.names[i], path.names[i + 1]));
    for (const ClockStep& step : found.steps)
      verdict.notes.push_back(
          fmt::format("A clock stepped: that of {} less that of {} grew by {} at "
                      "frame {}.",
                      path.names[i + 1], path.names[i], format_duration(Duration{step.by_ns}),
                      step.far_number));
  }
}

}  // namespace

std::string PlaceVerdict::words() const {
  std::vector<std::string> parts;
  if (lost_requests > 0)
    parts.push_back(share_text(lost_requests, requests, "request packet") + " lost");
  if (lost_answers > 0) parts.push_back(share_text(lost_answers, answers, "answer") + " lost");
  if (late > 0) parts.push_back(fmt::format("{} late", late));
  if (copied > 0) parts.push_back(fmt::format("{} copied", copied));
  if (damaged > 0) parts.push_back(fmt::format("{} damaged", damaged));
  if (open > 0) parts.push_back(fmt::format("{} open", open));
  if (parts.empty() && !unknown.empty()) return unknown;
  if (parts.empty())
    parts.emplace_back(between && requests + answers == 0
                           ? "no packet to judge"
                           : "nothing lost, late, copied or damaged");
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (least_delay)
    text += fmt::format("; delay {} (median), {} at least{}", format_duration(*median_delay),
                        format_duration(*least_delay), by_stamps ? ", if the clocks agree" : "");
  return text;
}

std::optional<PathVerdict> path_verdict(const Evidence& evidence) {
  if (evidence.joined == nullptr) return std::nullopt;
  PathVerdict verdict;
  const PathPackets& packets = evidence.joined->packets;
  add_way(verdict, packets, true, evidence.time);
  add_way(verdict, packets, false, evidence.time);
  note_unanswered(verdict);
  for (const Anomaly& anomaly : evidence.anomalies) {
    const auto place = std::ranges::find(verdict.places, anomaly.where, &PlaceVerdict::place);
    if (place != verdict.places.end()) add_anomaly(*place, anomaly);
  }
  add_unrecorded(verdict, packets);
  add_capture_losses(verdict, evidence);
  add_clocks(verdict, evidence.joined->path);
  return verdict;
}

const FigureTable& PlaceVerdict::figures() {
  using Row = FigureOf<PlaceVerdict>;
  static constexpr Figure kRows[] = {
      Row::of<&PlaceVerdict::place>("place", "Before a point, between two, or behind one."),
      Row::of<&PlaceVerdict::requests>("requests", "Packets of requests that were sent here.",
                                       Unit::frames),
      Row::of<&PlaceVerdict::answers>("answers", "Answers that were sent here.", Unit::frames),
      Row::of<&PlaceVerdict::lost_requests>("lost_requests", "Lost packets of requests.",
                                            Unit::frames),
      Row::of<&PlaceVerdict::lost_answers>("lost_answers", "Lost answers.", Unit::frames),
      Row::of<&PlaceVerdict::late>("late", "Packets behind later ones.", Unit::frames),
      Row::of<&PlaceVerdict::copied>("copied", "Copies.", Unit::frames),
      Row::of<&PlaceVerdict::damaged>("damaged", "Packets with a wrong ICRC.", Unit::frames),
      Row::of<&PlaceVerdict::open>("open", "Packets that may have been lost.", Unit::frames),
      Row::of<&PlaceVerdict::least_delay>("least_delay_ns", "Shortest delay.", Unit::ns),
      Row::of<&PlaceVerdict::median_delay>("median_delay_ns", "Median of the delay.", Unit::ns),
      Row::of<&PlaceVerdict::changes>("changes", "Outages and steps of the delay."),
      Row::of<&PlaceVerdict::words>("text", "A sentence about it.")};
  static constexpr FigureTable kTable{"A place of a path, for one direction.", kRows};
  return kTable;
}

}  // namespace lw::dissect
