// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_verdict.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/machine_questions.h"
#include "core/quantity.h"
#include "gen/report/run_report.h"

namespace lw::gen {
namespace {

/// A run that ends later than asked by less than this may have been held up just then.
constexpr Duration kHeldUp = std::chrono::milliseconds(20);
constexpr double kNearRate = 0.99;

std::string frames_text(std::uint64_t count) {
  return format_count(count) + (count == 1 ? " frame" : " frames");
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
}

/// "9.60 Gb/s of 40.00 Gb/s on the wire".
std::string rates_text(const config::FlowProfile& profile, double share) {
  double asked = 0;
  for (const config::Flow& flow : profile.flows) asked += mean_wire_bits(flow);
  return fmt::format("{} of {} on the wire", format_bit_rate(asked * share),
                     format_bit_rate(asked));
}

void observe_rate(Judge& judge, const config::FlowProfile& profile, const RunReport& sent) {
  const FlowCounters total = sent.total();
  if (total.frames == 0 || sent.ports.empty()) return;  // a file is written in virtual time
  Observation rate =
      rate_observation(sent.pace.behind, std::max(total.span, sent.elapsed), total.frames);
  rate.broken = rates_text(profile, *rate.value) + ": " + rate.broken;
  rate.remedy = "ask for a lower rate, give more cores (--cores), or use a faster port";
  if (sent.pace.worst_second < kNearRate)
    rate.remark =
        fmt::format("in its worst second, {} after the start, {}",
                    format_duration(sent.pace.worst_at), format_share(sent.pace.worst_second));
  judge.add(rate);
}

std::string length_asked(const RunReport& sent) {
  std::string text;
  if (sent.duration) text = format_set_duration(*sent.duration);
  if (sent.count != Limits::kAll) text += (text.empty() ? "" : " or ") + frames_text(sent.count);
  return text;
}

/// The share that was reached of what was asked for.
double reached_of(const RunReport& sent) {
  double share = 0;
  if (sent.duration && sent.duration->count() > 0)
    share = static_cast<double>(sent.elapsed.count()) / static_cast<double>(sent.duration->count());
  if (sent.count != Limits::kAll)
    share = std::max(share, share_of(sent.total().frames, sent.count));
  return std::min(share, 1.0);
}

void observe_length(Judge& judge, const RunReport& sent) {
  const std::string asked = length_asked(sent);
  const std::uint64_t frames = sent.total().frames;
  Observation length{.name = "reached", .value = 1, .count = frames};
  if (!asked.empty()) {
    length.asked = asked;
    length.asked_by = sent.duration ? "--duration" : "--count";
  }
  switch (sent.ended_by) {
    case EndedBy::flows:
      length.text = "sent all " + frames_text(frames) + " of the profile";
      if (!asked.empty() && reached_of(sent) < 1)
        length.remark =
            fmt::format("it took {} of {}: the number of messages in the profile ended it",
                        format_duration(sent.elapsed), asked);
      break;
    case EndedBy::count:
    case EndedBy::duration:
      length.text =
          fmt::format("sent {} in {}", frames_text(frames), format_duration(sent.elapsed));
      break;
    case EndedBy::signal:
      length.text = fmt::format("a signal ended it after {} and {}", format_duration(sent.elapsed),
                                frames_text(frames));
      if (asked.empty())
        length.remark = "nobody asked for a duration or a number of frames";
      else
        length.value = reached_of(sent);
      break;
    case EndedBy::failure:
      length.text = fmt::format("ended early, after {}", format_duration(sent.elapsed));
      length.value = asked.empty() ? 0 : std::min(reached_of(sent), 0.999);
      length.broken = sent.interrupted;
      break;
  }
  judge.add(length);
}

double pacing_of(const Histogram& errors, std::string_view name) {
  if (name == "pacing_max") return static_cast<double>(errors.maximum());
  return static_cast<double>(errors.quantile(name == "pacing_p50" ? 0.5 : 0.99));
}

/// Figures that only expectations ask for.
void observe_sent_figures(Judge& judge, const config::FlowProfile& profile, const RunReport& sent) {
  const Histogram& errors = sent.audit.pacing_error;
  for (const char* name : {"pacing_p50", "pacing_p99", "pacing_max"}) {
    Observation pacing{.name = name, .count = errors.count()};
    if (errors.count() > 0) pacing.value = pacing_of(errors, name);
    judge.add(pacing);
  }
  if (!judge.expects("not_sent") && !judge.expects("rate_error")) return;
  for (std::size_t i = 0; i < sent.flows.size(); ++i) {
    const config::Flow& flow = profile.flows[i];
    const FlowCounters& counters = sent.flows[i];
    judge.add({.name = "not_sent",
               .of = full_name(flow),
               .value = share_of(counters.not_sent, counters.frames + counters.not_sent),
               .count = counters.frames + counters.not_sent});
    judge.add({.name = "rate_error",
               .of = full_name(flow),
               .value = std::abs(counters.achieved(flow.rate.unit) / flow.rate.value - 1),
               .count = counters.frames});
  }
}

/// A figure of one received flow: a share of its frames.
struct FlowShare {
  std::string_view name;
  std::uint64_t (*count)(const FlowRow&);
  std::string_view what;  // "came twice"
};

constexpr FlowShare kShares[] = {
    {"duplicated", [](const FlowRow& row) { return row.flow->order.duplicated; }, "came again"},
    {"out_of_order", [](const FlowRow& row) { return row.flow->order.out_of_order; },
     "came after a later one"},
    {"bad_icrc", [](const FlowRow& row) { return row.flow->bad_icrc; }, "had a wrong ICRC"},
    {"ce_marks", [](const FlowRow& row) { return row.flow->ce_marks; }, "were marked CE"},
};

std::uint64_t frames_of(const FlowRow& row) { return row.flow->frames + row.flow->bad_icrc; }

/// A share of all flows, or of one.
Observation share_of_frames(const FlowShare& share, std::uint64_t counted, std::uint64_t frames) {
  return {.name = std::string(share.name),
          .value = share_of(counted, frames),
          .text = counted == 0
                      ? fmt::format("no frame of {} {}", format_count(frames), share.what)
                      : fmt::format("{} of {} {} ({})", format_count(counted), frames_text(frames),
                                    share.what, format_share(counted, frames)),
          .count = frames};
}

/// `of_no_flow`: frames with a wrong ICRC whose flow is unknown.
void observe_share(Judge& judge, const FlowShare& share, std::span<const FlowRow> flows,
                   std::uint64_t of_no_flow) {
  std::uint64_t counted = 0, frames = 0;
  for (const FlowRow& row : flows) {
    const std::uint64_t own = share.count(row), all = frames_of(row);
    counted += own;
    frames += all;
    if (!judge.expects(share.name)) continue;
    Observation one = share_of_frames(share, own, all);
    one.of = row.name;
    judge.add(one);
  }
  if (!judge.expects(share.name))
    judge.add(share_of_frames(share, counted + of_no_flow, frames + of_no_flow));
  else if (of_no_flow > 0)
    judge.add(share_of_frames(share, of_no_flow, frames + of_no_flow));
}

void observe_shares(Judge& judge, const MeasureTotals& totals, std::span<const FlowRow> flows) {
  std::uint64_t known = 0;
  for (const FlowRow& row : flows) known += row.flow->bad_icrc;
  const std::uint64_t of_no_flow = totals.bad_icrc - std::min(totals.bad_icrc, known);
  for (const FlowShare& share : kShares)
    observe_share(judge, share, flows, share.name == "bad_icrc" ? of_no_flow : 0);
}

/// Frames that differ from the profile's, with the fields in which they do.
void observe_asked(Judge& judge, std::span<const FlowRow> flows) {
  NotAsAsked sum;
  std::uint64_t frames = 0;
  for (const FlowRow& row : flows) {
    frames += row.flow->frames;
    if (row.flow->not_as_asked) sum += *row.flow->not_as_asked;
  }
  if (frames == 0) return;
  std::string fields;
  for (const auto& [name, count] : {std::pair{"source address", sum.source},
                                    {"destination address", sum.destination},
                                    {"destination QP", sum.dest_qp},
                                    {"P_Key", sum.pkey},
                                    {"opcode", sum.opcode},
                                    {"PSN", sum.psn},
                                    {"payload", sum.payload}})
    if (count > 0)
      fields += fmt::format("{}{} of {}", fields.empty() ? "" : ", ", name, frames_text(count));
  judge.add({.name = "as_asked",
             .value = share_of(sum.frames, frames),
             .text = sum.frames == 0
                         ? fmt::format("all {} are as the profile fixes them", frames_text(frames))
                         : fmt::format("{} of {} are not as the profile fixes them: {}",
                                       format_count(sum.frames), frames_text(frames), fields),
             .count = frames});
}

std::string lost_text(std::uint64_t lost, std::uint64_t due) {
  if (lost == 0) return fmt::format("all {} came", frames_text(due));
  return fmt::format("{} of {} never came ({})", format_count(lost), frames_text(due),
                     format_share(lost, due));
}

/// "web 1,000, bulk 977, ...": the flows that lost most.
std::string losers_text(std::span<const FlowRow> flows) {
  constexpr std::size_t kMost = 3;
  std::vector<const FlowRow*> losers;
  for (const FlowRow& row : flows)
    if (row.lost() > 0) losers.push_back(&row);
  if (flows.size() < 2) return {};
  std::ranges::stable_sort(losers, std::greater{}, &FlowRow::lost);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, losers.size()); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", losers[i]->name,
                        format_count(losers[i]->lost()));
  return text + (losers.size() > kMost ? ", ..." : "");
}

