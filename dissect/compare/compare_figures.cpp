// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/compare_figures.h"

#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "roce/describe.h"
#include "wire/address.h"

namespace lw::dissect {
namespace {

constexpr std::string_view kWays[] = {"near_to_far", "far_to_near"};

const FigureTable& point_figures() {
  using Row = FigureOf<CapturePoint>;
  static constexpr Figure kRows[] = {
      Row::of<&CapturePoint::file>("file", "The capture."),
      Row::of<&CapturePoint::frames>("frames", "Frames.", Unit::frames),
      Row::of<&CapturePoint::roce>("roce", "RoCE frames.", Unit::frames),
      Row::of<&CapturePoint::unidentified>(
          "unidentified", "Frames that cannot be recognised in the other capture.", Unit::frames),
      Row::of<&CapturePoint::further_views>(
          "further_views", "Frames that the point had seen before: left out.", Unit::frames),
      Row::of<&CapturePoint::points>("points", "Capture points, and what decided them.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

std::optional<std::size_t> payload_bytes(const IdentityRule& rule) {
  if (rule.by_icrc || rule.payload == IdentityRule::kWhole) return std::nullopt;
  return rule.payload;
}

const FigureTable& rule_figures() {
  using Row = FigureOf<IdentityRule>;
  static constexpr std::string_view kBy[] = {"icrc", "content"};
  static constexpr Figure kRows[] = {
      Row::of<[](const IdentityRule& rule) { return kBy[rule.by_icrc ? 0 : 1]; }>(
          "by", "How frames were recognised.")
          .among(kBy),
      Row::of<payload_bytes>("payload_bytes", "Bytes of payload compared, if not all.",
                             Unit::bytes)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& two_clock_figures() {
  using Row = FigureOf<ClockFit>;
  static constexpr Figure kRows[] = {
      Row::of<&ClockFit::offset_ns>("offset_ns", "Far clock minus near clock at the first frame.",
                                    Unit::ns),
      Row::of<&ClockFit::offset_uncertainty_ns>(
          "offset_uncertainty_ns", "Its uncertainty, without the asymmetry of the path.", Unit::ns),
      Row::of<&ClockFit::drift_ppm>("drift_ppm", "Growth of the offset, in ppm."),
      Row::of<&ClockFit::drift_uncertainty_ppm>("drift_uncertainty_ppm",
                                                "Its uncertainty, in ppm."),
      Row::of<[](const ClockFit& clocks) -> std::optional<double> {
        if (!clocks.is_refused()) return std::nullopt;
        return clocks.refused_drift_ppm();
      }>("refused_drift_ppm", "A drift that no clock has, so that no delay is known."),
      Row::of<&ClockFit::round_trip_ns>("round_trip_ns", "Sum of the shortest delays.", Unit::ns),
      Row::of<[](const ClockFit&) {
        return std::string_view("the shortest delays of both directions are equal");
      }>("assumption", "What this assumes.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& span_figures() {
  using Row = FigureOf<CommonSpan>;
  static constexpr Figure kRows[] = {
      Row::of<&CommonSpan::length>("length_ns", "Time that both captures cover.", Unit::ns),
      Row::of<&CommonSpan::near_begins_later>(
          "near_begins_later_ns", "How much later near began than far; < 0: sooner.", Unit::ns),
      Row::of<&CommonSpan::near_ends_later>(
          "near_ends_later_ns", "How much later near ended than far; < 0: sooner.", Unit::ns)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& clock_figures() {
  using Row = FigureOf<ClockFit>;
  static constexpr Figure kRows[] = {
      Row::of<[](const ClockFit& clocks) { return !clocks.has_both(); }>(
          "variation_only", "True if delays are the variation above the shortest."),
      Row::with_table<[](const ClockFit& clocks) { return clocks.has_both() ? &clocks : nullptr; },
                      two_clock_figures>()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

/// Delays, less what was asked for.
struct DelayFigures {
  const Delays& delays;
  double asked = 0;

  template <int permille>
  [[nodiscard]] std::optional<double> quantile() const {
    if (delays.count() == 0) return std::nullopt;
    return static_cast<double>(delays.quantile(permille / 1000.0)) - asked;
  }
  [[nodiscard]] std::optional<double> mean() const {
    if (delays.count() == 0) return std::nullopt;
    return delays.mean() - asked;
  }
  [[nodiscard]] std::optional<std::int64_t> p90() const {
    if (delays.count() == 0) return std::nullopt;
    return delays.quantile(0.9);
  }
  [[nodiscard]] std::optional<double> jitter() const {
    if (delays.count() == 0) return std::nullopt;
    return delays.jitter();
  }
  static const FigureTable& figures() {
    using Row = FigureOf<DelayFigures>;
    static constexpr Figure kRows[] = {
        Row::of<&DelayFigures::quantile<0>>("min", "Smallest.", Unit::ns),
        Row::of<&DelayFigures::mean>("mean", "Mean.", Unit::ns),
        Row::of<&DelayFigures::quantile<500>>("p50", "Median.", Unit::ns),
        Row::of<&DelayFigures::quantile<990>>("p99", "99th percentile.", Unit::ns),
        Row::of<&DelayFigures::quantile<999>>("p99_9", "99.9th percentile.", Unit::ns),
        Row::of<&DelayFigures::quantile<1000>>("max", "Largest.", Unit::ns)};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

/// All that was measured of delays.
struct MeasuredDelay {
  DelayFigures figures_of;

  static const FigureTable& figures() {
    using Row = FigureOf<MeasuredDelay>;
    static constexpr Figure kRows[] = {
        Row::of<[](const MeasuredDelay& d) { return d.figures_of.delays.count(); }>(
            "count", "Frames measured.", Unit::frames),
        Row::rows_of<&MeasuredDelay::figures_of>(),
        Row::of<[](const MeasuredDelay& d) { return d.figures_of.p90(); }>(
            "p90", "90th percentile.", Unit::ns),
        Row::of<[](const MeasuredDelay& d) { return d.figures_of.jitter(); }>(
            "jitter", "Mean variation (RFC 3550).", Unit::ns)};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

/// The value of a field; nothing where the frame lacks it.
template <std::string FieldChange::* value>
const std::string* field_value(const FieldChange& change) {
  return (change.*value).empty() ? nullptr : &(change.*value);
}

const FigureTable& field_change_figures() {
  using Row = FigureOf<FieldChange>;
  static constexpr Figure kRows[] = {
      Row::of<&FieldChange::field>("field", "Name of the field."),
      Row::of<field_value<&FieldChange::sent>>("sent", "Value that was sent; null without one.")
          .or_null(),
      Row::of<field_value<&FieldChange::received>>("received", "Value that came; null without one.")
          .or_null()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& rewritten_figures() {
  using Row = FigureOf<FieldChange>;
  static constexpr Figure kRows[] = {Row::with_table<std::identity{}, field_change_figures>(),
                                     Row::of<&FieldChange::frames>("frames", "Frames.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& frame_change_figures() {
  using Row = FigureOf<FrameChange>;
  static constexpr Figure kRows[] = {
      Row::of<[](const FrameChange& change) { return change.frame.sent; }>(
          "sent", "Number of the frame in the sender's capture."),
      Row::of<[](const FrameChange& change) { return change.frame.received; }>(
          "received", "Number of the frame in the receiver's capture."),
      Row::of<[](const FrameChange& change) { return change.frame.bad_icrc; }>(
          "bad_icrc", "True if the received ICRC is wrong."),
      Row::list_with_table<&FrameChange::fields, field_change_figures>("fields",
                                                                       "Fields that changed."),
      Row::of<&FrameChange::payload_bytes>("payload_bytes", "Bytes of payload that changed.",
                                           Unit::bytes),
      Row::of<&FrameChange::payload>("payload_offsets", "Offsets of the first of them.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

template <auto address>
std::string address_of(const LostFrame& frame) {
  return wire::to_string(wire::ip_of(wire::Ipv6Address{frame.flow.*address}));
}

const FigureTable& lost_frame_figures() {
  using Row = FigureOf<LostFrame>;
  static constexpr Figure kRows[] = {
      Row::of<&LostFrame::number>("frame", "Number of the frame in the sender's capture."),
      Row::of<&LostFrame::stamp_ns>("stamp_ns", "Its stamp there, since 1970.", Unit::ns),
      Row::of<address_of<&roce::FlowKey::source>>("source", "Address of its sender."),
      Row::of<address_of<&roce::FlowKey::destination>>("destination", "Address of its receiver."),
      Row::of<[](const LostFrame& frame) { return frame.flow.dest_qp; }>("dest_qp",
                                                                         "Destination QP."),
      Row::of<&LostFrame::psn>("psn", "PSN."),
      Row::of<[](const LostFrame& frame) { return roce::opcode_text(frame.opcode); }>("opcode",
                                                                                      "Opcode.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

/// A direction that was seen.
struct DirectionRow {
  std::string_view name;
  const DirectionResult& result;
  const Changes& changes;
  const Asked& asked;

  [[nodiscard]] std::optional<bool> within() const {
    if (!asked.loss) return std::nullopt;
    return result.loss().contains(*asked.loss);
  }
  [[nodiscard]] std::optional<Duration> asked_delay() const {
    return result.variation_only ? std::nullopt : asked.delay;
  }
  [[nodiscard]] MeasuredDelay delay() const { return {{result.delays}}; }
  [[nodiscard]] std::optional<DelayFigures> delay_error() const {
    if (!asked_delay()) return std::nullopt;
    return DelayFigures{result.delays, static_cast<double>(asked_delay()->count())};
  }
  [[nodiscard]] const auto& lost_frames() const { return result.lost_frames; }
  [[nodiscard]] const auto& rewritten() const { return changes.rewritten; }
  [[nodiscard]] const auto* changed_frames() const {
    return changes.examined ? &changes.frames : nullptr;
  }
  static const FigureTable& figures();
};

template <auto member>
const auto& count(const DirectionRow& row) {
  return row.result.*member;
}

const FigureTable& DirectionRow::figures() {
  using Result = DirectionResult;
  using Row = FigureOf<DirectionRow>;
  static constexpr Figure kRows[] = {
      Row::of<&DirectionRow::name>("direction", "Direction.").among(kWays),
      Row::of<count<&Result::sent>>("sent", "Frames sent.", Unit::frames),
      Row::of<count<&Result::received>>("received", "Frames received.", Unit::frames),
      Row::of<count<&Result::lost>>("lost", "Frames lost.", Unit::frames),
      Row::of<count<&Result::lost_acknowledged>>("lost_acknowledged",
                                                 "Requests of them that were acknowledged and sent "
                                                 "once: the capture lacks them, or they are "
                                                 "replayed frames.",
                                                 Unit::frames),
      Row::of<[](const DirectionRow& row) { return row.result.loss().value; }>(
          "loss", "Their share, 0 to 1."),
      Row::of<[](const DirectionRow& row) { return row.result.loss().low; }>(
          "loss_low", "Lower end of the 95 % confidence interval."),
      Row::of<[](const DirectionRow& row) { return row.result.loss().high; }>("loss_high",
                                                                              "Upper end of it."),
      Row::of<[](const DirectionRow& row) { return row.asked.loss; }>("asked_loss",
                                                                      "Loss asked for, 0 to 1."),
      Row::of<&DirectionRow::within>("asked_loss_within", "True if it lies within the interval."),
      Row::of<count<&Result::changed>>("changed", "Frames changed on the way.", Unit::frames),
      Row::of<count<&Result::invented>>("invented", "Frames that nobody sent.", Unit::frames),
      Row::of<count<&Result::outside_sent>>(
          "outside_sent", "Frames sent outside of the common span: not judged.", Unit::frames),
      Row::of<count<&Result::outside_received>>(
          "outside_received", "Frames received outside of the common span: not judged.",
          Unit::frames),
      Row::of<count<&Result::damaged>>("damaged", "Frames among these with a bad ICRC.",
                                       Unit::frames),
      Row::of<count<&Result::duplicated>>("duplicated", "Frames that came more than once.",
                                          Unit::frames),
      Row::of<count<&Result::reordered>>("reordered", "Frames that came after a newer one.",
                                         Unit::frames),
      Row::of<count<&Result::ce>>("ce", "Frames received with Congestion Experienced.",
                                  Unit::frames),
      Row::of<count<&Result::marked>>("marked", "Frames marked on the way.", Unit::frames),
      Row::of<count<&Result::ambiguous>>("ambiguous", "Frames of which equal ones exist.",
                                         Unit::frames),
      Row::of<&DirectionRow::delay>("delay_ns", "One-way delay.", Unit::ns),
      Row::of<&DirectionRow::asked_delay>("asked_delay_ns", "Delay asked for.", Unit::ns),
      Row::of<&DirectionRow::delay_error>("delay_error_ns", "Measured minus asked delay.",
                                          Unit::ns),
      Row::list_with_table<&DirectionRow::lost_frames, lost_frame_figures>(
          "lost_frames", "Frames that were lost, at most the first 1,000."),
      Row::list_with_table<&DirectionRow::rewritten, rewritten_figures>(
          "rewritten", "Fields that the path rewrites."),
      Row::list_with_table<&DirectionRow::changed_frames, frame_change_figures>(
          "changed_frames", "Frames that changed, at most the first of them.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

std::vector<DirectionRow> seen_directions(const CompareReport& report) {
  std::vector<DirectionRow> rows;
  const Comparison& found = report.comparison;
  if (found.near_to_far.seen())
    rows.push_back({kWays[0], found.near_to_far, report.there, report.asked});
  if (found.far_to_near.seen())
    rows.push_back({kWays[1], found.far_to_near, report.back, report.asked});
  return rows;
}

const FigureTable& ledger_figures() {
  using Row = FigureOf<LedgerFindings>;
  static constexpr Figure kRows[] = {
      Row::of<&LedgerFindings::differences>("differences", "Differences between the captures."),
      Row::of<&LedgerFindings::records>("records", "Records of the ledger."),
      Row::of<&LedgerFindings::others>("records_of_other_frames",
                                       "Records of frames that the captures lack."),
      Row::of<&LedgerFindings::differences_unexplained>("differences_unexplained",
                                                        "Differences without a record."),
      Row::of<&LedgerFindings::records_unexplained>("records_unexplained",
                                                    "Records without a difference."),
      Row::of<&LedgerFindings::difference_texts>("difference_texts", "Sentences about them."),
      Row::of<&LedgerFindings::record_texts>("record_texts", "Sentences about them.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const LedgerFindings* found_there(const CompareReport& report) {
  return report.ledger_there ? &*report.ledger_there : nullptr;
}
const LedgerFindings* found_back(const CompareReport& report) {
  return report.ledger_back ? &*report.ledger_back : nullptr;
}

const FigureTable& ledger_directions() {
  using Row = FigureOf<CompareReport>;
  static constexpr Figure kRows[] = {
      Row::with_table<found_there, ledger_figures>("near_to_far", "From near to far."),
      Row::with_table<found_back, ledger_figures>("far_to_near", "From far to near.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

}  // namespace

const FigureTable& ClockStep::figures() {
  using Row = FigureOf<ClockStep>;
  static constexpr Figure kRows[] = {
      Row::of<&ClockStep::far_number>("far_frame", "First frame behind it, in the far capture."),
      Row::of<&ClockStep::by_ns>("by_ns", "Growth of far's stamps minus near's.", Unit::ns)};
  static constexpr FigureTable kTable{"A step of a clock.", kRows};
  return kTable;
}

const FigureTable& CompareReport::figures() {
  using Row = FigureOf<CompareReport>;
  static constexpr Figure kRows[] = {
      Row::with_table<&CompareReport::near, point_figures>("near", "The near capture."),
      Row::with_table<&CompareReport::far, point_figures>("far", "The far capture."),
      Row::with_table<&CompareReport::rule, rule_figures>("matched", "How frames were recognised."),
      Row::of<[](const CompareReport& r) { return r.comparison.matching.one_way; }>(
          "one_way", "True if all frames go one way."),
      Row::of<[](const CompareReport& r) { return r.asked.asymmetry; }>(
          "asymmetry_ns",
          "The most by which the shortest delays of the directions are said to differ; half of it "
          "is "
          "in the offset of two clocks.",
          Unit::ns),
      Row::with_table<[](const CompareReport& r) {
        return r.comparison.clocks.empty() ? nullptr : &r.comparison.clocks.front();
      },
                      clock_figures>("clocks", "Relation of two clocks, up to the first step."),
      Row::of<[](const CompareReport& r) -> const auto& { return r.comparison.steps; }>(
          "clock_steps", "Steps of the clocks."),
      Row::of<[](const CompareReport& r) -> const auto& { return r.comparison.changes.outages; }>(
          "outages", "Times in which all packets of a direction were lost."),
      Row::of<[](const CompareReport& r) -> const auto& { return r.comparison.changes.steps; }>(
          "delay_steps", "Steps of the delay."),
      Row::of<[](const CompareReport& r) -> const auto& { return r.comparison.changes.periods; }>(
          "periods", "Times of queueing, and of late packets."),
      Row::of<[](const CompareReport& r) -> const auto& { return r.comparison.changes.drift; }>(
          "delay_drift", "A steady change of the delay."),
      Row::with_table<[](const CompareReport& r) {
        return r.comparison.span && r.comparison.span->is_known() ? &*r.comparison.span : nullptr;
      },
                      span_figures>("common_span", "The time that both captures cover."),
      Row::of<[](const CompareReport& r) -> const auto& { return r.comparison.lacking.lacks; }>(
          "lacks", "Frames that a capture does not hold though they passed: not judged."),
      Row::of<seen_directions>("directions", "Both directions."),
      Row::of<[](const CompareReport& r) { return r.comparison.forgotten_flows; }>(
          "forgotten_flows", "Flows beyond --max-flows.")
          .if_any(),
      Row::with_table<[](const CompareReport& r) {
        return r.ledger_there || r.ledger_back ? &r : nullptr;
      },
                      ledger_directions>("ledger", "Comparison with a ledger."),
      Row::of<[](const CompareReport&) {
        return std::string_view("loss of the capturing looks like loss of the path");
      }>("note", "A reservation.")};
  static constexpr FigureTable kTable{"Two captures of the same traffic, compared.", kRows};
  return kTable;
}

}  // namespace lw::dissect
