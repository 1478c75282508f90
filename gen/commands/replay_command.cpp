// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "gen/commands/commands.h"
#include "gen/commands/options.h"
#include "app/stop_signal.h"
#include "gen/replay/replay.h"

namespace lw::gen {
namespace {

constexpr const char* kFooter = R"(Examples:
  roce-gen replay captured.pcap --port eth1
  roce-gen replay captured.pcap --port eth1 --speed max --loop 10 --roce-only
  roce-gen replay captured.pcapng --pcap out.pcap --rate 10Gb/s
  roce-gen replay captured.pcap --port memif:/tmp/lw.sock --source 192.0.2.1 \
    --destination 192.0.2.2 --map-qp 0x11=0x22 --psn-offset 1000 --map-rkey 0x1234=0x5678

QPs, PSNs and rkeys may be decimal or hexadecimal. ICRCs and checksums are patched: those
that were wrong stay wrong.)";

constexpr Duration kLinkPatience = std::chrono::seconds(30);
constexpr std::uint32_t kLargestQp = 0xffffff, kLargestRkey = 0xffffffff;

Result<capture::Writer> open_capture(const ReplayOptions& options) {
  return capture::Writer::create(options.pcap, capture::format_for(options.pcap));
}

Result<ReplayReport> replay_to_file(const ReplayOptions& options) {
  auto source = ReplaySource::open(options, kLongestReplayed);
  if (!source) return std::unexpected(source.error());
  auto writer = open_capture(options);
  if (!writer) return std::unexpected(writer.error());
  auto report = replay_into_capture(*source, *writer, options.limits);
  if (!report) return report;
  if (const auto closed = writer->close(); !closed) return std::unexpected(closed.error());
  return report;
}

Result<ReplayReport> replay_to_port(const ReplayOptions& options) {
  auto source = ReplaySource::open(options, kLongestReplayed);
  if (!source) return std::unexpected(source.error());
  std::optional<capture::Writer> copy;
  if (!options.pcap.empty()) {
    auto writer = open_capture(options);
    if (!writer) return std::unexpected(writer.error());
    copy = std::move(*writer);
  }
  auto ports = Ports::open({options.port}, options.verbose);
  if (!ports) return std::unexpected(ports.error());
  if (!ports->eal().has_hugepages()) fmt::print(stderr, "{}\n", ports->eal().notice());
  if (auto up = ports->wait_links(kLinkPatience, *options.limits.stop); !up) {
    if (!options.limits.stopped()) return std::unexpected(up.error());
  }
  auto report = replay_through_port(*source, *ports, copy ? &*copy : nullptr, options.limits);
  if (!report) return report;
  ports->drain();
  if (copy) {
    if (const auto closed = copy->close(); !closed) return std::unexpected(closed.error());
  }
  return report;
}

ExitCode replay(const ReplayOptions& options) {
  const auto report = options.port.empty() ? replay_to_file(options) : replay_to_port(options);
  if (!report) return print_error(report.error());
  std::FILE* out = options.pcap == "-" ? stderr : stdout;
  fmt::print(out, "{}", options.json ? to_json(*report) : to_text(*report));
  return report->not_sent > 0 ? ExitCode::failed : ExitCode::done;
}

/// An option whose text `read` understands, or says why not; `take` gets what it understood.
template <class Read, class Take>
CLI::Option* add_parsed(CLI::App* command, const std::string& name, Read read, Take take,
                        const std::string& help) {
  const auto each = [name, read, take](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const auto value = read(text);
      if (!value) throw CLI::ValidationError(name, value.error());
      take(*value);
    }
    return true;
  };
  return command->add_option(name, each, help)->take_all()->allow_extra_args(false);
}

template <class T>
Parsed<T> or_sentence(std::optional<T> value, std::string_view what, std::string_view text) {
  if (value) return *value;
  return std::unexpected(fmt::format("expected {}, found \"{}\"", what, text));
}

Parsed<wire::MacAddress> read_mac(std::string_view text) {
  return or_sentence(wire::parse_mac(text), "a MAC address such as 02:00:00:00:00:01", text);
}

Parsed<wire::IpAddress> read_ip(std::string_view text) {
  return or_sentence(wire::parse_ip(text), "an IPv4 or IPv6 address", text);
}

