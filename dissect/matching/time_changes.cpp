// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/time_changes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::dissect {
namespace {

constexpr double kFalseRate = 1e-4;
constexpr std::int64_t kSlack = 20'000'000;  // ns: a change of both ways of a ring takes as long

/// A packet of one direction where it was sent.
struct SentPacket {
  std::uint32_t order = 0;
  std::optional<Missing> missing = {};  // nothing: it came
  [[nodiscard]] bool lost() const noexcept { return missing == Missing::lost; }
};

/// The packets of a direction that were sent, in their order.
std::vector<SentPacket> sent_packets(const Matching& matching, bool goes_far,
                                     const std::function<Missing(const Unmatched&)>& judged) {
  std::vector<SentPacket> sent;
  sent.reserve(static_cast<std::size_t>(std::ranges::count_if(
      matching.matches, [&](const Match& m) { return m.goes_far == goes_far; })));
  for (const Match& m : matching.matches)
    if (m.goes_far == goes_far) sent.push_back({m.sent()});
  for (const Unmatched& frame : matching.unmatched) {
    if (frame.goes_far != goes_far || frame.at_receiver()) continue;
    if (const Missing missing = judged(frame); missing != Missing::unjudged)
      sent.push_back({frame.order, missing});
  }
  std::ranges::sort(sent, {}, &SentPacket::order);
  return sent;
}

struct Run {
  std::size_t begin = 0, end = 0;  // among the packets
  [[nodiscard]] std::size_t length() const noexcept { return end - begin; }
};

/// Runs of the packets for which `is_in` is true.
template <class IsIn>
std::vector<Run> runs_of(const std::vector<SentPacket>& sent, IsIn is_in) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (!is_in(sent[i])) continue;
    if (runs.empty() || runs.back().end != i) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

/// Whether so many losses in so few runs are not independent: the number of runs has the mean and
/// the variance of A. Wald and J. Wolfowitz (1940).
bool are_bursts(const LossRuns& losses) {
  constexpr std::uint64_t kFew = 3;
  constexpr double kDeviations = 3.72;  // one in 10,000
  if (losses.lost < kFew || losses.lost == losses.sent) return losses.lost >= kFew;
  const auto n = static_cast<double>(losses.sent), lost = static_cast<double>(losses.lost);
  const double mean = lost * (n - lost + 1) / n;
  const double variance =
      lost * (n - lost) * (lost - 1) * (n - lost + 1) / (n * n * std::max(n - 1, 1.0));
  return static_cast<double>(losses.runs) < mean - kDeviations * std::sqrt(variance) - 0.5;
}

/// Whether independent losses show such a run by chance in more than one of 10,000 captures.
bool is_chance(std::size_t length, std::uint64_t sent, std::uint64_t missing_elsewhere) {
  const auto n = static_cast<double>(sent);
  const double share = (static_cast<double>(missing_elsewhere) + 1) / n;
  return n * std::pow(share, static_cast<double>(length)) > kFalseRate;
}

PathOutage outage_of(const std::vector<SentPacket>& sent, const Run& run, Records records,
                     bool goes_far) {
  const CaptureRecord first = records[sent[run.begin].order],
                      last = records[sent[run.end - 1].order];
  const CaptureRecord before = run.begin > 0 ? records[sent[run.begin - 1].order] : first;
  const CaptureRecord behind = run.end < sent.size() ? records[sent[run.end].order] : last;
  std::uint64_t acknowledged = 0;
  for (std::size_t i = run.begin; i < run.end; ++i)
    acknowledged += sent[i].missing == Missing::acknowledged ? 1 : 0;
  return {.goes_far = goes_far,
          .begin_ns = first.stamp_ns,
          .end_ns = last.stamp_ns,
          .packets = run.length(),
          .acknowledged = acknowledged,
          .first_frame = first.number,
          .most_ns = stamp_difference(behind.stamp_ns, before.stamp_ns)};
}

void add_losses(TimeChanges& changes, Records records, const std::vector<SentPacket>& sent,
                bool goes_far) {
  const std::vector<Run> lost = runs_of(sent, [](const SentPacket& one) { return one.lost(); });
  LossRuns& losses = changes.losses[goes_far ? 1 : 0];
  losses = {.sent = sent.size(), .lost = 0, .runs = lost.size()};
  for (const Run& run : lost) losses.lost += run.length();
  losses.in_bursts = are_bursts(losses);
  const std::vector<Run> missing =
      runs_of(sent, [](const SentPacket& one) { return one.missing.has_value(); });
  std::uint64_t in_short = 0;
  for (const Run& run : missing) in_short += run.length() < kOutageFewest ? run.length() : 0;
  for (const Run& run : missing)
    if (run.length() >= kOutageFewest && !is_chance(run.length(), sent.size(), in_short))
      changes.outages.push_back(outage_of(sent, run, records, goes_far));
}

/// The matches with delays of one direction, in the order in which their packets were sent.
class DelaySeries {
 public:
  DelaySeries(Records near, Records far, const Matching& matching, bool goes_far)
      : near_(near), far_(far), matches_(matching.matches), goes_far_(goes_far) {
    const auto is_used = [&](const Match& m) { return m.goes_far == goes_far && m.certain; };
    indices_.reserve(static_cast<std::size_t>(std::ranges::count_if(matches_, is_used)));
    for (std::uint32_t i = 0; i < matches_.size(); ++i)
      if (is_used(matches_[i])) indices_.push_back(i);
    if (!goes_far) std::ranges::sort(indices_, {}, [&](auto i) { return matches_[i].far; });
  }

