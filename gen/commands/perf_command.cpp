// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/perf_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/stop_signal.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/perf_ranks.h"
#include "gen/perf/cm/rping.h"
#include "gen/perf/report/perf_files.h"

namespace lw::gen {
namespace {

constexpr const char* kPerfExamples =
    R"(roce-gen perf --port memif:/tmp/lw.sock --peer 198.18.0.2 --pattern lat --op write -s 64
roce-gen perf --port eth1 --address 192.0.2.1 --peer 192.0.2.2:18515 --token TOKEN --op write
mpirun -n 9 --hostfile hosts roce-gen perf --pattern incast --port eth1 --op write -q 4
roce-gen perf --port eth1 --address 192.0.2.1 --cm 192.0.2.2:7174 -n 100 -s 64
roce-gen perf --port eth1 --peer 198.18.0.2 -- ib_send_lat -d mlx5_2 -R -s 64 -F)";

constexpr const char* kPerfNotes =
    R"(Without a port, `roce-gen sim` simulates both hosts and the path between them.
A line of perftest may follow --, from its program's name on. Its options keep their meaning and
their defaults, are ignored with a note on stderr, or are refused with the reason.)";

constexpr std::uint32_t kRpingSize = 64;  // rping's default, in bytes

/// Returns what was checked, where that is not all.
std::string verified_line(Verify verify) {
  if (verify == Verify::all) return {};
  return fmt::format("Checked: each packet's ICRC and each message's length; the bytes of {}\n",
                     verify == Verify::sampled ? "one message in 16" : "no message");
}

/// Warns of packets that only our own responder takes, and makes room for them.
void warn_of_payload(PerfCommand& command) {
  const std::uint32_t payload = command.config().qp.mtu;
  command.endpoint.packet_payload = std::max(command.endpoint.packet_payload, payload);
  if (transport::is_path_mtu(payload)) return;
  fmt::print(stderr,
             "warning: --packet-payload {}: real responders refuse FIRST and MIDDLE packets of "
             "another size than the path MTU\n",
             payload);
}

Result<void> run_live(PerfCommand& command, const perf::PerfConfig& config,
                      const std::atomic<bool>& stop) {
  auto series = PerfSeries::open(command.series);
  if (!series) return std::unexpected(series.error());
  const auto run = [&](const PerfMeasure& measure) {
    return run_repeatedly(command, config, measure, stop);
  };
  warn_of_payload(command);
  command.close_files = [&] { report_at_end(series->close()); };
  IntervalReport intervals(command.interval, command.json);
  auto ran = run_in_real_time(command.endpoint, command.peer, command.latency(), *series, intervals,
                              stop, run);
  if (const auto close = std::exchange(command.close_files, {})) close();
  if (ran && !command.json) print_report(verified_line(command.peer.verify));
  return ran;
}

/// Error: an output is also an input or another output.
Result<void> check_perf_files(const PerfCommand& command) {
  std::vector<NamedFile> inputs = {{"--data", command.data}};
  std::vector<NamedFile> outputs = {{"--pcap", command.pcap, true},
                                    {"--series", command.series},
                                    command.verdicts.junit(),
                                    command.html.file()};
  nic::add_files(command.endpoint.port, inputs, outputs);
  return check_outputs(inputs, outputs);
}

/// Reads the file that the messages carry, and sets their number.
Result<void> read_data(PerfCommand& command, perf::PerfConfig& config) {
  if (command.data.empty()) return {};
  constexpr std::uint64_t kMost = 1u << 30;  // the data is in memory three times
  note_input(command.data);
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(command.data, error);
  if (error) return refuse("--data", fmt::format("\"{}\": {}", command.data, error.message()));
  if (size == 0 || size > kMost)
    return refuse("--data",
                  fmt::format("\"{}\" has {} bytes: expected 1 to {}", command.data, size, kMost));
  command.peer.data.resize(size);
  std::ifstream file(command.data, std::ios::binary);
  file.read(reinterpret_cast<char*>(command.peer.data.data()), static_cast<std::streamsize>(size));
  if (!file) return refuse("--data", fmt::format("\"{}\" cannot be read", command.data));
  config.iterations = (size + config.size - 1) / config.size;
  return {};
}

