// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/network_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "gen/perf/report/perf_report.h"
#include "report/table.h"

namespace lw::gen {
namespace {

using sim::FlowResult, sim::NetworkResult, sim::PortResult, sim::SizeResult;

constexpr std::string_view kGoodputMeaning = "Payload completed after the warm-up, over time.";
constexpr std::string_view kPatternNames[] = {"incast", "permutation", "all-to-all", "flows"};

/// "flows": described one by one, or beside a pattern.
std::string_view pattern_of(const sim::WorkloadConfig& workload) {
  const bool one = workload.sendings.size() == 1 && workload.sendings.front().size == 0;
  return one ? kPatternNames[static_cast<std::size_t>(workload.sendings.front().pattern)]
             : kPatternNames[3];
}

double us(Duration time) noexcept { return static_cast<double>(time.count()) / 1000; }

/// A port with its name.
struct Port {
  std::string name;
  const PortResult* result = nullptr;

  static const FigureTable& figures();
};

const FigureTable& Port::figures() {
  using Row = FigureOf<Port>;
  static constexpr Figure kRows[] = {
      Row::of<&Port::name>("port", "Switch and the node that the port leads to."),
      Row::of<[](const Port& p) { return p.result->utilization; }>(
          "utilization", "Share of the link's rate that was used after the warm-up."),
      Row::of<[](const Port& p) { return p.result->late.most_bytes; }>(
          "most_queued_bytes", "Largest queue after the warm-up.", Unit::bytes),
      Row::of<[](const Port& p) { return p.result->mean_bytes; }>(
          "mean_queued_bytes", "Mean queue after the warm-up, over time.", Unit::bytes),
      Row::of<[](const Port& p) { return p.result->all.sent; }>("sent", "Packets sent.",
                                                                Unit::frames),
      Row::of<[](const Port& p) { return p.result->all.marked; }>(
          "marked", "Packets marked with congestion experienced.", Unit::frames),
      Row::of<[](const Port& p) { return p.result->all.dropped; }>(
          "dropped", "Packets dropped, as the buffer had no room.", Unit::frames),
      Row::of<[](const Port& p) { return p.result->late.dropped; }>(
          "dropped_late", "Of these, after the warm-up.", Unit::frames),
      Row::of<[](const Port& p) { return p.result->all.pauses_sent; }>(
          "pauses_sent", "Times that the switch paused the node at this port."),
      Row::of<[](const Port& p) { return us(p.result->all.paused); }>(
          "paused_us", "Time for which that node paused the port.", Unit::us)};
  static constexpr FigureTable kTable{"An output port of a switch.", kRows};
  return kTable;
}

/// A flow with its names.
struct NamedFlow {
  std::string from, to;
  const FlowResult* result = nullptr;
  std::optional<double> gbps;
  std::optional<sim::MessageTimes> latency;