Observation loss_of(const FlowRow& row) {
  Observation loss{.name = "loss", .of = row.name, .count = row.due(), .unsure = row.unknown_end};
  if (!row.knows_loss()) {
    loss.unsure = kSharedPsns;
    return loss;
  }
  loss.value = share_of(row.lost(), row.due());
  loss.text = lost_text(row.lost(), row.due());
  return loss;
}

void observe_loss(Judge& judge, std::span<const FlowRow> flows, bool knows_sender) {
  if (judge.expects("loss"))
    for (const FlowRow& row : flows) judge.add(loss_of(row));
  if (judge.expects("loss") && !flows.empty()) return;
  Observation loss{.name = "loss", .noted = !knows_sender};
  std::uint64_t lost = 0;
  for (const FlowRow& row : flows) {
    lost += row.lost();
    loss.count += row.due();
    if (loss.unsure.empty() && !row.unknown_end.empty())
      loss.unsure = fmt::format("the end of {}, as {}", row.name, row.unknown_end);
    if (loss.unsure.empty() && !row.knows_loss())
      loss.unsure = fmt::format("the loss of {}, as {}", row.name, kSharedPsns);
  }
  if (loss.count > 0) loss.value = share_of(lost, loss.count);
  loss.text = loss.count > 0 ? lost_text(lost, loss.count) : "no frame came that can be measured";
  if (loss.count == 0) loss.unsure = "without frames there is no loss";
  loss.broken = losers_text(flows);
  judge.add(loss);
}

