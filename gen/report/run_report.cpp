// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/report/flow_report.h"
#include "report/judgement.h"
#include "report/table.h"

namespace lw::gen {
namespace {

using config::FlowMetric;

bool is_of_sender(FlowMetric metric) {
  return metric == FlowMetric::not_sent || metric == FlowMetric::rate_error ||
         metric >= FlowMetric::pacing_p50;
}

/// The metric of an expectation of the profile, which names one.
FlowMetric metric_of(const Expectation& bound) { return config::metric_of(bound.name).value(); }

void hold(Verdict& verdict, const std::string& name, const Expectation& bound, double value) {
  const auto unit =
      config::is_time(metric_of(bound)) ? Expectation::Unit::time : Expectation::Unit::share;
  verdict.judgements.push_back(report::judge_value(bound, name, unit, value));
}

/// Returns the value of the metric. Loss is a share of the sent frames, if their number is known.
std::optional<double> figure(const ReceiveFlow& flow, FlowMetric metric, const RunReport* sent) {
  const std::uint32_t id = flow.stream.key.dest_qp;
  const bool known = metric == FlowMetric::loss && flow.stream.is_signed && sent != nullptr &&
                     id < sent->flows.size() && sent->flows[id].frames > 0;
  if (!known) return value_of(flow, metric);
  const FlowCounters& counters = sent->flows[id];
  return static_cast<double>(lost_of(flow, counters)) / static_cast<double>(counters.frames);
}

/// True for metrics that two different clocks falsify: latency, but not its variation.
bool compares_clocks(FlowMetric metric) {
  return config::is_time(metric) && metric != FlowMetric::jitter;
}

/// Adds a failure for each flow whose latencies are not valid.
void judge_clocks(Verdict& verdict, const Measurement& measurement, const FlowNames& names) {
  for (const ReceiveFlow& flow : measurement.flows()) {
    const std::string doubt = measurement.latency_doubt(flow);
    if (!doubt.empty())
      verdict.failures.push_back({name_of(flow, names), "the latency can't be judged: " + doubt});
  }
}

bool bounds_loss(const config::FlowProfile& profile) {
  return std::ranges::any_of(profile.expect, [](const Expectation& bound) {
    return metric_of(bound) == FlowMetric::loss;
  });
}

double quantile_of(const Histogram& histogram, FlowMetric metric) {
  if (metric == FlowMetric::pacing_max) return static_cast<double>(histogram.maximum());
  return static_cast<double>(histogram.quantile(metric == FlowMetric::pacing_p50 ? 0.5 : 0.99));
}

double sent_figure(const FlowCounters& counters, const config::Rate& rate, FlowMetric metric) {
  if (metric == FlowMetric::rate_error)
    return std::abs(counters.achieved(rate.unit) / rate.value - 1);
  const auto all =
      static_cast<double>(std::max<std::uint64_t>(1, counters.frames + counters.not_sent));
  return static_cast<double>(counters.not_sent) / all;
}

}  // namespace

bool Verdict::holds() const {
  return failures.empty() && std::ranges::all_of(judgements, &report::Judgement::holds);
}

std::vector<std::string> Verdict::failed() const {
  std::vector<std::string> sentences;
  for (const auto& [of, what] : failures) sentences.push_back(of.empty() ? what : of + ": " + what);
  return sentences;
}

std::vector<std::string> Verdict::broken() const {
  std::vector<std::string> sentences;
  for (const report::Judgement& each : judgements)
    if (!each.holds) sentences.push_back(each.sentence());
  std::ranges::copy(failed(), std::back_inserter(sentences));
  return sentences;
}

std::vector<report::TestCase> cases_of(const Verdict& verdict) {
  std::vector<report::TestCase> cases;
  for (const auto& [of, what] : verdict.failures)
    cases.push_back({.suite = of.empty() ? "all flows" : of,
                     .name = what,
                     .measured = "broken",
                     .expected = {}});
  return cases;
}

std::uint64_t lost_of(const ReceiveFlow& flow, const FlowCounters& sent) {
  const std::uint64_t is_signed = sent.frames - std::min(sent.frames, sent.unsigned_frames);
  const std::uint64_t at_end = is_signed - std::min(is_signed, flow.tracker.next());
  return std::min(is_signed, flow.order.lost + at_end);
}

void judge_received(Verdict& verdict, const config::FlowProfile& profile,
                    const Measurement& measurement, const RunReport* sent) {
  const FlowNames names = names_in(profile);
  const auto bounds_latency = [](const Expectation& bound) {
    return compares_clocks(metric_of(bound)) && !is_of_sender(metric_of(bound));
  };
  if (std::ranges::any_of(profile.expect, bounds_latency))
    judge_clocks(verdict, measurement, names);
  for (const Expectation& bound : profile.expect) {
    if (is_of_sender(metric_of(bound))) continue;
    for (const ReceiveFlow& flow : measurement.flows()) {
      if (bounds_latency(bound) && !measurement.latency_doubt(flow).empty()) continue;
      const auto value = figure(flow, metric_of(bound), sent);
      if (value) hold(verdict, name_of(flow, names), bound, *value);
    }
  }
  if (!bounds_loss(profile)) return;
  for (const AbsentFlow& flow : absent_flows(profile, measurement))
    if (flow.expected.stream.is_signed)
      verdict.failures.push_back(
          {config::full_name(profile.flows[flow.id]), "no signed frame of it came"});
}

bool allows_loss(const config::FlowProfile& profile, double share) {
  bool bounded = false;
  for (const Expectation& bound : profile.expect) {
    if (metric_of(bound) != FlowMetric::loss) continue;
    if (!bound.compares(share, bound.value)) return false;
    bounded = true;
  }
  return bounded;
}

void judge_absent(Verdict& verdict, const config::FlowProfile& profile,
                  std::span<const AbsentFlow> absent) {
  const bool loss_is_bounded = bounds_loss(profile);
  for (const AbsentFlow& flow : absent) {
    const bool judged = loss_is_bounded && flow.expected.stream.is_signed;
    if (!judged)
      verdict.failures.push_back(
          {config::full_name(profile.flows[flow.id]), "no frame of it came"});
  }
}

void judge_missed(Verdict& verdict, std::uint64_t missed) {
  if (missed == 0) return;
  verdict.failures.push_back(
      {"", fmt::format("{} frames missed: they came, and were lost before they were read, so flows "
                       "seem to have lost frames that the path has not",
                       missed)});
}

void judge_sent(Verdict& verdict, const config::FlowProfile& profile, const RunReport& sent) {
  for (const Expectation& bound : profile.expect) {
    if (!is_of_sender(metric_of(bound))) continue;
    if (config::is_time(metric_of(bound))) {
      hold(verdict, "all flows", bound, quantile_of(sent.audit.pacing_error, metric_of(bound)));
      continue;
    }
    for (std::size_t i = 0; i < sent.flows.size(); ++i) {
      const config::Flow& flow = profile.flows[i];
      hold(verdict, flow.name, bound, sent_figure(sent.flows[i], flow.rate, metric_of(bound)));
    }
  }
}

void note_unchecked(Verdict& verdict, const config::FlowProfile& profile, bool sent,
                    bool received) {
  for (const Expectation& bound : profile.expect) {
    if (is_of_sender(metric_of(bound)) ? sent : received) continue;
    verdict.unchecked.push_back(bound.name);
  }
}

std::string to_text(const Verdict& verdict) {
  std::string text;
  for (const std::string& line : verdict.failed()) text += "not as expected: " + line + "\n";
  if (!verdict.unchecked.empty())
    text += fmt::format("not checked here: {}\n", fmt::join(verdict.unchecked, ", "));
  for (const std::string& line : verdict.not_judged) text += "cannot be judged: " + line + "\n";
  return text;
}

const FigureTable& Verdict::figures() {
  using Row = FigureOf<Verdict>;
  static constexpr Figure kRows[] = {
      Row::of<&Verdict::holds>("holds", "True if all that was checked is as expected."),
      Row::of<&Verdict::broken>(
          "broken", "One sentence for each expectation that is not met, and each failure."),
      Row::of<&Verdict::failed>("failures", "Those of them that no expectation is about.").if_any(),
      Row::of<&Verdict::unchecked>("unchecked",
                                   "Keys of expectations that this side cannot check."),
      Row::of<&Verdict::not_judged>("not_judged", "Reasons why some cannot be judged.").if_any()};
  static constexpr FigureTable kTable{"Judgement of the profile's expectations.", kRows};
  return kTable;
}

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
                     format_duration(*run.catch_up));
}

