// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/compare_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::dissect {
namespace {

using report::Json;

constexpr const char* kCaptureLoss =
    "Loss of the capturing looks like loss of the path: a frame that only one capture holds may\n"
    "have been lost, or the other capture missed it.\n";

constexpr const char* kOneWay =
    "Frames of two opposite directions take the same way here: a capture of both directions was\n"
    "replayed in one, or the clocks of the two points don't agree (see --two-clocks).\n";

struct Statistic {
  const char* title;
  const char* key;
  double value_ns;
};

std::array<Statistic, 6> statistics_of(const Delays& delays) {
  const auto quantile = [&](double q) { return static_cast<double>(delays.quantile(q)); };
  return {{{"min", "min", quantile(0)},
           {"mean", "mean", delays.mean()},
           {"p50", "p50", quantile(0.5)},
           {"p99", "p99", quantile(0.99)},
           {"p99.9", "p99_9", quantile(0.999)},
           {"max", "max", quantile(1)}}};
}

std::string time_text(double ns) { return format_duration(Duration{std::llround(ns)}); }
std::string signed_time(double ns) { return (ns < 0 ? "" : "+") + time_text(ns); }
std::string percent(double share) { return fmt::format("{:.4g} %", share * 100); }

std::string loss_text(const DirectionResult& d, const Asked& asked, const LossRuns& runs) {
  const Proportion loss = d.loss();
  std::string text =
      runs.in_bursts
          ? fmt::format("  lost {} of {}: {}, in {}: not independent, so no interval is known\n",
                        d.lost, d.sent, percent(loss.value),
                        runs.runs == 1 ? "1 burst" : fmt::format("{} bursts", runs.runs))
          : fmt::format("  lost {} of {}: {} (95 % confidence: {} to {})\n", d.lost, d.sent,
                        percent(loss.value), percent(loss.low), percent(loss.high));
  if (d.lost_acknowledged > 0)
    text += fmt::format(
        "  {} of them were acknowledged, and sent once: the capture lacks them and {} were lost, "
        "or "
        "these are replayed frames\n",
        d.lost_acknowledged, d.lost - d.lost_acknowledged);
  if (asked.loss) {
    text += fmt::format("  asked {}: {} the interval\n", percent(*asked.loss),
                        loss.contains(*asked.loss) ? "within" : "OUTSIDE");
  }
  return text;
}

std::string delay_text(const DirectionResult& d, const Asked& asked) {
  if (d.delays.count() == 0) return "  no frame was seen at both points: no delay to show\n";
  const bool judged = asked.delay && !d.variation_only;
  std::vector<report::TextTable::Column> columns = {
      {d.variation_only ? "variation" : "one-way delay"}, {"measured", report::Align::right}};
  if (judged) columns.push_back({"less asked", report::Align::right});
  report::TextTable table(std::move(columns));
  for (const Statistic& s : statistics_of(d.delays)) {
    std::vector<std::string> row = {s.title, time_text(s.value_ns)};
    if (judged) {
      row.push_back(signed_time(s.value_ns - static_cast<double>(asked.delay->count())));
    }
    table.add_row(std::move(row));
  }
  std::string text = table.to_string(2);
  if (judged) text += fmt::format("  asked {}\n", format_set_duration(*asked.delay));
  if (d.ambiguous > 0) {
    text += fmt::format("  {} that may be matched with another one: no delay taken\n",
                        counted(d.ambiguous, "frame"));
  }
  return text;
}

constexpr std::size_t kRowsShown = 20, kFramesShown = 10, kOffsetsShown = 8;

/// "-" for a missing field.
const std::string& shown(const std::string& value) {
  static const std::string kNone = "-";
  return value.empty() ? kNone : value;
}

std::string rewritten_text(const Changes& changes) {
  if (changes.rewritten.empty()) return {};
  report::TextTable table({{"rewritten"},
                           {"sent", report::Align::right},
                           {"received", report::Align::right},
                           {"frames", report::Align::right}});
  for (const FieldChange& c : changes.rewritten | std::views::take(kRowsShown))
    table.add_row({c.field, shown(c.sent), shown(c.received), fmt::format("{}", c.frames)});
  std::string text = table.to_string(2);
  if (changes.rewritten.size() > kRowsShown)
    text += fmt::format("  {} rows more: --json has them\n", changes.rewritten.size() - kRowsShown);
  return text;
}

std::string payload_text(const FrameChange& change) {
  if (change.payload_bytes == 0) return {};
  const std::size_t count = std::min(change.payload.size(), kOffsetsShown);
  return fmt::format(
      "    payload at {}{}\n", fmt::join(std::span(change.payload).first(count), ", "),
      change.payload_bytes > kOffsetsShown ? fmt::format(", ...: {} bytes", change.payload_bytes)
                                           : "");
}

std::string changed_text(const DirectionResult& d, const Changes& changes) {
  if (d.changed == 0) return {};
  if (!changes.examined)
    return "  what was changed can't be shown: standard input can't be read twice\n";
  std::string text;
  for (const FrameChange& change : changes.frames | std::views::take(kFramesShown)) {
    text += fmt::format("  frame {} arrived as frame {}{}\n", change.frame.sent,
                        change.frame.received, change.frame.bad_icrc ? ", with a bad ICRC" : "");
    for (const FieldChange& c : change.fields)
      text += fmt::format("    {} {} > {}\n", c.field, shown(c.sent), shown(c.received));
    text += payload_text(change);
  }
  if (d.changed > kFramesShown)
    text += fmt::format("  and {} changed frames more: --json has the first {}\n",
                        d.changed - kFramesShown, kMostChanged);
  return text;
}

std::string direction_text(const char* title, const DirectionResult& d, const Changes& changes,
                           const Asked& asked, const LossRuns& runs) {
  if (!d.seen()) return {};
  std::string text = fmt::format("\n{}: {} sent, {} received\n", title, d.sent, d.received);
  text += loss_text(d, asked, runs);
  text += fmt::format(
      "  {} changed, {} invented (together {} with a bad ICRC), {} duplicated, {} reordered\n",
      d.changed, d.invented, d.damaged, d.duplicated, d.reordered);
  if (d.outside_sent + d.outside_received > 0)
    text += fmt::format("  outside of the common span, and not judged: {} sent, {} received\n",
                        d.outside_sent, d.outside_received);
  if (d.ce > 0)
    text += fmt::format("  {} received with CE, {} marked on the way\n", d.ce, d.marked);
  return text + delay_text(d, asked) + rewritten_text(changes) + changed_text(d, changes);
}

std::string point_text(const char* title, const CapturePoint& point) {
  std::string text = fmt::format("{} {}: {}, {} RoCE", title, point.file,
                                 counted(point.frames, "frame"), point.roce);
  if (point.unidentified > 0) {
    text += fmt::format("; {} cut or in fragments, so left out", point.unidentified);
  }
  if (point.further_views > 0)
    text += fmt::format("; {} further views of frames left out", point.further_views);
  return text + "\n";
}

std::string later_text(const char* verb, Duration near_later) {
  if (near_later == Duration{}) return {};
  const bool later = near_later > Duration{};
  return fmt::format("near {} {} {}", verb, format_duration(later ? near_later : -near_later),
                     later ? "after far" : "before far");
}

std::string span_text(const Comparison& comparison) {
  const std::optional<CommonSpan>& span = comparison.span;
  if (!span || !span->is_known()) return {};
  std::string text = fmt::format("common span {}", format_duration(span->length()));
  const DirectionResult &there = comparison.near_to_far, &back = comparison.far_to_near;
  if (there.outside_sent + there.outside_received + back.outside_sent + back.outside_received == 0)
    return text + "\n";
  const std::string begins = later_text("began", span->near_begins_later()),
                    ends = later_text("ended", span->near_ends_later());
  if (!begins.empty()) text += ": " + begins;
  if (!ends.empty()) text += (begins.empty() ? ": " : ", and ") + ends;
  return text + "\n";
}

std::string steps_text(const Comparison& comparison) {
  std::string text;
  for (const ClockStep& step : comparison.steps)
    text += fmt::format("a clock stepped: far's minus near's grew by {} at frame {} of far\n",
                        signed_time(static_cast<double>(step.by_ns)), step.far_number);
  if (text.empty()) return text;
  return text + (comparison.clocks.empty()
                     ? "delays behind a step are those by the clocks before the first step\n"
                     : "each time between two steps has an offset and a drift of its own\n");
}

std::string changes_text(const CompareReport& report) {
  const TimeChanges& changes = report.comparison.changes;
  const auto moment = [&](bool goes_far, std::int64_t stamp_ns) {
    return moment_text(report.asked.time, instant_from_ns(stamp_ns),
                       (goes_far ? report.near : report.far).first_stamp());
  };
  std::string text;
  for (const PathOutage& outage : changes.outages)
    text +=
        fmt::format("{} {} at {} (frame {}): {}\n", outage.name(),
                    outage.goes_far ? "near > far" : "far > near",
                    moment(outage.goes_far, outage.begin_ns), outage.first_frame, outage.words());
  for (const DelayChange& step : changes.steps) {
    const bool there = step.by_ns[1] != 0;
    text += fmt::format("delay {} from {} on (frame {}): {}\n", there ? "near > far" : "far > near",
                        moment(there, step.at_ns), step.frame, step.words());
  }
  for (const PeriodGroup& group : groups_of(changes.periods)) {
    const std::string head =
        fmt::format("{} {}", name_of(group.kind), group.goes_far ? "near > far" : "far > near");
    for (const PathPeriod& period : group.longest)
      text += fmt::format(
          "{} from {} to {} (frame {}): {}\n", head, moment(period.goes_far, period.begin_ns),
          moment(period.goes_far, period.end_ns), period.first_frame, period.words());
    if (group.others > 0) text += fmt::format("{}: {}\n", head, group.others_text());
  }
  if (changes.drift)
    text += fmt::format("delay {} drifts by {}\n",
                        changes.drift->by_ns[1] != 0 ? "near > far" : "far > near",
                        changes.drift->words());
  return text.empty() ? text : "\n" + text;
}

/// The keys of a row of CSV.
Json row_of(const char* name, const DirectionResult& d) {
  Json row;
  row["direction"] = name;
  row["sent"] = d.sent;
  row["received"] = d.received;
  row["lost"] = d.lost;
  const Proportion loss = d.loss();
  row["loss"] = loss.value;
  row["loss_low"] = loss.low;
  row["loss_high"] = loss.high;
  row["changed"] = d.changed;
  row["invented"] = d.invented;
  row["damaged"] = d.damaged;
  row["duplicated"] = d.duplicated;
  row["reordered"] = d.reordered;
  row["ce"] = d.ce;
  row["marked"] = d.marked;
  row["ambiguous"] = d.ambiguous;
  row["delay_count"] = d.delays.count();
  for (const char* key : {"min", "mean", "p50", "p90", "p99", "p99_9", "max", "jitter"})
    row[fmt::format("delay_{}_ns", key)] = nullptr;
  if (d.delays.count() == 0) return row;
  for (const Statistic& s : statistics_of(d.delays))
    row[fmt::format("delay_{}_ns", s.key)] = s.value_ns;
  row["delay_p90_ns"] = d.delays.quantile(0.9);
  row["delay_jitter_ns"] = d.delays.jitter();
  return row;
}

std::string clocks_text(const std::vector<ClockFit>& fits, const Asked& asked) {
  if (fits.empty()) return {};
  const ClockFit* const clocks = &fits.front();
  const auto refused = std::ranges::find_if(fits, &ClockFit::is_refused);
  if (refused != fits.end())
    return fmt::format(
        "two clocks: a drift of {:+.0f} ppm is refused, as no clock drifts more than {:.0f} ppm: a "
        "clock\nstepped where the frames do not show it, or was set; no delay is known then\n",
        refused->refused_drift_ppm(), ClockFit::kMostDrift);
  if (!clocks->has_both())
    return "two clocks, and delays of one direction only: delays are the variation above the\n"
           "shortest; a delay that changes steadily counts as drift\n";
  return fmt::format(
      "two clocks: far's minus near's is {:+.3f} us (+-{:.3f}) at the first frame, and grows by "
      "{:+.3f} ppm (+-{:.3f}),\n{}; their sum is {}\n",
      clocks->offset_ns() / 1000, clocks->offset_uncertainty_ns() / 1000, clocks->drift_ppm(),
      clocks->drift_uncertainty_ppm(),
      asked.asymmetry
          ? fmt::format(
                "and +-{} more, as the shortest delays of the directions differ by at most {}",
                time_text(static_cast<double>(asked.asymmetry->count()) / 2),
                format_set_duration(*asked.asymmetry))
          : std::string("if the shortest delays of both directions are equal"),
      time_text(clocks->round_trip_ns()));
}

void add_unexplained(std::string& text, std::string_view what, std::uint64_t count,
                     const std::vector<std::string>& texts) {
  if (count == 0) return;
  text += fmt::format("  {} UNEXPLAINED\n", counted(count, what));
  for (const std::string& each : texts | std::views::take(kFramesShown))
    text += "    " + each + "\n";
  if (count > kFramesShown) text += fmt::format("    and {} more\n", count - kFramesShown);
}

std::string ledger_text(const char* title, const std::optional<LedgerFindings>& found) {
  if (!found) return {};
  std::string text = fmt::format(
      "\nledger, {}: {}, {}{}{}\n", title, counted(found->differences, "difference"),
      counted(found->records, "record"),
      found->others > 0 ? fmt::format(", {} of other frames", found->others) : "",
      found->differences_unexplained + found->records_unexplained == 0 ? ": each explains the other"
                                                                       : "");
  add_unexplained(text, "difference", found->differences_unexplained, found->difference_texts);
  add_unexplained(text, "record", found->records_unexplained, found->record_texts);
  return text;
}

std::string rule_text(const IdentityRule& rule) {
  if (rule.by_icrc) return {};
  if (rule.body != IdentityRule::kWhole)
    return fmt::format("matched by headers to the BTH and {} B behind it: a capture cut the rest\n",
                       rule.body);
  const std::string payload = rule.payload == IdentityRule::kWhole
                                  ? "the whole payload"
                                  : fmt::format("the first {} B of the payload", rule.payload);
  return fmt::format("matched by headers and {}: a capture lacks right ICRCs\n", payload);
}

}  // namespace