/// A figure of the latencies of a flow.
struct LatencyFigure {
  std::string_view name;
  double share = 0;  // of a quantile
};

constexpr LatencyFigure kQuantiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}, {"p99_99", 0.9999}};

/// What the latencies of a flow leave out; empty: nothing.
std::string left_out(const Measurement& measurement, const FlowRow& row) {
  if (!row.flow->signature) return "its frames carry no send time";
  if (const std::string doubt = measurement.latency_doubt(*row.flow); !doubt.empty()) return doubt;
  const SignedPart& part = *row.flow->signature;
  const std::uint64_t all = part.latency.count() + part.left_out;
  if (part.left_out > 0)
    return fmt::format(
        "{} of {} latencies were left out: negative, longer than an hour, or of clocks that cannot "
        "be compared",
        format_count(part.left_out), format_count(all));
  if (measurement.totals().latencies_not_counted > 0)
    return fmt::format("{} latencies were not counted, for want of memory",
                       format_count(measurement.totals().latencies_not_counted));
  return {};
}

void observe_latency(Judge& judge, const std::string& name, const FlowRow& row,
                     std::optional<double> ns, const std::string& unsure, double least = 1) {
  const std::uint64_t count = row.flow->signature ? row.flow->signature->latency.count() : 0;
  Observation latency{.name = name, .of = row.name, .count = count, .unsure = unsure};
  if (count > 0 && ns) latency.value = *ns;
  if (static_cast<double>(count) < least)
    latency.remark = fmt::format("it rests on {} latencies: the largest of them stands for it",
                                 format_count(count));
  judge.add(latency);
}