  static const FigureTable& figures();
};

template <auto kMember>
std::optional<double> latency_us(const NamedFlow& flow) {
  if (!flow.latency || flow.latency->messages == 0) return std::nullopt;
  return (*flow.latency).*kMember;
}

std::optional<double> elapsed_us(const NamedFlow& flow) {
  if (flow.result->bytes == 0) return std::nullopt;
  return us(flow.result->ended - flow.result->started);
}

const FigureTable& NamedFlow::figures() {
  using Row = FigureOf<NamedFlow>;
  static constexpr Figure kRows[] = {
      Row::of<&NamedFlow::from>("from", "Host that sends."),
      Row::of<&NamedFlow::to>("to", "Host that receives."),
      Row::of<[](const NamedFlow& f) { return f.result->bytes; }>(
          "bytes", "Payload that was completed.", Unit::bytes),
      Row::of<&NamedFlow::gbps>("goodput_gbps", kGoodputMeaning, Unit::gbps),
      Row::of<[](const NamedFlow& f) { return f.result->finished; }>(
          "finished", "True if all its messages were completed."),
      Row::of<&elapsed_us>("elapsed_us",
                           "From its start to its last completion; absent: nothing was completed.",
                           Unit::us)
          .if_any(),
      Row::of<&latency_us<&sim::MessageTimes::p50_us>>(
          "latency_p50_us",
          "Median time from post to completion of a message, after the warm-up; absent with a "
          "load.",
          Unit::us)
          .if_any(),
      Row::of<&latency_us<&sim::MessageTimes::p99_us>>("latency_p99_us", "99th percentile of that.",
                                                       Unit::us)
          .if_any(),
      Row::of<&latency_us<&sim::MessageTimes::most_us>>("latency_most_us", "Longest of these.",
                                                        Unit::us)
          .if_any()};
  static constexpr FigureTable kTable{"What a QP sent.", kRows};
  return kTable;
}

const FigureTable& size_figures() {
  using Row = FigureOf<SizeResult>;
  static constexpr Figure kRows[] = {
      Row::of<&SizeResult::bytes>("bytes", "Size of the flows.", Unit::bytes),
      Row::of<&SizeResult::flows>("flows", "Number of flows that ended."),
      Row::of<&SizeResult::mean_us>("mean_us", "Mean completion time.", Unit::us),
      Row::of<&SizeResult::p50_us>("p50_us", "Median completion time.", Unit::us),
      Row::of<&SizeResult::p99_us>("p99_us", "99th percentile of the completion time.", Unit::us),
      Row::of<&SizeResult::most_us>("most_us", "Longest completion time.", Unit::us),
      Row::of<&SizeResult::mean_slowdown>(
          "mean_slowdown", "Mean of completion time over the time alone in the network."),
      Row::of<&SizeResult::p99_slowdown>("p99_slowdown", "99th percentile of that.")};
  static constexpr FigureTable kTable{"Completion times of flows of one size.", kRows};
  return kTable;
}

std::vector<Port> ports_of(const NetworkReport& report) {
  std::vector<Port> ports;
  const std::vector<std::string> names = report.port_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    ports.push_back({names[i], &report.result.ports[i]});
  return ports;
}

std::vector<NamedFlow> flows_of(const NetworkReport& report) {
  constexpr std::size_t kMost = 10'000;  // more are in `sizes` only
  std::vector<NamedFlow> flows;
  const NetworkResult& result = report.result;
  for (std::size_t i = 0; i < std::min(kMost, result.flows.size()); ++i) {
    const FlowResult& flow = result.flows[i];
    NamedFlow& added = flows.emplace_back(NamedFlow{
        report.file.topology.name(flow.from), report.file.topology.name(flow.to), &flow, {}, {}});
    if (i < result.flow_bps.size()) added.gbps = result.flow_bps[i] / 1e9;
    if (i < result.flow_latency.size()) added.latency = result.flow_latency[i];
  }
  return flows;
}

std::string_view failure_of(const NetworkReport& report) {
  const auto& failure = report.result.failure;
  return failure ? transport::name_of(failure->status) : std::string_view{};
}

std::string failure_text_of(const NetworkReport& report) {
  const auto& failure = report.result.failure;
  return failure_text(report.result.failed, failure,
                      failure ? report.file.topology.name(failure->host) : std::string());
}

std::optional<double> least_gbps(const NetworkReport& report) {
  const auto& rates = report.result.flow_bps;
  if (rates.empty()) return std::nullopt;
  return *std::ranges::min_element(rates) / 1e9;
}
std::optional<double> most_gbps(const NetworkReport& report) {
  const auto& rates = report.result.flow_bps;
  if (rates.empty()) return std::nullopt;
  return *std::ranges::max_element(rates) / 1e9;
}

/// A deadlock with names.
struct NamedDeadlock {
  std::vector<std::string> ports;
  Instant since;