  [[nodiscard]] std::size_t size() const noexcept { return indices_.size(); }
  [[nodiscard]] std::int64_t near_ns(std::size_t at) const noexcept {
    return near_.stamp_ns(matches_[indices_[at]].near);
  }
  [[nodiscard]] CaptureRecord sent(std::size_t at) const noexcept {
    return (goes_far_ ? near_ : far_)[matches_[indices_[at]].sent()];
  }
  /// Times where the packets were sent, and delays relative to the first one: stamps may be any
  /// numbers.
  [[nodiscard]] std::vector<DelaySample> samples() const {
    std::vector<DelaySample> samples;
    samples.reserve(size());
    for (std::size_t at = 0; at < size(); ++at) {
      const Records& from = goes_far_ ? near_ : far_;
      const std::int64_t by = stamp_difference(difference(at), difference(0));
      samples.push_back(
          {from.stamp_ns(matches_[indices_[at]].sent()), goes_far_ ? by : stamp_difference(0, by)});
    }
    return samples;
  }

 private:
  [[nodiscard]] std::int64_t difference(std::size_t at) const noexcept {
    const Match& m = matches_[indices_[at]];
    return stamp_difference(far_.stamp_ns(m.far), near_.stamp_ns(m.near));
  }

  Records near_, far_;
  std::span<const Match> matches_;
  bool goes_far_;
  std::vector<std::uint32_t> indices_;
};

/// Steps of one direction, and what else its delays show.
struct WaySteps {
  DelaySeries series;
  std::vector<DelayStep> steps = {};
  double drift = 0;         // ns a second; 0: none
  std::int64_t spread = 0;  // the longest delay less the shortest