void observe_latencies(Judge& judge, const Measurement& measurement,
                       std::span<const FlowRow> flows) {
  for (const FlowRow& row : flows) {
    if (row.flow->frames == 0) continue;
    const std::string unsure = left_out(measurement, row);
    const auto observe = [&](std::string_view name, auto value, double least = 1) {
      if (!judge.expects(name)) return;
      std::optional<double> ns;
      if (row.flow->signature) ns = static_cast<double>(value(*row.flow->signature));
      observe_latency(judge, std::string(name), row, ns, unsure, least);
    };
    observe("latency_mean", [](const SignedPart& part) { return part.latency.mean(); });
    observe("latency_max", [](const SignedPart& part) { return part.latency.maximum(); });
    observe("jitter", [](const SignedPart& part) { return part.jitter.ns(); });
    for (const auto& [name, share] : kQuantiles)
      observe(
          name, [&](const SignedPart& part) { return part.latency.quantile(share); },
          1 / (1 - share));
  }
}

void observe_clocks(Judge& judge, const Measurement& measurement, std::span<const FlowRow> flows) {
  Observation clock{.name = "clock", .value = 0};
  for (const FlowRow& row : flows) {
    if (!row.flow->signature) continue;
    ++clock.count;
    const std::string why = left_out(measurement, row);
    if (why.empty()) continue;
    if (clock.unsure.empty()) clock.unsure = row.name + ": " + why;
    clock.value = std::nullopt;
  }
  if (clock.count == 0) return;
  clock.text = clock.value ? fmt::format("the latencies of {} flows are known", clock.count)
                           : "latencies are not known, or not all";
  judge.add(clock);
}

}  // namespace

Observation rate_observation(Duration behind, Duration length, std::uint64_t frames) {
  const double late = length.count() <= 0 ? 0
                                          : static_cast<double>(behind.count()) /
                                                static_cast<double>(length.count());
  const double share = std::clamp(1 - late, 0.0, 1.0);
  Observation rate{.name = "rate",
                   .value = share,
                   .text = fmt::format("sent {} of the rate asked for", format_share(share)),
                   .count = frames,
                   .broken = "this machine's limit, or the port's"};
  if (share < kNearRate && behind < kHeldUp) {
    rate.is_lower_bound = true;
    rate.unsure =
        fmt::format("it is {} behind: too short a run to tell its rate", format_duration(behind));
  }
  return rate;
}

void observe_sent(Judge& judge, const config::FlowProfile& profile, const RunReport& sent) {
  observe_rate(judge, profile, sent);
  observe_length(judge, sent);
  if (sent.audit.icrc_checked > 0)
    judge.add({.name = "sent_icrc",
               .value = static_cast<double>(sent.audit.bad_icrc),
               .text = fmt::format("{} of {} outgoing ICRCs computed anew were wrong",
                                   format_count(sent.audit.bad_icrc),
                                   format_count(sent.audit.icrc_checked)),
               .count = sent.audit.icrc_checked});
  observe_sent_figures(judge, profile, sent);
}

void observe_received(Judge& judge, const Measurement& measurement, std::span<const FlowRow> flows,
                      bool knows_sender) {
  observe_loss(judge, flows, knows_sender);
  observe_shares(judge, measurement.totals(), flows);
  if (measurement.compares()) observe_asked(judge, flows);
  observe_latencies(judge, measurement, flows);
  observe_clocks(judge, measurement, flows);
}

void observe_machine(Judge& judge, const Machine& machine) {
  observe(judge, machine, "this machine", judge.most("loss"));
}

void observe_end(Judge& judge, const std::string& interrupted) {
  judge.add({.name = "ended",
             .value = interrupted.empty() ? 0 : 1,
             .text = interrupted.empty() ? "every interface stayed" : interrupted,
             .count = 1});
}

}  // namespace lw::gen