void add_rewrite_options(CLI::App* command, roce::Rewrite& what) {
  const auto qps = [](std::string_view text) { return parse_mapping(text, kLargestQp); };
  const auto r_keys = [](std::string_view text) { return parse_mapping(text, kLargestRkey); };
  add_parsed(
      command, "--src-mac", read_mac, [&](auto mac) { what.source_mac = mac; },
      "Source MAC address of RoCE frames")
      ->type_name("MAC");
  add_parsed(
      command, "--dst-mac", read_mac, [&](auto mac) { what.destination_mac = mac; },
      "Destination MAC address of RoCE frames")
      ->type_name("MAC");
  add_parsed(
      command, "--source", read_ip, [&](auto ip) { what.source = ip; },
      "Source of RoCE frames of this family")
      ->type_name("IP");
  add_parsed(
      command, "--destination", read_ip, [&](auto ip) { what.destination = ip; },
      "Destination of RoCE frames of this family")
      ->type_name("IP");
  add_parsed(
      command, "--map-qp", qps, [&](Mapping m) { what.qps[m.from] = m.to; },
      "Another number for a QP; may be given again")
      ->type_name("OLD=NEW");
  add_parsed(
      command, "--map-rkey", r_keys, [&](Mapping m) { what.r_keys[m.from] = m.to; },
      "Another rkey; may be given again")
      ->type_name("OLD=NEW");
  const auto take_offset = [&](const PsnOffset& offset) {
    if (offset.qp) {
      what.psn_offset_of_qp[*offset.qp] = offset.offset;
    } else {
      what.psn_offset = offset.offset;
    }
  };
  add_parsed(command, "--psn-offset", parse_psn_offset, take_offset,
             "Added to all PSNs, or to those towards one QP (its captured number); may be given "
             "again")
      ->type_name("[QP=]N");
}

void add_pace_options(CLI::App* command, ReplayOptions& options) {
  CLI::Option* speed = add_parsed(
                           command, "--speed", parse_speed, [&](Speed s) { options.pace = s; },
                           "A multiple of the capture's pace, or max")
                           ->type_name("2x|0.5x|max");
  add_parsed(
      command, "--rate", config::parse_rate, [&](const config::Rate& rate) { options.pace = rate; },
      "In place of the capture's pace: 10Gb/s on the wire, or 100000frames/s")
      ->type_name("RATE")
      ->excludes(speed);
  command->add_option("--loop", options.loop, "Passes over the capture; 0: until stopped")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

void add_replay_command(CLI::App& program, Command& chosen) {
  CLI::App* command = program.add_subcommand("replay", "Send a capture again");
  auto options = std::make_shared<ReplayOptions>();
  command->add_option("capture", options->capture, "The capture; - is standard input")
      ->required()
      ->type_name("CAPTURE");
  command->add_option("--port", options->port, "Send the frames there, in real time")
      ->type_name("PORT");
  command
      ->add_option("--pcap", options->pcap,
                   "Write the frames into this file: at once, with the stamps at which they are "
                   "due; beside --port, as they were sent. - is standard output")
      ->type_name("OUT");
  add_pace_options(command, *options);
  add_rewrite_options(command, options->rewrite);
  command->add_flag("--roce-only", options->roce_only, "Leave out what is no RoCE");
  command->add_option("--count", options->limits.count, "Stop after so many frames")
      ->type_name("N")
      ->default_str("all");
  add_time_option(command, "--duration", options->limits.duration,
                  "Stop after that time: 10s, 500ms");
  command->add_flag("--json", options->json, "Report in one line of JSON");
  command->add_flag("--verbose", options->verbose, "Show what DPDK says");
  command->footer(kFooter);
  command->callback([&chosen, options] {
    if (options->pcap.empty() && options->port.empty()) {
      throw CLI::RequiredError("--pcap OUT or --port PORT");
    }
    const bool endless = options->loop == 0 && options->port.empty();
    if (endless && !options->limits.duration && options->limits.count == Limits{}.count) {
      throw CLI::ValidationError("--loop", "0 into a file needs --count or --duration as well");
    }
    options->limits.stop = &stop_on_signals();
    chosen = [options] { return replay(*options); };
  });
}

}  // namespace lw::gen