  /// Near's stamps of the last packet before a step and of the first one behind it.
  [[nodiscard]] std::array<std::int64_t, 2> around(const DelayStep& step) const {
    return {series.near_ns(step.index - 1), series.near_ns(step.index)};
  }
  /// Whether delays were measured some packets before and behind this time, by the near clock.
  [[nodiscard]] bool covers(std::int64_t near_ns) const {
    std::size_t before = 0, behind = 0;
    for (std::size_t i = 0; i < series.size(); ++i)
      ++(series.near_ns(i) < near_ns ? before : behind);
    return before >= kStepFewest && behind >= kStepFewest;
  }
};

/// Whether two steps, one of each direction, are at one time: none of the delays in between shows
/// that they are not, within a round trip.
bool is_at_once(const std::array<std::int64_t, 2>& a, const std::array<std::int64_t, 2>& b,
                std::int64_t slack) {
  return stamp_difference(a[0], b[1]) <= slack && stamp_difference(b[0], a[1]) <= slack;
}

/// Whether two steps are of one size: within a quarter, and what the delays around them vary by.
bool is_equal(std::int64_t a, std::int64_t b, std::int64_t range) {
  const double more = std::max(std::abs(static_cast<double>(a)), std::abs(static_cast<double>(b)));
  return std::abs(static_cast<double>(a) - static_cast<double>(b)) <=
         more / 4 + static_cast<double>(range) / 4;
}

ChangeOf change_of(std::int64_t back, std::int64_t there, std::int64_t range) {
  if (is_equal(back, there, range)) return ChangeOf::path;
  return is_equal(back, -there, range) ? ChangeOf::clock : ChangeOf::either;
}

DelayChange change_at(const WaySteps& way, const DelayStep& step, bool goes_far) {
  const CaptureRecord sent = way.series.sent(step.index);
  DelayChange change{.at_ns = sent.stamp_ns, .frame = sent.number};
  change.by_ns[goes_far ? 1 : 0] = step.by_ns;
  return change;
}

/// The times in which packets waited. `delays`: without drift.
void add_queueing(TimeChanges& changes, const WaySteps& way, std::vector<double> delays,
                  bool goes_far, std::int64_t resolution) {
  for (const DelayStep& step : way.steps)
    for (std::size_t i = step.index; i < delays.size(); ++i)
      delays[i] -= static_cast<double>(step.by_ns);
  double usual = 0;
  for (const MarkedRun& run :
       marked_runs(marks_of_waiting(delays, static_cast<double>(resolution), usual))) {
    const double most = *std::max_element(delays.begin() + static_cast<std::ptrdiff_t>(run.begin),
                                          delays.begin() + static_cast<std::ptrdiff_t>(run.end)) -
                        usual;
    const CaptureRecord first = way.series.sent(run.begin);
    changes.periods.push_back({PathPeriod::Kind::queueing, goes_far, first.stamp_ns,
                               way.series.sent(run.end - 1).stamp_ns, run.marked, first.number,
                               rounded_ns(most)});
  }
}

/// The times in which packets came behind later ones of their flows.
void add_reordering(TimeChanges& changes, Records near, Records far, const Matching& matching,
                    bool goes_far) {
  struct Arrival {
    std::uint32_t came, sent;  // orders
  };
  std::vector<Arrival> arrivals;
  arrivals.reserve(static_cast<std::size_t>(std::ranges::count_if(
      matching.matches, [&](const Match& m) { return m.goes_far == goes_far; })));
  for (const Match& m : matching.matches)
    if (m.goes_far == goes_far) arrivals.push_back({m.came(), m.sent()});
  std::ranges::sort(arrivals, {}, &Arrival::came);
  const Records records = goes_far ? near : far;
  std::vector<std::uint32_t> newest;  // by flow: order + 1
  std::vector<bool> late;
  for (const Arrival& arrival : arrivals) {
    const std::uint32_t flow = records[arrival.sent].flow;
    if (flow >= newest.size()) newest.resize(flow + 1);
    late.push_back(arrival.sent + 1 < newest[flow]);
    newest[flow] = std::max(newest[flow], arrival.sent + 1);
  }
  for (const MarkedRun& run : marked_runs(late)) {
    PathPeriod period{PathPeriod::Kind::reordering,
                      goes_far,
                      records[arrivals[run.begin].sent].stamp_ns,
                      0,
                      run.marked,
                      records[arrivals[run.begin].sent].number,
                      0};
    period.end_ns = period.begin_ns;
    for (std::size_t i = run.begin; i < run.end; ++i) {
      const CaptureRecord one = records[arrivals[i].sent];
      if (!late[i]) continue;
      if (one.stamp_ns < period.begin_ns)
        period.begin_ns = one.stamp_ns, period.first_frame = one.number;
      period.end_ns = std::max(period.end_ns, one.stamp_ns);
    }
    changes.periods.push_back(period);
  }
}

/// The drift of a direction in ns a second; 0: none.
double clear_drift(std::span<const DelaySample> samples, std::int64_t resolution) {
  constexpr double kErrors = 8;
  const DelayDrift drift = drift_of(samples);
  const auto span =
      static_cast<double>(stamp_difference(samples.back().time_ns, samples.front().time_ns));
  const bool clear = std::abs(drift.slope) > kErrors * drift.error &&
                     std::abs(drift.slope) * span > 3 * static_cast<double>(resolution);
  return clear ? drift.slope * 1e9 : 0;
}

/// Removes steps behind a time without packets that are smaller than what the delays around them
/// vary by: in such a time, a delay that follows itself moves as far.
void remove_steps_behind_gaps(WaySteps& way) {
  constexpr std::int64_t kLong = 4;  // times the mean
  const auto sent_ns = [&](std::size_t at) { return way.series.sent(at).stamp_ns; };
  const std::int64_t span = stamp_difference(sent_ns(way.series.size() - 1), sent_ns(0));
  const std::int64_t mean = span / static_cast<std::int64_t>(way.series.size());
  std::erase_if(way.steps, [&](const DelayStep& step) {
    const std::int64_t gap = stamp_difference(sent_ns(step.index), sent_ns(step.index - 1));
    return gap / kLong > mean && std::abs(step.by_ns) < step.range_ns;
  });
}

/// What the delays of a direction show; adds its periods of queueing.
WaySteps steps_of(TimeChanges& changes, DelaySeries series, bool goes_far,
                  std::int64_t resolution) {
  WaySteps way{.series = std::move(series)};
  std::vector<DelaySample> samples = way.series.samples();
  if (samples.empty()) return way;
  const auto [least, most] = std::ranges::minmax(samples, {}, &DelaySample::delay_ns);
  way.spread = stamp_difference(most.delay_ns, least.delay_ns);
  way.drift = clear_drift(samples, resolution);
  std::vector<double> delays = level_delays(samples);
  samples = std::vector<DelaySample>();  // frees its memory
  way.steps = find_delay_steps(delays, resolution);
  remove_steps_behind_gaps(way);
  add_queueing(changes, way, std::move(delays), goes_far, resolution);
  return way;
}

/// Steps of both directions that are at once are one change.
void add_steps(TimeChanges& changes, const WaySteps& back, const WaySteps& there,
               std::int64_t slack) {
  std::vector<bool> used(back.steps.size());
  const auto alone = [&](const WaySteps& way, const WaySteps& other, const DelayStep& step,
                         bool goes_far) {
    DelayChange change = change_at(way, step, goes_far);
    change.of = other.covers(way.around(step)[1]) ? ChangeOf::path_one_way : ChangeOf::either;
    changes.steps.push_back(change);
  };
  for (const DelayStep& step : there.steps) {
    std::optional<std::size_t> same;
    for (std::size_t i = 0; i < back.steps.size() && !same; ++i)
      if (!used[i] && is_at_once(there.around(step), back.around(back.steps[i]), slack)) same = i;
    if (!same) {
      alone(there, back, step, true);
      continue;
    }
    used[*same] = true;
    DelayChange change = change_at(there, step, true);
    change.by_ns[0] = back.steps[*same].by_ns;
    change.of = change_of(change.by_ns[0], change.by_ns[1],
                          std::max(step.range_ns, back.steps[*same].range_ns));
    changes.steps.push_back(change);
  }
  for (std::size_t i = 0; i < back.steps.size(); ++i)
    if (!used[i]) alone(back, there, back.steps[i], false);
}

/// In the order of ChangeOf.
constexpr std::string_view kChangeNames[] = {"path", "path, one way", "clock", "either"};

std::string signed_time(std::int64_t ns) {
  return (ns < 0 ? "" : "+") + format_duration(Duration{ns});
}

}  // namespace

