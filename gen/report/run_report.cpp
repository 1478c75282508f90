// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "gen/report/flow_report.h"
#include "gen/report/run_verdict.h"
#include "gen/report/sent_counts.h"
#include "report/table.h"

namespace lw::gen {
namespace {

using config::Rate;

std::string rate_text(Rate::Unit unit, double value) {
  const bool counted = unit == Rate::Unit::frames || unit == Rate::Unit::messages;
  return counted ? fmt::format("{} {}", per_second_text(value), name_of(unit))
                 : format_bit_rate(value < 1 ? value : std::round(value)) +
                       (unit == Rate::Unit::goodput ? " of payload" : "");
}

/// Formats faults: "3 bad_icrc, 1 psn_gap"; empty if there are none.
std::string fault_words(const FlowCounters& counters) {
  std::string words;
  for (std::size_t kind = 0; kind < counters.faults.size(); ++kind) {
    if (counters.faults[kind] == 0) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", counters.faults[kind],
                         name_of(static_cast<config::FaultKind>(kind)));
  }
  return words;
}

/// Sum of the rates of the QPs of a flow, each over its own time, because they do not begin and end
/// together.
double achieved(const RunReport& run, std::size_t first, std::size_t count, Rate::Unit unit) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += run.flows[i].achieved(unit);
  return sum;
}

/// Rate of a whole [[flow]]. All its QPs have the same share.
Rate whole_rate(const config::Flow& flow) { return {flow.rate.unit, flow.rate.value * flow.qps}; }

std::string flow_name(const config::Flow& flow) {
  return flow.qps == 1 ? flow.name : fmt::format("{} ({} QPs)", flow.name, flow.qps);
}

/// Host that sent a flow; empty in a run of one process.
std::string sender_of(const RunReport& run, std::size_t flow) {
  return run.hosts.empty() ? "" : run.hosts.at(run.rank_of_flow.at(flow));
}

constexpr std::size_t kMostFlows = 100;

std::string ns_text(std::int64_t ns) { return format_duration(Duration{ns}); }

std::string audit_text(const SendAudit& audit) {
  const Histogram& error = audit.pacing_error;
  if (error.count() == 0) return {};
  return fmt::format(
      "{} bursts left late by: p50 {}, p99 {}, p99.9 {}, at most {}\n"
      "{} outgoing ICRCs computed anew: {} bad\n",
      error.count(), ns_text(error.quantile(0.5)), ns_text(error.quantile(0.99)),
      ns_text(error.quantile(0.999)), ns_text(error.maximum()), audit.icrc_checked, audit.bad_icrc);
}

/// Formats reasons: "12 ring_full, 3 mtu"; empty if all frames were sent.
std::string reasons_text(const NotSent& frames) {
  std::string text;
  for (std::size_t i = 0; i < frames.frames.size(); ++i) {
    if (frames.frames[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", frames.frames[i],
                        name_of(static_cast<NotSentReason>(i)));
  }
  return text;
}

std::string catch_up_text(const RunReport& run) {
  if (!run.catch_up || run.caught_up.stalls == 0) return {};
  return fmt::format("{} of the schedule put off in {} stalls, as frames may catch up at most {}\n",
                     format_duration(run.caught_up.skipped), run.caught_up.stalls,
                     format_set_duration(*run.catch_up));
}

/// Formats the largest error of latencies between two clocks; empty if all are of one clock.
std::string clock_bound_text(const Measurement& received) {
  Duration bound{0};
  for (const ReceiveFlow& flow : received.flows())
    if (flow.signature) bound = std::max(bound, flow.signature->clock_bound);
  return bound == Duration{0} ? "" : fmt::format(", wrong by at most {}", format_duration(bound));
}

/// Sets the hosts of a common run.
void set_hosts(std::span<FlowRow> rows, const RunReport& sent) {
  for (FlowRow& row : rows) {
    const ReceiveFlow& flow = *row.flow;
    if (!row.absent) row.receiver = sent.hosts.at(flow.rank);
    if (flow.stream.is_signed && flow.stream.key.dest_qp < sent.flows.size())
      row.sender = sender_of(sent, flow.stream.key.dest_qp);
  }
}

/// Returns the flows that were sent and did not come.
std::vector<AbsentFlow> absent_of(const config::FlowProfile& profile, const RunReport& sent,
                                  const Measurement* received) {
  std::vector<AbsentFlow> absent;
  if (received != nullptr) absent = absent_flows(profile, *received);
  std::erase_if(absent, [&](const AbsentFlow& flow) { return sent.flows[flow.id].frames == 0; });
  return absent;
}

}  // namespace