/// Runs a sweep through a port that stays open.
ExitCode sweep_command(PerfCommand& command, const std::atomic<bool>& stop) {
  auto series = PerfSeries::open({});
  if (!series) return print_error(series.error());
  IntervalReport none;
  const auto ran = run_in_real_time(
      command.endpoint, command.peer, command.latency(), *series, none, stop,
      [&](const PerfMeasure& measure) {
        return sweep_over(command, "roce-gen perf through " + command.endpoint.port, measure, stop);
      });
  const ExitCode judged = command.of_sweep.finish(command.name);
  return ran ? judged : std::max(judged, print_error(ran.error()));
}

ExitCode perf(PerfCommand& command, const std::atomic<bool>& stop) {
  auto config = run_config_of(command);
  if (!config) return print_error(config.error());
  if (const auto apart = check_perf_files(command); !apart) return print_error(apart.error());
  if (const auto read = read_data(command, *config); !read) return print_error(read.error());
  if (!command.sweep.empty()) return sweep_command(command, stop);
  if (command.options.common())
    return perf_as_rank({.perf = command.options,
                         .endpoint = command.endpoint,
                         .verify = command.peer.verify,
                         .most_skew = command.most_skew,
                         .verdicts = command.verdicts,
                         .html = command.html,
                         .json = command.json},
                        *config, stop);
  const auto ran = run_live(command, *config, stop);
  for (report::Plot& plot : command.plots.plots()) command.html.add_plot(std::move(plot));
  command.html.add_port("--port", command.endpoint.port);
  if (!command.json) print_report(command.verdicts.all_text());
  const ExitCode expected = command.verdicts.finish(command.name);
  return std::max(expected, ran ? ExitCode::done : print_error(ran.error()));
}

/// Adds the options for a measurement through a port, in real time.
void add_port_options(app::Options& list, PerfCommand& options) {
  list.add("--port", app::text(options.endpoint.port), "PORT",
           "port to measure through, in real time");
  list.add("--peer", app::text(options.peer.ip), "IP|HOST:PORT",
           "address of `roce-gen respond`; or where `roce-endpoint serve` hands over the QPs of an "
           "RDMA device");
  list.add("--data", app::text(options.data), "FILE",
           "the messages carry this file, once, in place of a pattern");
  list.add("--verify",
           app::choice<Verify>(options.peer.verify, {kVerifyWords.begin(), kVerifyWords.end()}),
           "WHAT",
           "messages that both sides compare byte by byte: all, sampled (one in 16) or none; the "
           "ICRC of each packet is always checked");
  list.add("--token", app::text(options.peer.token), "T", "token of that roce-endpoint");
  list.add("--cm", app::text(options.peer.cm), "HOST:SERVICE",
           "instead of --peer: `rping -s` there, or another `respond --cm SERVICE`; measures whole "
           "pings");
  list.add("--peer-mac", app::text(options.peer.mac), "MAC",
           "MAC address of the responder, or of the gateway to it")
      .defaults_to("resolved");
  list.add("--start-skew", app::parsed(app::read_time, options.most_skew), "TIME",
           "under mpirun: largest time between the starts of the ranks, with the error of their "
           "clocks")
      .defaults_to("1ms");
  add_endpoint_options(list, options.endpoint);
}

}  // namespace

app::Command perf_command() {
  auto options = std::make_shared<PerfCommand>();
  options->name = "roce-gen perf";
  app::Command command{
      .name = "perf",
      .help = "Measure RDMA through a port as perftest does",
      .examples = kPerfExamples,
      .notes = kPerfNotes,
      .check =
          [options](const app::Given& given) {
            options->pings = !options->peer.cm.empty();
            if (options->pings && !given.has("--size")) options->options.config.size = kRpingSize;
            return check_usage(given, *options);
          },
      .run =
          [options] {
            options->endpoint.pcap = options->pcap;
            return perf(*options, stop_on_signals());
          },
  };
  app::Options& list = command.options;
  add_port_options(list, *options);
  add_transfer_options(list, options->options);
  add_transport_option(list, options->options.config.qp);
  list.add("--pcap", app::text(options->pcap), "FILE", "capture of what passes the port");
  add_perf_outputs(list, *options);
  add_run_options(list, options->options);
  add_parameter_option(list, options->options.config.qp.dcqcn, &options->options.parameters);
  return command;
}

}  // namespace lw::gen