std::string_view name_of(ChangeOf of) noexcept {
  return kChangeNames[static_cast<std::size_t>(of)];
}

std::string PathOutage::words() const {
  if (is_of_capture())
    return fmt::format(
        "all {} packets of {} are missing where they arrived, {} between the packets around them; "
        "{} were acknowledged: the capture paused, not the path",
        packets, format_duration(Duration{stamp_difference(end_ns, begin_ns)}),
        format_duration(Duration{most_ns}), acknowledged);
  return fmt::format("all {} packets of {} were lost, {} between the packets around them", packets,
                     format_duration(Duration{stamp_difference(end_ns, begin_ns)}),
                     format_duration(Duration{most_ns}));
}

std::string DelayChange::words() const {
  const auto [back, there] = by_ns;
  const std::int64_t by = there != 0 ? there : back;
  // Light in fibre: 4.9 us a km (a group index of 1.4682).
  constexpr double kNsPerKm = 4897;
  const std::string fibre =
      fmt::format("{:.3g} km of fibre", std::abs(static_cast<double>(by)) / kNsPerKm);
  const std::string_view longer = by > 0 ? "longer" : "shorter";
  switch (of) {
    case ChangeOf::path:
      return fmt::format("{} in both directions: the path is {}, by about {}", signed_time(by),
                         longer, fibre);
    case ChangeOf::path_one_way:
      return fmt::format("{} in this direction alone: its path is {}, by about {}", signed_time(by),
                         longer, fibre);
    case ChangeOf::clock:
      return fmt::format("{} to far and {} to near: a clock stepped", signed_time(there),
                         signed_time(back));
    case ChangeOf::either:
      break;
  }
  if (there != 0 && back != 0)
    return fmt::format(
        "{} to far and {} to near: path and clock both changed, or the two directions "
        "by different lengths",
        signed_time(there), signed_time(back));
  return fmt::format(
      "{}: either the path is {}, by about {}, or a clock stepped; delays of the other "
      "direction would tell",
      signed_time(by), longer, fibre);
}