std::string per_second_text(double value) {
  return value < 100 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

std::string asked_rate(const config::Flow& flow) {
  const Rate rate = whole_rate(flow);
  return rate_text(rate.unit, rate.value);
}

std::string to_text(const PortLosses& port) {
  std::string text;
  if (const auto refused = reasons_text(port.refused); !refused.empty())
    text += fmt::format("port `{}` did not take {}: {}\n", port.port,
                        counted(port.refused.total(), "frame"), refused);
  if (const auto lost = reasons_text(port.lost); !lost.empty())
    text += fmt::format("port `{}` took {} and lost them: {}\n", port.port,
                        counted(port.lost.total(), "frame"), lost);
  return text;
}

std::string to_text(const RunReport& run, const config::FlowProfile& profile) {
  using report::Align;
  std::vector<report::TextTable::Column> columns = {{"flow", Align::left}};
  if (!run.hosts.empty()) columns.push_back({"host", Align::left});
  for (const char* title :
       {"frames", "bytes", "messages", "rate asked", "rate achieved", "not sent"})
    columns.push_back({title, Align::right});
  report::TextTable table(std::move(columns));
  for (std::size_t i = 0; i < run.flows.size(); i += profile.flows[i].qps) {
    const config::Flow& flow = profile.flows[i];
    const FlowCounters counters = run.total(i, flow.qps);
    const Rate rate = whole_rate(flow);
    std::vector<std::string> row = {flow_name(flow)};
    if (!run.hosts.empty()) row.push_back(sender_of(run, i));
    for (std::string& text : std::vector<std::string>{
             fmt::to_string(counters.frames), fmt::to_string(counters.bytes),
             fmt::to_string(counters.messages), rate_text(rate.unit, rate.value),
             rate_text(rate.unit, achieved(run, i, flow.qps, rate.unit)),
             fmt::to_string(counters.not_sent)})
      row.push_back(std::move(text));
    table.add_row(std::move(row));
  }
  std::string text = table.to_string();
  const FlowCounters sum = run.total();
  text += fmt::format("{}, {} in {}: {} on the wire, {} not sent\n", counted(sum.frames, "frame"),
                      format_bytes(static_cast<double>(sum.bytes)), format_duration(run.elapsed),
                      format_bit_rate(sum.achieved(Rate::Unit::wire_bits)), sum.not_sent);
  if (sum.unsigned_frames > 0) {
    text += fmt::format("{} too short for the signature\n", counted(sum.unsigned_frames, "frame"));
  }
  for (const PortLosses& port : run.ports) text += to_text(port);
  text += catch_up_text(run);
  const std::string faults = fault_words(sum);
  if (!faults.empty()) text += fmt::format("deliberate faults: {}\n", faults);
  return text;
}

RunSummary::RunSummary(const config::FlowProfile& profile, const RunReport& sent,
                       const Measurement* received)
    : profile_(profile),
      sent_(sent),
      received_(received),
      absent_(absent_of(profile, sent, received)) {
  if (received == nullptr) return;
  rows_ = flow_rows(*received, names_in(profile), absent_);
  set_sent(rows_, profile, SentCounts(sent.flows.begin(), sent.flows.end()), false);
  if (!sent.hosts.empty()) set_hosts(rows_, sent);
}

void RunSummary::observe(Judge& judge) const {
  if (!sent_.ports.empty()) observe_machine(judge, sent_.machine);
  observe_sent(judge, profile_, sent_);
  if (sent_.ports.empty()) return;
  observe_end(judge, sent_.interrupted);
  if (received_ != nullptr) observe_received(judge, *received_, rows_, true);
}

std::string RunSummary::text() const {
  std::string text = to_text(sent_, profile_) + audit_text(sent_.audit);
  if (received_ != nullptr) {
    text += "received:\n" + flow_table(*received_, rows_, kMostFlows);
    text += fmt::format("latencies by {}{}\n", sent_.clock, clock_bound_text(*received_));
  }
  return text;
}

const FigureTable& SentQp::figures() {
  using Row = FigureOf<SentQp>;
  static constexpr Figure kRows[] = {
      Row::of<&SentQp::qp>("qp", "QP number."),
      Row::of<&SentQp::id>("id", "Number of the flow in the profile, of which each QP is one."),
      Row::rows_of<&SentQp::counters>()};
  static constexpr FigureTable kTable{"What one QP of a flow sent.", kRows};
  return kTable;
}

namespace {

const FigureTable& rate_figures() {
  using Row = FigureOf<Rate>;
  static constexpr Figure kRows[] = {
      Row::of<[](const Rate& rate) { return rate.unit; }>("unit", "Unit of the value."),
      Row::of<&Rate::value>("value", "The rate, in that unit.")};
  static constexpr FigureTable kTable{"A rate and its unit.", kRows};
  return kTable;
}

}  // namespace

const FigureTable& SentFlow::figures() {
  using Row = FigureOf<SentFlow>;
  static constexpr Figure kRows[] = {
      Row::of<&SentFlow::name>("name", "Name of the flow."),
      Row::of<&SentFlow::host>("host", "Host that sent it; only in a run of several.").if_any(),
      Row::rows_of<&SentFlow::counters>(),
      Row::with_table<&SentFlow::asked, rate_figures>("rate_asked", "Rate of the profile."),
      Row::with_table<&SentFlow::achieved, rate_figures>("rate_achieved", "Rate that was sent."),
      Row::of<&SentFlow::qps>("qps", "Its QPs, if there are several.").if_any()};
  static constexpr FigureTable kTable{"What one flow sent.", kRows};
  return kTable;
}

std::vector<SentFlow> sent_flows(const RunReport& run, const config::FlowProfile& profile) {
  std::vector<SentFlow> flows;
  for (std::size_t i = 0; i < run.flows.size(); i += profile.flows[i].qps) {
    const config::Flow& first = profile.flows[i];
    const Rate rate = whole_rate(first);
    SentFlow& flow = flows.emplace_back(
        first.name, sender_of(run, i), run.total(i, first.qps), rate,
        Rate{rate.unit, achieved(run, i, first.qps, rate.unit)}, std::vector<SentQp>{});
    for (std::size_t qp = i; first.qps > 1 && qp < i + first.qps; ++qp)
      flow.qps.push_back(
          {profile.flows[qp].frame.bth.dest_qp, profile.flows[qp].id, run.flows[qp]});
  }
  return flows;
}

const FigureTable& ReturnedFrames::figures() {
  using Row = FigureOf<ReturnedFrames>;
  static constexpr Figure kRows[] = {
      Row::rows_of<[](const ReturnedFrames& r) -> const auto& { return r.totals; }>(),
      Row::of<&ReturnedFrames::flows>("flows", "What came, by flow.")};
  static constexpr FigureTable kTable{"What came back.", kRows};
  return kTable;
}

namespace {

template <int permille>
std::int64_t pacing_quantile(const Histogram& ns) {
  return ns.quantile(permille / 1000.0);
}

const FigureTable& pacing_figures() {
  using Row = FigureOf<Histogram>;
  static constexpr Figure kRows[] = {
      Row::of<&Histogram::minimum>("min", "Smallest value.", Unit::ns),
      Row::of<&Histogram::mean>("mean", "Mean.", Unit::ns),
      Row::of<pacing_quantile<500>>("p50", "Median.", Unit::ns),
      Row::of<pacing_quantile<990>>("p99", "99th percentile.", Unit::ns),
      Row::of<pacing_quantile<999>>("p99_9", "99.9th percentile.", Unit::ns),
      Row::of<&Histogram::maximum>("max", "Largest value.", Unit::ns)};
  static constexpr FigureTable kTable{"How late bursts left, in nanoseconds.", kRows};
  return kTable;
}

const FigureTable& audit_figures() {
  using Row = FigureOf<SendAudit>;
  static constexpr Figure kRows[] = {
      Row::of<[](const SendAudit& audit) { return audit.pacing_error.count(); }>(
          "bursts", "Bursts that left."),
      Row::with_table<&SendAudit::pacing_error, pacing_figures>("pacing_error_ns",
                                                                "How late they left.", Unit::ns),
      Row::of<&SendAudit::icrc_checked>("icrc_checked", "Outgoing ICRCs computed anew."),
      Row::of<&SendAudit::bad_icrc>("bad_icrc", "ICRCs that were wrong.")};
  static constexpr FigureTable kTable{"Pacing and ICRCs of what was sent.", kRows};
  return kTable;
}

const FigureTable& catch_up_figures() {
  using Row = FigureOf<RunReport>;
  static constexpr Figure kRows[] = {
      Row::of<[](const RunReport& run) { return *run.catch_up; }>(
          "limit_ns", "Most that frames may catch up.", Unit::ns),
      Row::of<through<&RunReport::caught_up, &CatchUp::skipped>>(
          "skipped_ns", "Time of the schedule put off.", Unit::ns),
      Row::of<through<&RunReport::caught_up, &CatchUp::stalls>>("stalls", "Number of stalls.")};
  static constexpr FigureTable kTable{"Delays of the schedule.", kRows};
  return kTable;
}

const FigureTable& pace_figures() {
  using Row = FigureOf<PaceReport>;
  static constexpr Figure kRows[] = {
      Row::of<&PaceReport::behind>("behind_ns", "How far it was behind its schedule at the end.",
                                   Unit::ns),
      Row::of<&PaceReport::worst_second>(
          "worst_second", "Share of what was due that was sent, in the worst second."),
      Row::of<&PaceReport::worst_at>("worst_second_at_ns", "Its begin, since the start.",
                                     Unit::ns)};
  static constexpr FigureTable kTable{"How a run kept to its schedule.", kRows};
  return kTable;
}

const FigureTable& port_run_figures() {
  static constexpr std::string_view kEnds[] = {"flows", "count", "duration", "signal", "failure"};
  using Row = FigureOf<RunReport>;
  static constexpr Figure kRows[] = {
      Row::of<&RunReport::run>("run", "Number of the run in the signatures; only with ports."),
      Row::of<&RunReport::clock>("clock", "Clock of the time stamps; only with ports."),
      Row::of<&RunReport::lost_in_ports>(
          "lost_in_ports", "Frames that the ports took and lost; only with ports.", Unit::frames),
      Row::of<&RunReport::ports>("ports", "Frames not sent, by port."),
      Row::of<&RunReport::ended_by>("ended_by", "What ended the run.").among(kEnds),
      Row::with_table<&RunReport::pace, pace_figures>("pace", "How the run kept to its schedule."),
      Row::of<&RunReport::machine>("machine", "What this machine lost and delayed."),
      Row::with_table<[](const RunReport& run) { return run.catch_up ? &run : nullptr; },
                      catch_up_figures>("catch_up", "Delays of the schedule."),
      Row::of<&RunReport::interrupted>("interrupted", "Reason why the run ended early.").if_any()};
  static constexpr FigureTable kTable{"A run through ports.", kRows};
  return kTable;
}

}  // namespace

std::optional<ReturnedFrames> RunSummary::returned() const {
  if (received_ == nullptr) return std::nullopt;
  return ReturnedFrames{received_->totals(), rows_};
}

const FigureTable& RunSummary::figures() {
  using Summary = RunSummary;
  using Row = FigureOf<Summary>;
  static constexpr Figure kRows[] = {
      Row::of<[](const Summary& s) -> const auto& { return s.sent_.profile; }>(
          "profile", "Name of the profile."),
      Row::of<[](const Summary& s) { return s.sent_.seed; }>("seed", "Random seed."),
      Row::of<[](const Summary& s) { return s.sent_.elapsed; }>(
          "elapsed_ns", "Duration; into a capture, of its time stamps.", Unit::ns),
      Row::rows_of<[](const Summary& s) { return s.sent_.total(); }>(),
      Row::of<&Summary::flows>("flows", "What was sent, by flow."),
      Row::with_table<[](const Summary& s) { return s.sent_.ports.empty() ? nullptr : &s.sent_; },
                      port_run_figures>(),
      Row::with_table<[](const Summary& s) {
        return s.sent_.audit.pacing_error.count() != 0 ? &s.sent_.audit : nullptr;
      },
                      audit_figures>("audit", "Pacing and ICRCs of what was sent."),
      Row::of<&Summary::returned>("received", "What came back, with --receive.")};
  static constexpr FigureTable kTable{"Report of a sender.", kRows};
  return kTable;
}

}  // namespace lw::gen