std::string comparison_text(const CompareReport& report) {
  const Comparison& comparison = report.comparison;
  std::string text = point_text("near", report.near) + point_text("far ", report.far);
  for (const PointLack& lack : comparison.lacking.lacks) text += lack.words() + "\n";
  text += span_text(comparison) + rule_text(report.rule) +
          clocks_text(comparison.clocks, report.asked) + steps_text(comparison);
  text += direction_text("near > far", comparison.near_to_far, report.there, report.asked,
                         comparison.changes.losses[1]);
  text += direction_text("far > near", comparison.far_to_near, report.back, report.asked,
                         comparison.changes.losses[0]);
  text += changes_text(report);
  if (comparison.forgotten_flows > 0)
    text += fmt::format(
        "\n{} flows, seen least recently, were more than --max-flows: their frames are judged one "
        "by one\n",
        comparison.forgotten_flows);
  text += ledger_text("near > far", report.ledger_there);
  text += ledger_text("far > near", report.ledger_back);
  if (comparison.matching.one_way) text += std::string("\n") + kOneWay;
  return text + "\n" + kCaptureLoss;
}

std::string comparison_csv(const CompareReport& report) {
  report::RowFormat rows(report::RowStyle::csv, kComparisonOutput);
  const DirectionResult &there = report.comparison.near_to_far,
                        &back = report.comparison.far_to_near;
  std::string text;
  if (there.seen()) text += rows.line(row_of("near_to_far", there));
  if (back.seen()) text += rows.line(row_of("far_to_near", back));
  return text;
}

}  // namespace lw::dissect