TimeChanges find_time_changes(Records near, Records far, const Matching& matching,
                              const std::function<Missing(const Unmatched&)>& judged) {
  TimeChanges changes;
  // Where one point has finer stamps, the other's rounding is like jitter.
  const std::int64_t resolution = std::min(resolution_of(near), resolution_of(far));
  const auto way_of = [&](bool goes_far) {
    add_losses(changes, goes_far ? near : far, sent_packets(matching, goes_far, judged), goes_far);
    add_reordering(changes, near, far, matching, goes_far);
    return steps_of(changes, DelaySeries(near, far, matching, goes_far), goes_far, resolution);
  };
  const WaySteps back = way_of(false), there = way_of(true);
  if (back.drift != 0 || there.drift != 0) changes.drift = PathDrift{{back.drift, there.drift}};
  add_steps(changes, back, there, std::max({back.spread, there.spread, kSlack}));
  changes.sort();
  return changes;
}

void TimeChanges::sort() {
  std::ranges::sort(outages, {}, &PathOutage::begin_ns);
  std::ranges::sort(steps, {}, &DelayChange::at_ns);
  std::ranges::sort(periods, {}, &PathPeriod::begin_ns);
}

std::string PathDrift::words() const {
  const auto [back, there] = by_ns;
  const auto a_second = [](double ns) {
    return fmt::format("{}{} a second", ns < 0 ? "" : "+",
                       format_duration(Duration{rounded_ns(ns)}));
  };
  if (back == 0 || there == 0)
    return fmt::format(
        "{} in this direction alone: a path that changes, a queue that fills or empties, or clocks "
        "that drift; delays of the other direction would tell",
        a_second(there != 0 ? there : back));
  const double least = std::min(std::abs(back), std::abs(there));
  const double most = std::max(std::abs(back), std::abs(there));
  const bool alike = 4 * (most - least) <= most;
  if (alike && (back > 0) == (there > 0))
    return fmt::format("{} in both directions: the path becomes {}", a_second(there),
                       there > 0 ? "longer" : "shorter");
  return fmt::format("{} to far and {} to near: {}", a_second(there), a_second(back),
                     alike ? fmt::format("the clocks drift by {:.3g} ppm", there / 1e3)
                           : "the path changes, and clocks may drift");
}