/// Lists the missing frames of each flow that the receiver can tell.
std::string missing_text(const RunReport& sent, const Measurement& received,
                         std::span<const AbsentFlow> absent, const FlowNames& names) {
  std::string text;
  const auto add = [&](const ReceiveFlow& flow, std::uint64_t missing, std::uint64_t frames) {
    text += fmt::format("{}: {} of {} frames never came\n", name_of(flow, names), missing, frames);
  };
  for (const ReceiveFlow& flow : received.flows()) {
    const std::uint32_t id = flow.stream.key.dest_qp;
    if (!flow.stream.is_signed || id >= sent.flows.size()) continue;
    if (const std::uint64_t missing = lost_of(flow, sent.flows[id]); missing > 0)
      add(flow, missing, sent.flows[id].frames);
  }
  for (const AbsentFlow& flow : absent)
    add(flow.expected, sent.flows[flow.id].frames, sent.flows[flow.id].frames);
  return text;
}

/// Formats the largest error of latencies between two clocks; empty if all are of one clock.
std::string clock_bound_text(const Measurement& received) {
  Duration bound{0};
  for (const ReceiveFlow& flow : received.flows())
    if (flow.signature) bound = std::max(bound, flow.signature->clock_bound);
  return bound == Duration{0} ? "" : fmt::format(", wrong by at most {}", format_duration(bound));
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
    text += fmt::format("port `{}` did not take {} frames: {}\n", port.port, port.refused.total(),
                        refused);
  if (const auto lost = reasons_text(port.lost); !lost.empty())
    text += fmt::format("port `{}` took {} frames and lost them: {}\n", port.port,
                        port.lost.total(), lost);
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
  text += fmt::format("{} frames, {} in {}: {} on the wire, {} not sent\n", sum.frames,
                      format_bytes(static_cast<double>(sum.bytes)), format_duration(run.elapsed),
                      format_bit_rate(sum.achieved(Rate::Unit::wire_bits)), sum.not_sent);
  if (sum.unsigned_frames > 0) {
    text += fmt::format("{} frames were too short for the signature\n", sum.unsigned_frames);
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
  judge_sent(verdict_, profile, sent);
  if (received != nullptr) judge_received(verdict_, profile, *received, &sent);
  judge_absent(verdict_, profile, absent_);
  note_unchecked(verdict_, profile, true, received != nullptr);
}

bool RunSummary::good() const {
  return sent_.total().not_sent == 0 && sent_.lost_in_ports() == 0 && sent_.interrupted.empty() &&
         sent_.audit.bad_icrc == 0 && verdict_.holds();
}

std::string RunSummary::text() const {
  std::string text = to_text(sent_, profile_) + audit_text(sent_.audit);
  if (received_ != nullptr) {
    const FlowNames names = names_in(profile_);
    text += "received:\n" + flow_table(*received_, names, kMostFlows, Measured::frames, absent_);
    text += missing_text(sent_, *received_, absent_, names);
    text += fmt::format("latencies by {}{}\n", sent_.clock, clock_bound_text(*received_));
  }
  if (!sent_.interrupted.empty()) text += fmt::format("ended early: {}\n", sent_.interrupted);
  return text + to_text(verdict_);
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
  static constexpr Figure kRows[] = {Row::of<&Rate::unit>("unit", "Unit of the value."),
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

const FigureTable& port_run_figures() {
  using Row = FigureOf<RunReport>;
  static constexpr Figure kRows[] = {
      Row::of<&RunReport::run>("run", "Number of the run in the signatures; only with ports."),
      Row::of<&RunReport::clock>("clock", "Clock of the time stamps; only with ports."),
      Row::of<&RunReport::lost_in_ports>(
          "lost_in_ports", "Frames that the ports took and lost; only with ports.", Unit::frames),
      Row::of<&RunReport::ports>("ports", "Frames not sent, by port."),
      Row::with_table<[](const RunReport& run) { return run.catch_up ? &run : nullptr; },
                      catch_up_figures>("catch_up", "Delays of the schedule."),
      Row::of<&RunReport::interrupted>("interrupted", "Reason why the run ended early.").if_any()};
  static constexpr FigureTable kTable{"A run through ports.", kRows};
  return kTable;
}

std::vector<FlowRow> returned_flows(const config::FlowProfile& profile, const RunReport& sent,
                                    const Measurement& received,
                                    std::span<const AbsentFlow> absent) {
  std::vector<FlowRow> rows = flow_rows(received, names_in(profile), absent);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool came = i < received.flows().size();
    const ReceiveFlow& flow = *rows[i].flow;
    const std::size_t id = came ? flow.stream.key.dest_qp : absent[i - received.flows().size()].id;
    if (came && !sent.hosts.empty()) rows[i].receiver = sent.hosts.at(flow.rank);
    if (came && (!flow.stream.is_signed || id >= sent.flows.size())) continue;
    if (!sent.hosts.empty()) rows[i].sender = sender_of(sent, id);
    rows[i].sent = sent.flows[id].frames;
    rows[i].never_came = came ? lost_of(flow, sent.flows[id]) : sent.flows[id].frames;
  }
  return rows;
}

}  // namespace

std::optional<ReturnedFrames> RunSummary::returned() const {
  if (received_ == nullptr) return std::nullopt;
  return ReturnedFrames{received_->totals(), returned_flows(profile_, sent_, *received_, absent_)};
}

const Verdict* RunSummary::judged() const {
  return profile_.expect.empty() && verdict_.holds() ? nullptr : &verdict_;
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
      Row::of<&Summary::returned>("received", "What came back, with --receive."),
      Row::of<&Summary::judged>("expect", "Judgement of the expectations.")};
  static constexpr FigureTable kTable{"Report of a sender.", kRows};
  return kTable;
}

}  // namespace lw::gen
