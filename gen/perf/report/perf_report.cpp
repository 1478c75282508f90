// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/machine_questions.h"
#include "core/quantity.h"
#include "perf/settings.h"

namespace lw::gen {
namespace {

double us(double ns) { return ns / 1000; }

double quantile_us(const perf::LatencyResult& result, double share) {
  return us(static_cast<double>(result.ns.quantile(share)));
}

/// Figures of a run, as defined by the RDMA programming study.
struct StudyFigures {
  double buffers = 1, messages = 0, elapsed_us = 0, one_way_us = 0, gbps = 0;

  static const FigureTable& figures() {
    using Row = FigureOf<StudyFigures>;
    static constexpr Figure kRows[] = {
        Row::of<&StudyFigures::buffers>("buffers", "Buffers in use."),
        Row::of<&StudyFigures::messages>("messages", "Messages sent."),
        Row::of<&StudyFigures::elapsed_us>("elapsed_usec", "Duration.", Unit::us),
        Row::of<&StudyFigures::one_way_us>("one_way_usec", "Time of a message.", Unit::us),
        Row::of<&StudyFigures::gbps>("throughput_gbps", "Rate of payload.", Unit::gbps)};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

StudyFigures study_of(const PerfReport& report) {
  const auto& [config, outcome, pattern] = report;
  const bool ping = pattern == perf::PerfPattern::ping;
  StudyFigures figures;
  if (ping) {
    const Histogram& halves = outcome.latency.ns;
    figures.messages = static_cast<double>(halves.count());
    figures.elapsed_us = 2 * us(halves.mean()) * figures.messages;
  } else {
    figures.buffers = config.qp.tx_depth;
    figures.messages = static_cast<double>(outcome.bandwidth.messages);
    figures.elapsed_us = us(static_cast<double>(outcome.bandwidth.elapsed.count()));
  }
  if (figures.messages == 0 || figures.elapsed_us <= 0) return figures;
  figures.one_way_us = figures.elapsed_us / figures.messages / (ping ? 2 : 1);
  figures.gbps = figures.messages * config.size * 8 / figures.elapsed_us / 1000;
  return figures;
}

/// Formats a rate in Gb/s; "-" if it was not measured.
std::string measured_text(double bps) {
  return bps > 0 ? fmt::format("{:.2f}", bps / 1e9) : std::string("-");
}

/// A rate in Gb/s; nothing if it was not measured.
std::optional<double> measured(double bps) {
  if (bps > 0) return bps / 1e9;
  return std::nullopt;
}

/// A rate in Gb/s of one way; nothing unless the run is both ways.
std::optional<double> of_both(const PerfReport& r, double bps) {
  if (!r.config.both) return std::nullopt;
  return bps / 1e9;
}

template <double perf::RateInterval::* end>
std::optional<double> steady_end(const PerfReport& r) {
  const auto& interval = r.outcome.bandwidth.steady_interval;
  return interval ? std::optional((*interval).*end / 1e9) : std::nullopt;
}

std::optional<bool> is_steady(const PerfReport& r) {
  if (!r.outcome.bandwidth.steady_interval) return std::nullopt;
  return r.outcome.bandwidth.is_steady();
}

double messages_per_us(const perf::BandwidthResult& result) {
  const auto ns = static_cast<double>(result.elapsed.count());
  return ns > 0 ? static_cast<double>(result.messages) * 1000 / ns : 0;
}

std::string resent_text(const perf::BandwidthResult& result) {
  return fmt::format("{} of {} retransmitted ({})", format_count(result.retransmitted),
                     format_count(result.packets, "packet"),
                     format_share(result.retransmitted, result.packets));
}

std::string resent_line(const PerfOutcome& outcome) {
  return outcome.bandwidth.retransmitted > 0 ? resent_text(outcome.bandwidth) + "\n" : "";
}

std::string arrivals_line(const PerfOutcome& outcome) {
  const std::uint64_t sent = outcome.bandwidth.messages;
  if (outcome.arrivals_unknown)
    return fmt::format(
        "it is unknown which of {} WRITEs arrived; the rates are the sender's. With --imm the "
        "responder counts them\n",
        sent);
  if (!outcome.lost_messages) return "";
  return fmt::format("{} of {} didn't arrive\n", *outcome.lost_messages, counted(sent, "message"));
}

/// The classes, if one was set.
std::string classes_lines(const PerfOutcome& outcome) {
  if (!outcome.port || outcome.port->traffic.empty()) return {};
  return class_lines(outcome.port->classes);
}

std::string ways_line(const perf::PerfConfig& config, const PerfOutcome& outcome) {
  if (!config.both) return "";
  return fmt::format("both ways: {:.2f} Gb/s there, {:.2f} Gb/s back, on average\n",
                     outcome.bandwidth.there_bps() / 1e9, outcome.bandwidth.back_bps() / 1e9);
}

std::string steady_line(const perf::PerfConfig& config, const perf::BandwidthResult& result) {
  if (result.messages == 0) return {};
  if (result.steady_bps == 0)
    return "-: the run is too short to measure this rate; give a larger -n, or --duration\n";
  if (!perf::by_chance(config)) return {};
  if (!result.steady_interval) return "the run is too short for an interval of the steady rate\n";
  const auto& [low, high] = *result.steady_interval;
  if (result.is_steady())
    return fmt::format("BW steady: {:.2f} to {:.2f} Gb/s, the 95 % interval by batch means\n",
                       low / 1e9, high / 1e9);
  return fmt::format(
      "not steady after {} packets: {:.2f} to {:.2f} Gb/s, the 95 % interval by batch means\n",
      result.packets, low / 1e9, high / 1e9);
}

std::string bandwidth_line(std::uint32_t size, const perf::BandwidthResult& result) {
  return fmt::format(" {:<7}    {:<10}       {:<7}            {:<7.2f}\t\t   {:<7.6f}\t   {}\n",
                     size, result.messages, measured_text(result.peak_bps),
                     result.average_bps / 1e9, messages_per_us(result),
                     measured_text(result.steady_bps));
}

std::string latency_line(std::uint32_t size, const perf::LatencyResult& result) {
  return fmt::format(
      " {:<7} {:<7}        {:<7.2f}        {:<7.2f}      {:<7.2f}  \t       {:<7.2f}     \t"
      "{:<7.2f}\t\t{:<7.2f} \t\t{:<7.2f}\n",
      size, result.ns.count(), us(static_cast<double>(result.ns.minimum())),
      us(static_cast<double>(result.ns.maximum())), quantile_us(result, 0.5), us(result.ns.mean()),
      us(result.deviation_ns()), quantile_us(result, 0.99), quantile_us(result, 0.999));
}

std::string study_line(const PerfReport& report) {
  const auto& [config, outcome, pattern] = report;
  const StudyFigures figures = study_of(report);
  const std::string cpu =
      outcome.cpu_share > 0 ? fmt::format("{:.1f}", 100 * outcome.cpu_share) : "-";
  return fmt::format("{:>10} {:>8} {:>10} {:>15.2f} {:>14.2f} {:>17.3f} {:>8}\n", config.size,
                     figures.buffers, figures.messages, figures.elapsed_us, figures.one_way_us,
                     figures.gbps, cpu);
}

}  // namespace

std::string perf_heading(perf::PerfPattern pattern) {
  if (is_of_study(pattern))
    return fmt::format("{:>10} {:>8} {:>10} {:>15} {:>14} {:>17} {:>8}\n", "#bytes", "#buffers",
                       "#messages", "elapsed[us]", "one-way[us]", "throughput[Gb/s]", "CPU[%]");
  if (is_latency(pattern))
    return " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
           "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n";
  return " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
         "   BW steady[Gb/sec]\n";
}

std::string perf_row(const PerfReport& report) {
  const auto& [config, outcome, pattern] = report;
  std::string notes = ways_line(config, outcome) + arrivals_line(outcome) + resent_line(outcome) +
                      classes_lines(outcome);
  if (is_of_study(pattern)) return study_line(report) + notes;
  if (outcome.intervals) notes += extremes_line(*outcome.intervals, is_latency(pattern));
  if (is_latency(pattern)) return latency_line(config.size, outcome.latency) + notes;
  return bandwidth_line(config.size, outcome.bandwidth) + notes +
         steady_line(config, outcome.bandwidth);
}

std::string failure_text(std::uint64_t failed, const std::optional<perf::Failure>& first,
                         std::string_view host) {
  std::string text = fmt::format("{} work requests failed", failed);
  if (!first) return text;
  if (host.empty()) host = first->host == 0 ? "the client" : "the responder";
  return text + fmt::format("; the first at {} on QP {} of {}: {}",
                            format_duration(first->at - Instant{}), first->qp, host,
                            name_of(first->status));
}

std::string wrong_text(std::uint64_t wrong) {
  return fmt::format("{} arrived with other bytes than were sent", counted(wrong, "message"));
}

const FigureTable& PerfReport::figures() {
  using Row = FigureOf<PerfReport>;
  static constexpr Figure kRows[] = {
      Row::with_table<[](const PerfReport& r) -> const auto& { return r.config; },
                      perf::run_settings>(),
      Row::with_table<[](const PerfReport& r) {
        const bool used = r.config.qp.rate_control == transport::RateControl::dcqcn;
        return used ? &r.config.qp.dcqcn : nullptr;
      },
                      transport::DcqcnConfig::figures>(),
      Row::with_table<[](const PerfReport& r) {
        return r.outcome.simulated() ? &r.config : nullptr;
      },
                      perf::simulated_settings>(),
      Row::rows_of<[](const PerfReport& r) -> const auto& { return r.outcome.port; }>(),
      Row::rows_of<[](const PerfReport& r) -> const auto& { return r.outcome.device; }>(),
      Row::of<[](const PerfReport& r) -> const auto& { return r.outcome.machine; }>(
          "machine", "What this machine lost and delayed; absent in a simulation.")
          .if_any()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

namespace {

std::string_view failure_of(const PerfReport& r) {
  const auto& failure = r.outcome.failure();
  return failure ? transport::name_of(failure->status) : std::string_view{};
}

/// Failures, and what limits the meaning of the figures: losses, and an early end of the run.
const FigureTable& limits() {
  using Row = FigureOf<PerfReport>;
  static constexpr Figure kRows[] = {
      Row::of<[](const PerfReport& r) { return failure_of(r); }>(
          "failure", "Completion status of the first failed work request; absent without one.")
          .if_any(),
      Row::of<[](const PerfReport& r) { return r.outcome.stuck_qps(); }>(
          "stuck_qps",
          "QPs that wait for ever, as a packet was lost and there is no timer; absent if 0.")
          .if_any(),
      Row::of<[](const PerfReport& r) { return r.outcome.lost_messages; }>(
          "lost_messages", "Messages that did not arrive."),
      Row::of<[](const PerfReport& r) { return r.outcome.arrivals_unknown; }>(
          "arrivals_unknown", "True if nobody can tell which messages arrived.")
          .if_any(),
      Row::of<[](const PerfReport& r) { return r.outcome.incomplete(); }>("incomplete",
                                                                          kIncompleteMeaning)
          .if_any()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const IntervalExtremes* intervals_of(const PerfReport& r) {
  return r.outcome.intervals ? &*r.outcome.intervals : nullptr;
}

const FigureTable& bandwidth_figures() {
  using Row = FigureOf<PerfReport>;
  static constexpr Figure kRows[] = {
      Row::with_table<std::identity{}, PerfReport::figures>(),
      Row::of<[](const PerfReport& r) { return r.outcome.bandwidth.messages; }>(
          "iterations", "Messages completed."),
      Row::of<[](const PerfReport& r) { return measured(r.outcome.bandwidth.peak_bps); }>(
          "bw_peak_gbps", "Highest rate of payload; null if the run was too short to measure it.",
          Unit::gbps)
          .or_null(),
      Row::of<[](const PerfReport& r) { return r.outcome.bandwidth.average_bps / 1e9; }>(
          "bw_average_gbps", "Mean rate of payload.", Unit::gbps),
      Row::of<[](const PerfReport& r) { return of_both(r, r.outcome.bandwidth.there_bps()); }>(
          "bw_there_gbps",
          "Mean rate of payload from the client to the responder, of a run both ways.", Unit::gbps)
          .if_any(),
      Row::of<[](const PerfReport& r) { return of_both(r, r.outcome.bandwidth.back_bps()); }>(
          "bw_back_gbps",
          "Mean rate of payload from the responder to the client, of a run both ways.", Unit::gbps)
          .if_any(),
      Row::of<[](const PerfReport& r) { return measured(r.outcome.bandwidth.steady_bps); }>(
          "bw_steady_gbps",
          "Rate of payload in the steady state; null if the run was too short to measure it.",
          Unit::gbps)
          .or_null(),
      Row::of<[](const PerfReport& r) { return messages_per_us(r.outcome.bandwidth); }>(
          "msg_rate_mpps", "Messages per microsecond."),
      Row::of<[](const PerfReport& r) { return r.outcome.bandwidth.elapsed; }>(
          "elapsed_ns", "Duration.", Unit::ns),
      Row::of<[](const PerfReport& r) { return r.outcome.bandwidth.packets; }>("packets",
                                                                               "Packets sent."),
      Row::of<[](const PerfReport& r) { return r.outcome.bandwidth.retransmitted; }>(
          "retransmitted", "Packets retransmitted."),
      Row::of<[](const PerfReport& r) { return r.outcome.bandwidth.timeouts; }>("timeouts",
                                                                                "Timeouts."),
      Row::of<[](const PerfReport& r) { return r.outcome.bandwidth.failed; }>("failed",
                                                                              "QPs that failed."),
      Row::of<[](const PerfReport& r) { return r.outcome.bandwidth.cnps; }>(
          "cnps", "Congestion notifications."),
      Row::of<[](const PerfReport& r) {
        return r.outcome.bandwidth.there.lost + r.outcome.bandwidth.back.lost;
      }>("lost", "Simulation: packets that the path lost."),
      Row::of<[](const PerfReport& r) {
        return r.outcome.bandwidth.there.tail_dropped + r.outcome.bandwidth.back.tail_dropped;
      }>("tail_dropped", "Simulation: packets dropped at the full buffer."),
      Row::of<[](const PerfReport& r) {
        return r.outcome.bandwidth.there.marked + r.outcome.bandwidth.back.marked;
      }>("marked", "Simulation: packets marked CE."),
      Row::of<[](const PerfReport& r) { return r.outcome.bandwidth.steady_window; }>(
          "steady_window_ns", "Window of the steady state.", Unit::ns),
      Row::of<[](const PerfReport& r) { return r.outcome.bandwidth.steady_change; }>(
          "steady_change", "Change of the rate between its halves, as a fraction."),
      Row::of<steady_end<&perf::RateInterval::low>>(
          "bw_steady_low_gbps",
          "Lower end of the 95 % interval of bw_steady_gbps; null without random losses, or in a "
          "short run.",
          Unit::gbps)
          .or_null(),
      Row::of<steady_end<&perf::RateInterval::high>>(
          "bw_steady_high_gbps",
          "Upper end of the 95 % interval of bw_steady_gbps; null as bw_steady_low_gbps.",
          Unit::gbps)
          .or_null(),
      Row::of<is_steady>(
          "steady",
          "True if that interval is within 5 % of bw_steady_gbps; null without an interval.")
          .or_null(),
      Row::with_table<intervals_of, IntervalExtremes::bandwidth>(
          "intervals", "Lowest and highest rates of the intervals; only with --interval.")
          .if_any(),
      Row::with_table<std::identity{}, limits>()};
  static constexpr FigureTable kTable{"Bandwidth of one message size; a line each.", kRows};
  return kTable;
}

const FigureTable& latency_figures() {
  using Row = FigureOf<PerfReport>;
  static constexpr Figure kRows[] = {
      Row::with_table<std::identity{}, PerfReport::figures>(),
      Row::of<[](const PerfReport& r) { return r.outcome.latency.ns.count(); }>(
          "iterations", "Messages measured."),
      Row::of<[](const PerfReport& r) {
        return us(static_cast<double>(r.outcome.latency.ns.minimum()));
      }>("t_min_usec", "Smallest latency.", Unit::us),
      Row::of<[](const PerfReport& r) {
        return us(static_cast<double>(r.outcome.latency.ns.maximum()));
      }>("t_max_usec", "Largest latency.", Unit::us),
      Row::of<[](const PerfReport& r) { return quantile_us(r.outcome.latency, 0.5); }>(
          "t_typical_usec", "Median.", Unit::us),
      Row::of<[](const PerfReport& r) { return us(r.outcome.latency.ns.mean()); }>(
          "t_avg_usec", "Mean.", Unit::us),
      Row::of<[](const PerfReport& r) { return us(r.outcome.latency.deviation_ns()); }>(
          "t_stdev_usec", "Standard deviation.", Unit::us),
      Row::of<[](const PerfReport& r) { return quantile_us(r.outcome.latency, 0.99); }>(
          "t_99_usec", "99th percentile.", Unit::us),
      Row::of<[](const PerfReport& r) { return quantile_us(r.outcome.latency, 0.999); }>(
          "t_99_9_usec", "99.9th percentile.", Unit::us),
      Row::of<[](const PerfReport& r) { return r.outcome.latency.failed; }>("failed",
                                                                            "QPs that failed."),
      Row::with_table<intervals_of, IntervalExtremes::latency>(
          "intervals", "Lowest and highest latencies of the intervals; only with --interval.")
          .if_any(),
      Row::with_table<std::identity{}, limits>()};
  static constexpr FigureTable kTable{"Latency of one message size; a line each.", kRows};
  return kTable;
}

const FigureTable& study_figures() {
  using Row = FigureOf<PerfReport>;
  static constexpr std::string_view kPatterns[] = {"blast", "ping"};
  static constexpr Figure kRows[] = {
      Row::with_table<std::identity{}, PerfReport::figures>(),
      Row::of<[](const PerfReport& r) {
        return kPatterns[r.pattern == perf::PerfPattern::ping ? 1 : 0];
      }>("pattern", "Traffic pattern.")
          .among(kPatterns),
      Row::rows_of<study_of>(),
      Row::of<[](const PerfReport& r) { return 100 * r.outcome.cpu_share; }>(
          "cpu_percent", "Processor time of one core; 0 in a simulation.", Unit::percent),
      Row::of<[](const PerfReport& r) { return r.outcome.failed(); }>("failed", "QPs that failed."),
      Row::with_table<std::identity{}, limits>()};
  static constexpr FigureTable kTable{"A blast or ping of one message size; a line each.", kRows};
  return kTable;
}

}  // namespace

const JsonOutput& output_of(perf::PerfPattern pattern) noexcept {
  static constexpr JsonOutput kBandwidth{
      .name = "perf_bandwidth",
      .title = "roce-gen perf --json, roce-gen sim --json, roce-endpoint bw --json",
      .figures = &bandwidth_figures,
      .judged = true,
      .version = 2};
  static constexpr JsonOutput kLatency{
      .name = "perf_latency",
      .title = "roce-gen perf --pattern lat --json, roce-endpoint lat --json",
      .figures = &latency_figures,
      .judged = true,
      .version = 3};
  static constexpr JsonOutput kStudy{
      .name = "perf_study",
      .title = "roce-gen perf --pattern blast|ping --json, roce-endpoint blast|ping --json",
      .figures = &study_figures,
      .judged = true,
      .version = 2};
  if (is_of_study(pattern)) return kStudy;
  return is_latency(pattern) ? kLatency : kBandwidth;
}

report::Json perf_values(const PerfReport& r) {
  return report::json_of(output_of(r.pattern).figures(), &r);
}

namespace {

void observe_failures(Judge& judge, const PerfOutcome& outcome, std::uint64_t messages) {
  const std::uint64_t failed = outcome.failed();
  judge.add(
      {.name = "failed",
       .value = static_cast<double>(failed),
       .text = failed == 0 ? "no work request failed" : failure_text(failed, outcome.failure()),
       .count = messages + failed});
  const std::uint32_t stuck = outcome.stuck_qps();
  judge.add({.name = "stuck",
             .value = static_cast<double>(stuck),
             .text = stuck == 0 ? "no QP waits for ever"
                                : fmt::format("{} for ever: a packet was lost, no later "
                                              "one shows it, and --timeout 0 sets no timer",
                                              stuck == 1 ? "1 QP waits"
                                                         : fmt::format("{} QPs wait", stuck)),
             .count = messages});
  if (!outcome.simulated())
    judge.add(
        {.name = "wrong",
         .value = static_cast<double>(outcome.wrong),
         .text = outcome.wrong == 0 ? "no message had wrong bytes" : wrong_text(outcome.wrong),
         .count = messages});
}

/// UC and UD: messages that did not arrive.
void observe_arrivals(Judge& judge, const PerfOutcome& outcome, std::uint64_t messages) {
  if (!outcome.lost_messages && !outcome.arrivals_unknown) return;
  Observation loss{.name = "loss", .count = messages, .noted = outcome.simulated()};
  if (outcome.lost_messages) {
    loss.value = static_cast<double>(*outcome.lost_messages) /
                 static_cast<double>(std::max<std::uint64_t>(messages, 1));
    loss.text = fmt::format("{} of {} did not arrive ({})", format_count(*outcome.lost_messages),
                            format_count(messages, "message"),
                            format_share(*outcome.lost_messages, messages));
  } else {
    loss.text = fmt::format("sent {}", format_count(messages, "WRITE"));
    loss.unsure = "nobody counts which arrived: with --imm the responder does";
  }
  judge.add(loss);
}

void observe_goodput(Judge& judge, const PerfReport& r) {
  const perf::BandwidthResult& result = r.outcome.bandwidth;
  Observation goodput{
      .name = "goodput",
      .value = result.average_bps,
      .text = fmt::format("goodput {} on average", format_bit_rate(result.average_bps)),
      .count = result.messages};
  if (result.messages == 0) goodput.text = "no message was completed";
  judge.add(goodput);
}

/// Through a port. A simulation was asked for its losses.
void observe_resent(Judge& judge, const PerfOutcome& outcome) {
  const perf::BandwidthResult& result = outcome.bandwidth;
  if (outcome.simulated() || result.packets == 0) return;
  judge.add(
      {.name = "resent",
       .value = static_cast<double>(result.retransmitted) / static_cast<double>(result.packets),
       .text = result.retransmitted == 0 ? "no packet was retransmitted" : resent_text(result),
       .count = result.packets});
}

}  // namespace

void observe_perf(Judge& judge, const PerfReport& r, bool endless) {
  const PerfOutcome& outcome = r.outcome;
  const bool latency = is_latency(r.pattern);
  const std::uint64_t messages = latency ? outcome.latency.ns.count() : outcome.bandwidth.messages;
  if (!latency) observe_goodput(judge, r);
  observe_resent(judge, outcome);
  observe_failures(judge, outcome, messages);
  observe_arrivals(judge, outcome, messages);
  Observation length{.name = "reached", .value = 1, .count = messages};
  length.text = fmt::format("{}", format_count(messages, "message"));
  if (outcome.incomplete()) {
    length.text = fmt::format("a signal ended the run after {}", format_count(messages, "message"));
    length.value = endless ? 1 : 0;
    (endless ? length.remark : length.broken) = "the figures are of the time until then";
  }
  judge.add(length);
  if (outcome.machine) observe(judge, *outcome.machine, "this machine", judge.most("loss"));
}

report::RunRows page_rows(const PerfReport& r) {
  const auto& [config, outcome, pattern] = r;
  const bool simulated = outcome.simulated(), study = is_of_study(pattern);
  const bool bandwidth = !study && !is_latency(pattern);
  report::RunRows rows{.name = fmt::format("{} B", config.size)};
  const std::string size = format_count(config.size) + " B: ";
  if (simulated && bandwidth)
    rows.requested.push_back({size + "rate of the link, and goodput",
                              format_bit_rate(config.nic.rate_bps),
                              format_bit_rate(outcome.bandwidth.average_bps)});
  if (simulated && !study && !bandwidth)
    rows.requested.push_back({size + "delay of the path one way, and typical latency",
                              format_set_duration(config.path.one_way),
                              format_duration(Duration{outcome.latency.ns.quantile(0.5)})});
  rows.requested.push_back({size + "work requests that failed", "0", format_count(outcome.failed()),
                            outcome.failed() == 0});
  if (!bandwidth) return rows;
  const perf::BandwidthResult& result = outcome.bandwidth;
  rows.accounts.push_back(
      {.identity = "",
       .columns = {"Message size", "Messages", "Packets sent", "Sent again", "Lost on the path",
                   "Dropped at its queue", "Work requests that failed"},
       .rows = {{config.size, result.messages, result.packets, result.retransmitted,
                 result.there.lost + result.back.lost,
                 result.there.tail_dropped + result.back.tail_dropped, result.failed}}});
  return rows;
}

std::string perf_json(const PerfReport& r) { return report::json_line(output_of(r.pattern), r); }

}  // namespace lw::gen