const FigureTable& PathDrift::figures() {
  using Row = FigureOf<PathDrift>;
  static constexpr Figure kRows[] = {
      Row::of<[](const PathDrift& d) { return d.by_ns[1]; }>(
          "there_ns", "Growth of the delay to far in a second, by the stamps; 0: none.", Unit::ns),
      Row::of<[](const PathDrift& d) { return d.by_ns[0]; }>(
          "back_ns", "Growth of the delay to near; 0: none.", Unit::ns),
      Row::of<&PathDrift::words>("text", "A sentence about it.")};
  static constexpr FigureTable kTable{"A steady change of the delay.", kRows};
  return kTable;
}

TimeChanges joined_changes(TimeChanges there, const TimeChanges& back) {
  for (PathOutage outage : back.outages) {
    outage.goes_far = false;
    there.outages.push_back(outage);
  }
  for (PathPeriod period : back.periods) {
    period.goes_far = false;
    there.periods.push_back(period);
  }
  if (back.drift) {
    if (!there.drift) there.drift.emplace();
    there.drift->by_ns[0] = back.drift->by_ns[1];
  }
  there.losses[0] = back.losses[1];
  std::vector<DelayChange> alone;
  for (DelayChange step : back.steps) {
    std::swap(step.by_ns[0], step.by_ns[1]);
    const auto same = std::ranges::find_if(there.steps, [&](const DelayChange& other) {
      return other.by_ns[0] == 0 && is_equal(step.by_ns[0], other.by_ns[1], 0) &&
             std::abs(stamp_difference(step.at_ns, other.at_ns)) <= kSlack;
    });
    if (same != there.steps.end())
      same->by_ns[0] = step.by_ns[0];
    else
      alone.push_back(step);
  }
  there.steps.insert(there.steps.end(), alone.begin(), alone.end());
  for (DelayChange& step : there.steps)
    step.of = step.by_ns[0] != 0 && step.by_ns[1] != 0 ? ChangeOf::path : ChangeOf::path_one_way;
  there.sort();
  return there;
}

const FigureTable& PathOutage::figures() {
  using Row = FigureOf<PathOutage>;
  static constexpr Figure kRows[] = {
      Row::of<[](const PathOutage& o) {
        return std::string_view(o.goes_far ? "near_to_far" : "far_to_near");
      }>("direction", "Direction."),
      Row::of<&PathOutage::begin_ns>("begin_ns", "Stamp of the first lost packet, since 1970.",
                                     Unit::ns),
      Row::of<&PathOutage::end_ns>("end_ns", "Stamp of the last lost packet, since 1970.",
                                   Unit::ns),
      Row::of<&PathOutage::most_ns>(
          "most_ns", "Time between the packets around it: at most its length.", Unit::ns),
      Row::of<&PathOutage::packets>("packets", "Lost packets.", Unit::frames),
      Row::of<&PathOutage::acknowledged>("acknowledged",
                                         "Those of them that their receiver acknowledged: if most, "
                                         "the capture paused, not the path.",
                                         Unit::frames),
      Row::of<&PathOutage::first_frame>("first_frame",
                                        "Number of the first of them, where it was sent."),
      Row::of<&PathOutage::words>("text", "A sentence about it.")};
  static constexpr FigureTable kTable{"A time in which all packets of a direction were lost.",
                                      kRows};
  return kTable;
}

const FigureTable& DelayChange::figures() {
  using Row = FigureOf<DelayChange>;
  static constexpr Figure kRows[] = {
      Row::of<[](const DelayChange& c) { return name_of(c.of); }>("of", "What changed.")
          .among(kChangeNames),
      Row::of<&DelayChange::at_ns>(
          "at_ns", "Stamp of the first packet behind it, where it was sent, since 1970.", Unit::ns),
      Row::of<&DelayChange::frame>("frame", "Number of this packet there."),
      Row::of<[](const DelayChange& c) { return c.by_ns[1]; }>(
          "there_ns", "Growth of the delay to far, by the stamps; 0: none.", Unit::ns),
      Row::of<[](const DelayChange& c) { return c.by_ns[0]; }>(
          "back_ns", "Growth of the delay to near, by the stamps; 0: none.", Unit::ns),
      Row::of<&DelayChange::words>("text", "A sentence about it.")};
  static constexpr FigureTable kTable{"A step of the delay.", kRows};
  return kTable;
}

}  // namespace lw::dissect
