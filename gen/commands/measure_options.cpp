// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/measure_options.h"

#include <charconv>

namespace lw::gen {
namespace {

/// Reads "all", "none", or N (one in N frames). Returns 1, 0 or N.
Parsed<std::uint32_t> read_icrc_sample(std::string_view text) {
  if (text == "all") return 1;
  if (text == "none") return 0;
  std::uint32_t every = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), every);
  if (error == std::errc{} && end == text.data() + text.size() && every > 0) return every;
  return std::unexpected("expected all, none, or N to check 1 in N, found \"" + std::string(text) +
                         "\"");
}

}  // namespace

Parsed<Duration> read_interval(std::string_view text) {
  const auto time = app::read_time(text);
  if (time && *time >= std::chrono::milliseconds(10)) return *time;
  return std::unexpected("expected a time of at least 10ms, found \"" + std::string(text) + "\"");
}

void add_progress_options(app::Options& options, ProgressOptions& progress) {
  options.add("--series", app::text(progress.series), "FILE",
              "CSV file for a time series: one row per flow and interval");
  options
      .add("--interval", app::parsed(read_interval, progress.interval), "TIME",
           "interval of the time series")
      .defaults_to("1s");
  options.add_flag("--quiet", progress.quiet, "show no progress on standard error");
  options.add_flag("--live", progress.live, report::kLiveHelp).excludes("--quiet");
  web::add_options(options, progress.web);
}

void add_measure_options(app::Options& options, MeasureChoices& choices) {
  options
      .add("--check-icrc", app::parsed(read_icrc_sample, choices.measure.icrc_every), "all|N|none",
           "frames whose ICRC is checked: all, 1 in N, or none")
      .defaults_to("all");
  options.add_flag("--join", choices.measure.join,
                   "join flows that have already started: count from the first frame received");
  options.add("--histogram", app::text(choices.histogram), "FILE",
              "CSV file for the latency histograms");
}

void add_limit_options(app::Options& options, Limits& limits) {
  options.add("--count", app::number(limits.count), "N", "stop after this number of frames")
      .defaults_to("all");
  options.add("--duration", app::parsed(app::read_time, limits.duration), "TIME",
              "stop after this time: 10s, 500ms");
}

void add_clock_option(app::Options& options, nic::ClockKind& clock) {
  options
      .add("--clock", app::parsed(nic::parse_clock, clock), "steady|tai|ptp",
           "clock of send and arrival times: the machine's own, CLOCK_TAI, or the PTP hardware "
           "clock of the first port; between two hosts both need tai or ptp")
      .defaults_to("steady");
}

void add_link_option(app::Options& options, std::optional<Duration>& timeout,
                     const std::string& usual) {
  options
      .add("--wait-link", app::parsed(app::read_time, timeout), "TIME",
           "longest wait for the links of the ports")
      .defaults_to(usual);
}

void add_pcap_option(app::Options& options, std::string& pcap) {
  options.add(
      "--pcap", app::text(pcap), "OUT",
      "capture file to write, with the times at which frames are due, or, with --port, were "
      "sent; - for standard output");
}

void add_set_option(app::Options& options, std::vector<std::string>& changes) {
  options.add("--set", app::repeated(changes), "KEY=VALUE",
              "change a key of a flow: FLOW.KEY=VALUE, for example 'web.rate=1Gb/s'; an empty "
              "value removes the key");
}

void add_report_options(app::Options& options, bool& json, bool& verbose) {
  options.add_flag("--json", json, "report in one line of JSON");
  options.add_flag("--verbose", verbose, "show DPDK's log");
}

}  // namespace lw::gen
