// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/network_run.h"

#include <cmath>
#include <cstdio>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "app/profile_note.h"
#include "config/toml/profile_search.h"
#include "core/output.h"
#include "gen/network/job_drawing.h"
#include "gen/network/network_capture.h"
#include "gen/network/network_drawing.h"
#include "gen/network/network_report.h"
#include "gen/perf/report/perf_report.h"

namespace lw::gen {
namespace {

/// Shows on a terminal how much of the run is done.
sim::NetworkProgress progress_on(bool shown) {
  if (!shown) return {};
  return [last = -1](double share) mutable {
    const int percent = static_cast<int>(100 * share);
    if (percent == last) return;
    last = percent;
    std::fputs(fmt::format("\r{} % of the run", percent).c_str(), stderr);
    if (percent == 100) std::fputs("\r\x1b[K", stderr);
  };
}

/// Names the switches whose buffer one input may take from all others.
void say_shared_buffers(const sim::Topology& topology) {
  std::vector<std::string_view> names;
  for (const sim::SwitchConfig& each : topology.switches)
    if (each.pause && std::isinf(each.threshold())) names.push_back(each.name);
  if (names.empty()) return;
  fmt::print(
      stderr,
      "alpha = \"none\": {} switches, such as {}, pause with no threshold for each input: one "
      "may fill the whole buffer, and others wait\n",
      names.size(), names.front());
}

/// The capture that is asked for; null: none.
Result<std::optional<NetworkCapture>> capture_of(const NetworkOutputs& outputs,
                                                 const sim::Topology& topology) {
  if (outputs.pcap.empty()) return std::nullopt;
  auto capture = NetworkCapture::create(outputs.pcap, outputs.points, topology);
  if (!capture) return std::unexpected(capture.error());
  return std::move(*capture);
}

}  // namespace

ExitCode run_on_network(const NetworkOptions& options, const PerfOptions& perf,
                        NetworkOutputs outputs, const std::atomic<bool>& stop) {
  auto setup = network_run_of(options, perf);
  if (!setup) return print_error(setup.error());
  if (const auto apart =
          check_outputs({{"--network", options.network}}, {{"--series", outputs.series},
                                                           {"--pcap", outputs.pcap, true},
                                                           outputs.verdicts.junit(),
                                                           outputs.html.file()});
      !apart)
    return print_error(apart.error());
  app::say_profile(options.network, {config::kNetworkProfiles}, setup->file.title);
  say_path(perf);
  say_shared_buffers(setup->file.topology);
  setup->config.perf.stop = &stop;
  const bool shows = !outputs.json && isatty(STDERR_FILENO) != 0;
  auto capture = capture_of(outputs, setup->file.topology);
  if (!capture) return print_error(capture.error());
  const sim::NetworkHook hook = [&](sim::Network& network) {
    if (*capture) (*capture)->attach(network);
  };
  const sim::NetworkResult result = sim::run_network(setup->config, hook, progress_on(shows));
  const NetworkReport report{setup->file, setup->config, result,
                             compare_jobs(setup->config, result, progress_on(shows))};
  if (!outputs.series.empty()) report_at_end(write_file(outputs.series, network_csv(report)));
  if (*capture) report_at_end((*capture)->close());
  Judge judge = outputs.verdicts.judge();
  observe_network(judge, report);
  const std::string json = outputs.verdicts.judged(
      judge, outputs.json || outputs.html.wanted(),
      [&] { return report::json_line(kNetworkOutput, report); }, setup->file.name, &kNetworkOutput);
  outputs.html.add_report(json, kNetworkOutput, outputs.verdicts.last(), page_rows(report));
  outputs.html.add_drawing("The network, links coloured by use", network_svg(report));
  for (const JobReport& job : report.jobs)
    if (std::string svg = job_svg(job); !svg.empty())
      outputs.html.add_drawing(
          fmt::format("{}: first iteration, by rank and step", job.config.name), std::move(svg));
  if (auto plot = jobs_plot(report.jobs)) outputs.html.add_plot(std::move(*plot));
  for (report::Plot& plot : network_plots(report)) outputs.html.add_plot(std::move(plot));
  print_report(outputs.json ? json : outputs.verdicts.text() + network_text(report));
  if (*capture && (*capture)->further() > 0)
    fmt::print(stderr, "--pcap: the file has the first {} frames; {} further ones are not in it\n",
               NetworkCapture::kMostFrames, (*capture)->further());
  return outputs.verdicts.finish("roce-gen sim");
}

}  // namespace lw::gen
