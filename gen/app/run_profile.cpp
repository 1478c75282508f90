// SPDX-License-Identifier: BSD-3-Clause
#include "gen/app/run_profile.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "config/flow/profile.h"
#include "core/quantity.h"
#include "gen/app/port_run.h"
#include "gen/app/receiver.h"
#include "gen/app/report_link.h"
#include "gen/arp/neighbor_table.h"
#include "gen/ranks/companions.h"
#include "gen/report/run_report.h"
#include "gen/tx/capture_run.h"
#include "nic/clock.h"
#include "wire/signature.h"

namespace lw::gen {
namespace {

/// Error: a flow is endless and the run has no limit. A run into a file must end.
Result<void> check_it_ends(const config::FlowProfile& profile, const RunOptions& options) {
  const bool limited = options.limits.duration || options.limits.count != Limits{}.count;
  const auto endless = std::ranges::find_if(
      profile.flows, [](const config::Flow& flow) { return !flow.repeat && !flow.stop_after; });
  if (limited || endless == profile.flows.end()) return {};
  return fail(
      fmt::format("flow \"{}\" repeats forever: a run into a file needs its stop_after, --count or "
                  "--duration as well",
                  endless->name));
}

/// Error: a flow resolves its next hop, which needs a port for ARP.
Result<void> check_next_hops(const config::FlowProfile& profile) {
  const auto asks = std::ranges::find_if(profile.flows, &config::Flow::resolve_mac);
  if (asks == profile.flows.end()) return {};
  return fail(
      fmt::format("flow \"{}\" resolves its destination_mac (\"arp\"): a run "
                  "into a file needs the address itself, or --port",
                  asks->name));
}

constexpr Duration kRunLinkTimeout = std::chrono::seconds(30);
constexpr Duration kMissingFramesTimeout = std::chrono::milliseconds(500);

/// Returns the sending ports, then the other receiving ports.
std::vector<std::string> all_names(const RunOptions& options) {
  std::vector<std::string> names = options.ports;
  for (const std::string& name : options.receive) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<nic::Port*> receivers_of(Ports& ports, const RunOptions& options) {
  const std::vector<std::string> names = all_names(options);
  std::vector<nic::Port*> receivers;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool listens = std::ranges::find(options.receive, names[i]) != options.receive.end();
    if (listens) receivers.push_back(&ports.all()[i]);
  }
  return receivers;
}

Result<void> wait_links(Ports& ports, const RunOptions& options) {
  if (!ports.eal().has_hugepages()) fmt::print(stderr, "{}\n", ports.eal().notice());
  auto up = ports.wait_links(options.link_timeout.value_or(kRunLinkTimeout), *options.limits.stop);
  // If a signal ended the wait, the report has no frames.
  return options.limits.stopped() ? Result<void>{} : up;
}

/// Error: the flows need more than the link rate of a port.
Result<void> check_links(const config::FlowProfile& profile, std::span<const nic::Port> senders) {
  for (std::size_t i = 0; i < senders.size(); ++i) {
    const auto link_bps = senders[i].link_bps();
    if (!link_bps) continue;
    const auto demand = config::link_demand(profile.flows, i, senders.size());
    if (!config::exceeds(demand, *link_bps)) continue;
    return fail(fmt::format("port `{}` has a link of {}, and its flows want {} = {} on the wire",
                            senders[i].name(), format_bit_rate(*link_bps), demand.parts,
                            format_bit_rate(demand.wire_bits)));
  }
  return {};
}

/// Returns the texts of the live page about the run.
LiveSubject live_subject(const config::FlowProfile& profile, const RunOptions& options) {
  LiveSubject subject{.command = "run",
                      .title = profile.name,
                      .send = options.ports,
                      .receive = options.receive,
                      .asked = {}};
  for (const config::Flow& flow : profile.flows)
    if (flow.qp == 0) subject.asked.emplace_back(flow.name, asked_rate(flow));
  return subject;
}

/// Error: an output is also an input or another output.
Result<void> check_files(const RunOptions& options) {
  std::vector<NamedFile> inputs = {
      {"PROFILE", options.profile},
      {"--web-token-file", options.choices.progress.web.token_file.value_or("")}};
  std::vector<NamedFile> outputs = {{"--pcap", options.pcap, true},
                                    {"--series", options.choices.progress.series},
                                    {"--histogram", options.choices.histogram},
                                    {"--report-to", report_file(options.report_to)},
                                    {"--rank-reports", options.rank_reports},
                                    options.verdicts.junit(),
                                    options.html.file()};
  for (const std::string& name : all_names(options)) nic::add_files(name, inputs, outputs);
  return check_outputs(inputs, outputs);
}

}  // namespace

void fit_length(config::FlowProfile& profile, const Limits& limits) {
  if (!limits.duration && limits.count == Limits::kAll) return;
  for (config::Flow& flow : profile.flows)
    if (!flow.counted) flow.repeat = std::nullopt;
}

Result<RunReport> run_to_file(const config::FlowProfile& profile, const RunOptions& options) {
  if (const auto apart = check_files(options); !apart) return std::unexpected(apart.error());
  if (const auto ends = check_it_ends(profile, options); !ends) {
    return std::unexpected(ends.error());
  }
  if (const auto known = check_next_hops(profile); !known) return std::unexpected(known.error());
  auto writer = capture::Writer::create(options.pcap, {.format = capture::format_for(options.pcap),
                                                       .mode = OutputFile::Mode::whole,
                                                       .rotation = options.rotation});
  if (!writer) return std::unexpected(writer.error());
  config::FlowProfile marked = profile;
  for (config::Flow& flow : marked.flows) flow.origin.clock = wire::ClockId::kVirtual;
  TxScheduler scheduler(marked, options.seed);
  auto report = run_into_capture(profile, scheduler, *writer, options.limits);
  if (report) report_at_end(writer->close());
  return report;
}

namespace {

/// The capture of what is sent; none unless it is asked for.
Result<std::optional<capture::Writer>> open_copy(const RunOptions& options) {
  if (options.pcap.empty()) return std::nullopt;
  auto writer = capture::Writer::create(
      options.pcap, {.format = capture::format_for(options.pcap), .rotation = options.rotation});
  if (!writer) return std::unexpected(writer.error());
  return std::optional(std::move(*writer));
}

/// Waits for the links. Error: a port does not take the profile's frames or rates.
Result<void> check_ports(const config::FlowProfile& profile, Ports& ports,
                         std::span<const nic::Port> senders, const RunOptions& options) {
  if (auto fits = check_mtus(profile, senders); !fits) return fits;
  if (auto up = wait_links(ports, options); !up) return up;
  return check_links(profile, senders);
}

/// The device that the flows of --peer go to; none without --peer. It sets their QPs.
Result<std::optional<DeviceFlows>> open_device(const RunOptions& options,
                                               config::FlowProfile& flows, std::uint64_t seed,
                                               const std::function<void()>& meanwhile) {
  if (options.peer.empty()) return std::nullopt;
  auto opened =
      DeviceFlows::open(options.peer, options.token, flows, seed, *options.limits.stop, meanwhile);
  if (!opened) return std::unexpected(opened.error());
  return std::optional(std::move(*opened));
}

/// What a run agrees on with its companions before the first frame; alone, its number.
Result<Companions::Start> agree(const RunOptions& options, nic::StampClock& clock,
                                const std::function<void()>& meanwhile) {
  if (options.companions != nullptr) return options.companions->start(clock, meanwhile);
  return Companions::Start{.at = {}, .run = new_run()};
}

}  // namespace

Result<RunReport> run_to_ports(const config::FlowProfile& profile, const RunOptions& options,
                               Measurement* measurement, std::optional<handover::Report>& device) {
  if (const auto apart = check_files(options); !apart) return std::unexpected(apart.error());
  auto copy = open_copy(options);
  if (!copy) return std::unexpected(copy.error());
  auto display = ProgressDisplay::open(options.choices.progress, live_subject(profile, options));
  if (!display) return std::unexpected(display.error());
  auto ports = Ports::open(all_names(options), options.verbose,
                           {.port = {}, .sends_flows = true, .cores = options.cores});
  if (!ports) return std::unexpected(ports.error());
  const std::span<nic::Port> senders = std::span(ports->all()).first(options.ports.size());
  if (auto fits = check_ports(profile, *ports, senders, options); !fits)
    return std::unexpected(fits.error());
  auto clock = nic::StampClock::open(options.clock, &ports->all().front());
  if (!clock) return std::unexpected(clock.error());
  config::FlowProfile resolved = profile;
  if (!options.peer.empty())
    for (config::Flow& flow : resolved.flows) flow.resolve_mac = true;
  NeighborTable neighbors(resolved, senders, ports->pool());
  const auto answer_arp = [&neighbors] { neighbors.poll(); };
  auto flows = open_device(options, resolved, options.seed.value_or(profile.seed), answer_arp);
  if (!flows) return std::unexpected(flows.error());
  if (auto found = neighbors.resolve(resolved, options.limits); !found)
    return std::unexpected(found.error());
  const auto start = agree(options, *clock, answer_arp);
  if (!start) return std::unexpected(start.error());
  const config::Origin origin{.run = start->run, .clock = clock->id()};
  for (config::Flow& flow : resolved.flows) flow.origin = origin;
  if (measurement != nullptr) measurement->set_clock(clock->id());
  BackgroundTasks background(neighbors, receivers_of(*ports, options), measurement, *display,
                             names_in(resolved), ports->all(), &*clock);
  if (options.companions != nullptr) background.join(*options.companions);
  auto report = run_through_ports(
      {.profile = resolved,
       .ports = senders,
       .buffers = ports->send_buffers(),
       .limits = options.limits,
       .copy = *copy ? &**copy : nullptr,
       .seed = options.seed,
       .cores = options.cores,
       .clock = &*clock,
       .start = options.companions != nullptr ? std::optional(start->at) : std::nullopt},
      background);
  if (!report) return report;
  if (options.companions != nullptr)
    options.companions->sent(report->total().frames, report->interrupted);
  report->run = origin.run;
  report->clock = clock->name();
  const SentSoFar sent{report->flows, PacingSoFar(report->audit.pacing_error)};
  auto finished = background.finish(sent, options.timeout.value_or(kMissingFramesTimeout),
                                    *options.limits.stop);
  if (!finished) return std::unexpected(finished.error());
  for (OwnLoss& loss : background.losses(nic::now())) {
    report->missed += loss.lost;
    report->machine.losses.push_back(std::move(loss));
  }
  if (options.companions != nullptr) options.companions->end(answer_arp);
  if (!background.listens()) ports->drain();
  if (*copy) report_at_end((*copy)->close());
  if (*flows) {
    auto received = (*flows)->finish(*report, *options.limits.stop, answer_arp);
    if (!received) return std::unexpected(received.error());
    device = std::move(*received);
  }
  return report;
}

}  // namespace lw::gen
