// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/comparison.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "dissect/matching/match_delays.h"

namespace lw::dissect {

Proportion wilson95(std::uint64_t hits, std::uint64_t trials) noexcept {
  if (trials == 0) return {};
  constexpr double kZ = 1.959963984540054;  // the normal distribution's 97.5 % quantile
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(hits) / n;
  const double shrink = 1 / (1 + kZ * kZ / n);
  const double centre = (share + kZ * kZ / (2 * n)) * shrink;
  const double half = kZ * shrink * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  return {share, hits == 0 ? 0 : std::max(0.0, centre - half),
          hits == trials ? 1 : std::min(1.0, centre + half)};
}

void Delays::add(std::int64_t ns) {
  if (!sorted_.empty()) changes_ += std::abs(static_cast<double>(ns) - static_cast<double>(last_));
  last_ = ns;
  sorted_.push_back(ns);
}

double Delays::jitter() const noexcept {
  return sorted_.size() < 2 ? 0 : changes_ / static_cast<double>(sorted_.size() - 1);
}

void Delays::sort() { std::ranges::sort(sorted_); }

double Delays::mean() const noexcept {
  if (sorted_.empty()) return 0;
  // Relative to the shortest, to keep a double's precision for the differences.
  double sum = 0;
  for (const std::int64_t ns : sorted_)
    sum += static_cast<double>(static_cast<std::uint64_t>(ns) -
                               static_cast<std::uint64_t>(sorted_.front()));
  return static_cast<double>(sorted_.front()) + sum / static_cast<double>(sorted_.size());
}

std::int64_t Delays::quantile(double q) const noexcept {
  const double rank = std::ceil(q * static_cast<double>(sorted_.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted_[std::min(index, sorted_.size() - 1)];
}

namespace {

/// Collects delays and order of one direction's matches, added in the order of arrival.
class Arrivals {
 public:
  /// `flows`: number of flow numbers; 0: order is judged across flows.
  Arrivals(DirectionResult& result, std::size_t flows) : result_(result), latest_(flows + 1) {}

  void add(const CaptureRecord& sent, std::int64_t delay_ns, bool certain) {
    std::uint32_t& latest = latest_[latest_.size() == 1 ? 0 : sent.flow];
    if (sent.order + 1 < latest) ++result_.reordered;
    latest = std::max(latest, sent.order + 1);
    certain ? result_.delays.add(delay_ns) : void(++result_.ambiguous);
  }

 private:
  DirectionResult& result_;
  std::vector<std::uint32_t> latest_;  // by flow: sent order + 1 of the latest; 0: none
};

/// The results of both directions, while frames are added to them.
class Totals {
 public:
  /// `flows`: by number. `found`: with clocks, steps and span.
  Totals(Records near, Records far, Comparison& found, std::vector<roce::FlowKey> flows)
      : near_(near),
        far_(far),
        flows_(std::move(flows)),
        delays_(found.clocks, found.steps),
        comparison_(found) {}

  void add_unmatched(const Unmatched& frame) {
    DirectionResult& result = way(frame.goes_far);
    const std::optional<CommonSpan>& span = comparison_.span;
    if (span && !frame.copy &&
        span->is_outside((frame.at_far ? far_ : near_)[frame.order], frame.at_far,
                         frame.goes_far)) {
      ++(frame.at_receiver() ? result.outside_received : result.outside_sent);
      return;
    }
    if (!frame.at_receiver()) {
      ++result.sent;
      ++result.lost;
      if (comparison_.lacking.is_acknowledged(frame)) ++result.lost_acknowledged;
      lost_[frame.goes_far ? 1 : 0].push_back(frame.order);
      return;
    }
    ++result.received;
    ++(frame.copy ? result.duplicated : result.invented);
    const CaptureRecord received = (frame.at_far ? far_ : near_)[frame.order];
    if (!frame.copy && received.bad_icrc) ++result.damaged;
    if (received.ce) ++result.ce;
  }
  /// Adds one direction's matches, which are in the order of arrival.
  void add_arrivals(const std::vector<Match>& matches, bool goes_far, std::size_t flows) {
    Arrivals arrivals(way(goes_far), flows);
    const auto is_own = [goes_far](const Match& m) { return m.goes_far == goes_far; };
    way(goes_far).delays.reserve(static_cast<std::size_t>(std::ranges::count_if(matches, is_own)));
    for (const Match& m : matches | std::views::filter(is_own)) {
      const CaptureRecord near = near_[m.near], far = far_[m.far];
      add_match(way(goes_far), goes_far ? near : far, goes_far ? far : near, m.changed);
      const auto delay = delays_.delay_ns(near, far, goes_far);
      arrivals.add(goes_far ? near : far, delay.value_or(0), m.certain && delay);
    }
  }
  void finish() {
    for (const bool goes_far : {false, true}) {
      way(goes_far).delays.sort();
      add_lost_frames(goes_far);
    }
  }

 private:
  static void add_match(DirectionResult& result, const CaptureRecord& sent,
                        const CaptureRecord& received, bool changed) {
    ++result.sent;
    ++result.received;
    if (received.ce) ++result.ce;
    if (received.ce && !sent.ce) ++result.marked;
    if (sent.form != received.form) ++result.rewritten[{sent.form, received.form}];
    if (!changed) return;
    ++result.changed;
    if (received.bad_icrc) ++result.damaged;
    if (result.changed_frames.size() < kMostChanged)
      result.changed_frames.push_back({sent.number, received.number, received.bad_icrc != 0});
  }
  /// The first lost frames of a direction.
  void add_lost_frames(bool goes_far) {
    std::vector<std::uint32_t>& orders = lost_[goes_far ? 1 : 0];
    const auto first =
        orders.begin() + static_cast<std::ptrdiff_t>(std::min(orders.size(), kMostLost));
    std::ranges::partial_sort(orders, first);
    for (const std::uint32_t order : std::span(orders.begin(), first)) {
      const CaptureRecord sent = (goes_far ? near_ : far_)[order];
      way(goes_far).lost_frames.push_back(
          {sent.number, sent.stamp_ns, flows_[sent.flow], sent.psn, sent.opcode});
    }
  }
  DirectionResult& way(bool goes_far) {
    return goes_far ? comparison_.near_to_far : comparison_.far_to_near;
  }

  Records near_, far_;
  std::vector<roce::FlowKey> flows_;
  MatchDelays delays_;
  std::array<std::vector<std::uint32_t>, 2> lost_;  // orders where they were sent; to near, to far
  Comparison& comparison_;
};

/// A fit of the clocks for each time between two steps.
std::vector<ClockFit> fits_of(Records near, Records far, const Matching& matching,
                              const std::vector<ClockStep>& steps) {
  std::vector<ClockFit> fits;
  for (std::size_t part = 0; part <= steps.size(); ++part) {
    const std::uint32_t from = part == 0 ? 0 : steps[part - 1].far_order;
    const std::uint32_t to = part == steps.size() ? ~0U : steps[part].far_order;
    fits.emplace_back(near, far, matching, from, to);
  }
  return fits;
}

}  // namespace

Comparison compare_points(CapturePoint& near, CapturePoint& far, const Names& names,
                          const CompareRules& rules) {
  const Records at_near = near.records;
  Comparison found;
  found.matching = match_frames(at_near, far.records, names.flows, rules.senders);
  if (rules.senders != Senders::near)
    found.steps = find_clock_steps(at_near, far.records, found.matching);
  const std::vector<StampStep> steps = stamp_steps(found.steps);
  const Records at_far(far.records, steps);
  if (!steps.empty()) found.matching = match_frames(at_near, at_far, names.flows, rules.senders);
  if (rules.frees_keys)
    for (CapturePoint* point : {&near, &far}) point->records.free_keys();
  Matching& matching = found.matching;
  found.forgotten_flows = matching.forgotten_flows;
  if (rules.senders == Senders::both_unsynchronized)
    found.clocks = fits_of(at_near, at_far, matching, found.steps);
  found.near_to_far.variation_only = found.far_to_near.variation_only =
      !found.clocks.empty() && !found.clocks.front().has_both();
  if (rules.judges_span) found.span.emplace(at_near, at_far, matching);
  const auto record_of = [&](const Unmatched& frame) {
    return (frame.at_far ? at_far : at_near)[frame.order];
  };
  if (rules.senders != Senders::near)
    found.lacking = find_lacking(at_near, at_far, matching, names, [&](const Unmatched& frame) {
      return found.span && found.span->is_outside(record_of(frame), frame.at_far, frame.goes_far);
    });
  Totals totals(at_near, at_far, found, names.flows.keys());
  for (const Unmatched& frame : matching.unmatched)
    if (!found.lacking.has(frame, record_of(frame))) totals.add_unmatched(frame);
  found.changes = find_time_changes(at_near, at_far, matching, [&](const Unmatched& frame) {
    const CaptureRecord record = record_of(frame);
    if (found.lacking.hides(frame, record) ||
        (found.span && found.span->is_outside(record, frame.at_far, frame.goes_far)))
      return Missing::unjudged;
    return found.lacking.has(frame, record) ? Missing::acknowledged : Missing::lost;
  });
  const std::size_t order_flows = rules.across_flows ? 0 : names.flows.forgotten().size();
  totals.add_arrivals(matching.matches, false, order_flows);
  const auto by_far = [](const Match& m) { return m.far; };
  std::ranges::sort(matching.matches, {}, by_far);
  totals.add_arrivals(matching.matches, true, order_flows);
  std::ranges::sort(matching.matches, {}, &Match::near);
  totals.finish();
  return found;
}

}  // namespace lw::dissect