  static const FigureTable& figures();
};

const FigureTable& NamedDeadlock::figures() {
  using Row = FigureOf<NamedDeadlock>;
  static constexpr Figure kRows[] = {
      Row::of<&NamedDeadlock::ports>("ports",
                                     "Ports of the cycle: each waits for the next one, the last "
                                     "one for the first."),
      Row::of<[](const NamedDeadlock& d) { return us(d.since - Instant{}); }>(
          "since_us", "Virtual time since which none of them has sent a frame.", Unit::us)};
  static constexpr FigureTable kTable{"A PFC deadlock of the run.", kRows};
  return kTable;
}

std::vector<NamedDeadlock> deadlocks_of(const NetworkReport& report) {
  std::vector<NamedDeadlock> named;
  const std::vector<std::string> names = report.port_names();
  for (const sim::DeadlockResult& deadlock : report.result.deadlocks) {
    NamedDeadlock& added = named.emplace_back(NamedDeadlock{{}, deadlock.since});
    for (const std::uint32_t port : deadlock.ports) added.ports.push_back(names[port]);
  }
  return named;
}

double longest_us(const NetworkReport& report) {
  double most = 0;
  for (const SizeResult& size : report.result.sizes) most = std::max(most, size.most_us);
  return most;
}

}  // namespace

std::vector<std::string> NetworkReport::port_names() const {
  const std::vector<std::string> suffixes = sim::cable_suffixes(file.topology);
  std::vector<std::string> names;
  for (const PortResult& port : result.ports)
    names.push_back(fmt::format("{}->{}{}", file.topology.name(port.node),
                                file.topology.name(port.to), suffixes[port.cable]));
  return names;
}

std::uint64_t NetworkReport::peak_queue() const noexcept {
  std::uint64_t most = 0;
  for (const PortResult& port : result.ports) most = std::max(most, port.late.most_bytes);
  return most;
}

const FigureTable& NetworkReport::figures() {
  using R = NetworkReport;
  using Row = FigureOf<NetworkReport>;
  static constexpr Figure kRows[] = {
      Row::of<[](const R& r) -> const std::string& { return r.file.name; }>(
          "network", "Name of the network's file."),
      Row::of<[](const R& r) { return pattern_of(r.config.workload); }>(
          "pattern", "Who sends to whom; flows: as [[flow]] says.")
          .among(kPatternNames),
      Row::of<[](const R& r) { return r.file.topology.hosts.size(); }>("hosts", "Number of hosts."),
      Row::of<[](const R& r) { return r.file.topology.switches.size(); }>("switches",
                                                                          "Number of switches."),
      Row::of<[](const R& r) { return r.config.perf.path.seed; }>("seed", "Of all random numbers."),
      Row::of<[](const R& r) { return us(r.result.elapsed); }>("elapsed_us", "Virtual time.",
                                                               Unit::us),
      Row::of<[](const R& r) { return r.result.flows.size(); }>("flow_count", "Number of flows."),
      Row::of<[](const R& r) { return r.result.total_bps / 1e9; }>("total_gbps", kGoodputMeaning,
                                                                   Unit::gbps),
      Row::of<[](const R& r) { return r.result.fairness(); }>(
          "fairness",
          "Jain's index of the QPs' rates: 1 when all are equal; null with a load, where each flow "
          "is one message.")
          .or_null(),
      Row::of<&least_gbps>("slowest_flow_gbps", "Rate of the slowest QP; null with a load.",
                           Unit::gbps)
          .or_null(),
      Row::of<&most_gbps>("fastest_flow_gbps", "Rate of the fastest QP; null with a load.",
                          Unit::gbps)
          .or_null(),
      Row::of<&longest_us>("longest_flow_us", "Longest completion time of a flow that ended.",
                           Unit::us),
      Row::of<[](const R& r) { return r.result.packets; }>("packets", "Packets that hosts sent."),
      Row::of<[](const R& r) { return r.result.retransmitted; }>("retransmitted",
                                                                 "Of these, again."),
      Row::of<[](const R& r) { return r.result.timeouts; }>("timeouts", "Expired timers."),
      Row::of<[](const R& r) { return r.result.failed; }>("failed", "Failed work requests."),
      Row::of<&failure_of>("failure", "Status of the first of them; absent without one.").if_any(),
      Row::of<[](const R& r) { return r.result.cnps; }>("cnps", "CNPs that hosts sent."),
      Row::of<[](const R& r) { return r.result.marked(); }>("marked",
                                                            "Packets marked by switches."),
      Row::of<[](const R& r) { return r.result.dropped(); }>("dropped",
                                                             "Packets dropped by switches."),
      Row::of<[](const R& r) { return r.result.late_dropped(); }>("dropped_late",
                                                                  "Of these, after the warm-up."),
      Row::of<&NetworkReport::peak_queue>(
          "peak_queue_bytes", "Largest queue of all ports, after the warm-up.", Unit::bytes),
      Row::of<[](const R& r) { return us(r.result.hosts_paused); }>(
          "hosts_paused_us", "Time for which switches paused hosts, sum of all hosts.", Unit::us),
      Row::of<&deadlocks_of>("deadlocks", "PFC deadlocks of the run, each once."),
      Row::of<[](const R& r) { return r.result.stopped; }>("incomplete", kIncompleteMeaning)
          .if_any(),
      Row::of<[](const R& r) -> const auto& { return r.jobs; }>("jobs", "Jobs of the network."),
      Row::of<[](const R& r) -> const auto& { return r.file.topology.switches; }>(
          "switch_settings", "Settings of each switch: times in ns, rates in bits per second."),
      Row::of<[](const R& r) -> const auto& { return r.config.workload.sendings; }>(
          "sendings", "What hosts send, as the network's file says."),
      Row::of<&ports_of>("ports", "Output ports of switches."),
      Row::list_with_table<[](const R& r) -> const auto& { return r.result.sizes; }, size_figures>(
          "sizes", "Completion times by size, of flows that ended."),
      Row::of<&flows_of>("flows", "What each QP or flow did; the first 10,000.")};
  static constexpr FigureTable kTable{"A simulated run on a network.", kRows};
  return kTable;
}

const JsonOutput kNetworkOutput{.name = "perf_network",
                                .title = "roce-gen sim --network FILE --json",
                                .figures = &NetworkReport::figures,
                                .judged = true,
                                .version = 3};

namespace {

/// That of the QP whose 99th percentile is the longest; nothing if no message was completed.
std::optional<sim::MessageTimes> worst_latency(const NetworkResult& result) {
  const auto worst = std::ranges::max_element(result.flow_latency, {}, &sim::MessageTimes::p99_us);
  if (worst == result.flow_latency.end() || worst->messages == 0) return std::nullopt;
  return *worst;
}

std::string whole_text(const NetworkReport& r) {
  const NetworkResult& result = r.result;
  std::string text = fmt::format(
      "{}: {}, {}, {} of virtual time, {}\n", r.file.title,
      counted(r.file.topology.hosts.size(), "host"),
      counted(r.file.topology.switches.size(), "switch"), format_duration(result.elapsed),
      result.flows.empty() ? counted(r.jobs.size(), "job") : counted(result.flows.size(), "flow"));
  text += fmt::format("  goodput      {:.2f} Gb/s after {}", result.total_bps / 1e9,
                      format_set_duration(r.config.warm_up));
  if (!result.flow_bps.empty())
    text += fmt::format(", {:.3f} to {:.3f} Gb/s a QP", *least_gbps(r), *most_gbps(r));
  if (const auto fairness = result.fairness()) text += fmt::format(", fairness {:.4f}", *fairness);
  text += "\n";
  if (const auto latency = worst_latency(result))
    text += fmt::format(
        "  latency      messages of the slowest QP: p50 {:.1f} us, p99 {:.1f} us, at most {:.1f} "
        "us\n",
        latency->p50_us, latency->p99_us, latency->most_us);
  text += fmt::format("  packets      {}, {} retransmitted, {} timeouts, {} CNPs\n", result.packets,
                      result.retransmitted, result.timeouts, result.cnps);
  text += fmt::format("  switches     {} marked, {} dropped ({} after {}), largest queue {}\n",
                      result.marked(), result.dropped(), result.late_dropped(),
                      format_set_duration(r.config.warm_up),
                      format_bytes(static_cast<double>(r.peak_queue())));
  if (result.hosts_paused > Duration{})
    text += fmt::format("  hosts paused {} in all\n", format_duration(result.hosts_paused));
  return text;
}

std::string ports_text(const NetworkReport& r) {
  constexpr std::size_t kMost = 40;
  using enum report::Align;
  report::TextTable table({{"port", left},
                           {"used[%]", right},
                           {"queue mean", right},
                           {"most", right},
                           {"marked", right},
                           {"dropped", right},
                           {"pauses", right},
                           {"paused[us]", right}});
  std::vector<Port> ports = ports_of(r);
  std::ranges::stable_sort(ports, std::greater{},
                           [](const Port& p) { return p.result->utilization; });
  for (std::size_t i = 0; i < std::min(kMost, ports.size()); ++i) {
    const PortResult& p = *ports[i].result;
    table.add_row({ports[i].name, fmt::format("{:.2f}", 100 * p.utilization),
                   format_bytes(p.mean_bytes), format_bytes(static_cast<double>(p.late.most_bytes)),
                   std::to_string(p.all.marked), std::to_string(p.all.dropped),
                   std::to_string(p.all.pauses_sent), fmt::format("{:.1f}", us(p.all.paused))});
  }
  std::string text = table.to_string(2);
  if (ports.size() > kMost)
    text += fmt::format("  {} further ports, less used: --json has them\n", ports.size() - kMost);
  return text;
}

std::string sizes_text(const NetworkReport& r) {
  if (r.result.sizes.empty()) return {};
  using enum report::Align;
  report::TextTable table({{"#bytes", right},
                           {"flows", right},
                           {"mean[us]", right},
                           {"p50[us]", right},
                           {"p99[us]", right},
                           {"most[us]", right},
                           {"slowdown mean", right},
                           {"p99", right}});
  for (const SizeResult& s : r.result.sizes)
    table.add_row({std::to_string(s.bytes), std::to_string(s.flows),
                   fmt::format("{:.2f}", s.mean_us), fmt::format("{:.2f}", s.p50_us),
                   fmt::format("{:.2f}", s.p99_us), fmt::format("{:.2f}", s.most_us),
                   fmt::format("{:.2f}", s.mean_slowdown), fmt::format("{:.2f}", s.p99_slowdown)});
  return table.to_string(2);
}

}  // namespace

std::string network_text(const NetworkReport& r) {
  std::string text = whole_text(r) + "\n";
  if (const std::string jobs = jobs_text(r.jobs); !jobs.empty()) text += jobs + "\n";
  text += ports_text(r);
  if (const std::string sizes = sizes_text(r); !sizes.empty()) text += "\n" + sizes;
  return text;
}

namespace {

report::Json sample_of(const sim::PortSample& s, const std::string& port) {
  return {{"time_ms", static_cast<double>(to_ns(s.at)) / 1e6},
          {"port", port},
          {"utilization", s.utilization},
          {"queue_bytes", s.most_bytes},
          {"marked", s.marked},
          {"dropped", s.dropped},
          {"paused_us", us(s.paused)}};
}

}  // namespace

report::Json network_values(const NetworkReport& r) {
  report::Json json = report::json_of(NetworkReport::figures(), &r);
  report::Json& samples = json["ports_over_time"] = report::Json::array();
  const std::vector<std::string> names = r.port_names();
  for (const sim::PortSample& sample : r.result.samples)
    samples.push_back(sample_of(sample, names[sample.port]));
  return json;
}

report::Json network_names() {
  report::Json names;
  for (const Figure& row : NetworkReport::figures().rows) names[std::string(row.name)] = nullptr;
  names["ports_over_time"] = {sample_of({}, "")};
  return names;
}

namespace {

/// The ports that were paused for longest: where nothing moves, who waits for whom.
std::string paused_text(const NetworkReport& r) {
  constexpr std::size_t kMost = 3;
  std::vector<Port> ports = ports_of(r);
  std::erase_if(ports, [](const Port& port) { return port.result->all.paused == Duration{}; });
  std::ranges::stable_sort(ports, std::greater{},
                           [](const Port& port) { return port.result->all.paused; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, ports.size()); ++i)
    text += fmt::format("{}{} was paused for {} of {}", i == 0 ? "" : ", ", ports[i].name,
                        format_duration(ports[i].result->all.paused),
                        format_duration(r.result.elapsed));
  return text;
}

/// The ports of each deadlock, in the order in which they wait.
std::string deadlock_text(const NetworkReport& r) {
  if (r.result.deadlocks.empty()) return "no ports wait for each other for ever";
  std::string text;
  for (const NamedDeadlock& each : deadlocks_of(r))
    text += fmt::format("{}PFC deadlock since {}: {} wait for each other in this order",
                        text.empty() ? "" : "; ", format_duration(each.since - Instant{}),
                        fmt::join(each.ports, ", "));
  return text;
}

std::string stuck_text(const NetworkReport& r) {
  if (const std::string paused = paused_text(r); !paused.empty()) return paused;
  return fmt::format("{} dropped, {}", format_count(r.result.dropped(), "packet"),
                     format_count(r.result.timeouts, "timeout"));
}

}  // namespace

void observe_network(Judge& judge, const NetworkReport& r) {
  const double bps = r.result.total_bps;
  judge.add({.name = "goodput",
             .value = bps,
             .text = bps > 0 ? fmt::format("goodput {}", format_bit_rate(bps))
                             : fmt::format("no payload was completed after {}",
                                           format_set_duration(r.config.warm_up)),
             .count = r.result.flows.size() + r.jobs.size(),
             .broken = stuck_text(r)});
  judge.add({.name = "failed",
             .value = static_cast<double>(r.result.failed),
             .text = r.result.failed == 0 ? "no work request failed" : failure_text_of(r),
             .count = r.result.flows.size() + r.jobs.size()});
  judge.add({.name = "deadlock",
             .value = static_cast<double>(r.result.deadlocks.size()),
             .text = deadlock_text(r),
             .count = r.result.ports.size()});
  observe_jobs(judge, r.jobs, r.result);
  judge.add({.name = "reached",
             .value = r.result.stopped ? 0 : 1,
             .text = fmt::format("{} of virtual time", format_duration(r.result.elapsed)),
             .count = r.result.flows.size() + r.jobs.size(),
             .broken = "a signal ended the run: the results are incomplete"});
}

report::RunRows page_rows(const NetworkReport& r) {
  return {.requested = {{"work requests that failed", "0", format_count(r.result.failed),
                         r.result.failed == 0}}};
}

std::string network_csv(const NetworkReport& r) {
  std::string text = "time_ms,port,utilization,queue_bytes,marked,dropped,paused_us\n";
  const std::vector<std::string> names = r.port_names();
  for (const sim::PortSample& s : r.result.samples)
    text +=
        fmt::format("{:.3f},{},{:.5f},{},{},{},{:.3f}\n", static_cast<double>(to_ns(s.at)) / 1e6,
                    names[s.port], s.utilization, s.most_bytes, s.marked, s.dropped, us(s.paused));
  return text;
}

}  // namespace lw::gen
