// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "app/html_report.h"
#include "app/stop_signal.h"
#include "app/verdicts.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/measure_options.h"
#include "gen/perf/options/endpoint_options.h"
#include "gen/questions.h"
#include "gen/replay/replay.h"
#include "gen/replay/replay_view.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

constexpr const char* kReplayExamples = R"(roce-gen replay captured.pcap --port eth1
roce-gen replay captured.pcap --port eth1 --speed max --loop 10 --roce-only
roce-gen replay captured.pcapng --pcap out.pcap --rate 10Gb/s
roce-gen replay captured.pcap --port memif:/tmp/lw.sock --source 10.0.0.1=192.0.2.1 \
  --destination 10.0.0.1=192.0.2.1 --map-qp 0x11=0x22 --psn-offset 1000 --map-rkey 0x1234=0x5678)";

constexpr const char* kReplayNotes =
    R"(QPs, PSNs and rkeys are decimal or hexadecimal. ICRCs and checksums are patched: wrong ones
stay wrong.)";

constexpr Duration kReplayLinkTimeout = std::chrono::seconds(30);
constexpr std::uint32_t kMostQpn = 0xffffff, kMostRkey = 0xffffffff;

Result<capture::Writer> open_capture(const ReplayOptions& options, OutputFile::Mode mode) {
  return capture::Writer::create(options.pcap, capture::format_for(options.pcap), {{}}, mode);
}

Result<ReplayReport> replay_to_file(const ReplayOptions& options) {
  auto source = ReplaySource::open(options, kLongestReplayed);
  if (!source) return std::unexpected(source.error());
  auto writer = open_capture(options, OutputFile::Mode::whole);
  if (!writer) return std::unexpected(writer.error());
  ReplayView view("roce-gen replay " + options.capture, options.live);
  auto report = replay_into_capture(*source, *writer, options.limits, view);
  if (report) view.finish(*report);
  if (report) report_at_end(writer->close());
  return report;
}

Result<ReplayReport> replay_to_port(const ReplayOptions& options) {
  auto source = ReplaySource::open(options, kLongestReplayed);
  if (!source) return std::unexpected(source.error());
  std::optional<capture::Writer> copy;
  if (!options.pcap.empty()) {
    auto writer = open_capture(options, OutputFile::Mode::growing);
    if (!writer) return std::unexpected(writer.error());
    copy = std::move(*writer);
  }
  ReplayView view("roce-gen replay " + options.capture, options.live);
  auto ports = Ports::open({options.port}, options.verbose);
  if (!ports) return std::unexpected(ports.error());
  if (const auto most = longest_sendable(ports->all().front(), 0); most && *most < kLongestReplayed)
    source->set_longest(*most);
  fmt::print(stderr, "{}", ports->eal().left_behind());
  if (!ports->eal().has_hugepages()) fmt::print(stderr, "{}\n", ports->eal().notice());
  if (auto up = ports->wait_links(kReplayLinkTimeout, *options.limits.stop); !up) {
    if (!options.limits.stopped()) return std::unexpected(up.error());
  }
  auto report = replay_through_port(*source, *ports, copy ? &*copy : nullptr, options.limits, view);
  if (!report) return report;
  view.finish(*report);
  ports->drain();
  if (copy) report_at_end(copy->close());
  return report;
}

/// Takes the class of the frames. Error (usage): a source port that only the sender of a connection
/// knows.
Result<void> take_class(const ClassOptions& given, ReplayOptions& options) {
  const auto traffic = load_class(given);
  if (!traffic) return std::unexpected(traffic.error());
  options.traffic = *traffic;
  options.rewrite.p_key = std::exchange(options.traffic.p_key, std::nullopt);
  const auto port = std::exchange(options.traffic.source_port, std::nullopt);
  if (!port) return {};
  if (port->by != roce::SourcePort::By::number)
    return fail("--source-port: expected a number: a capture does not say which QP sent a frame");
  options.rewrite.source_port = port->number;
  return {};
}

/// What the command writes beside its report.
struct ReplayOutputs {
  app::Verdicts verdicts{kReplayQuestions};
  app::HtmlReport html;
};

ExitCode replay(const ReplayOptions& options, ReplayOutputs& to) {
  app::HtmlReport& html = to.html;
  if (auto checked = to.verdicts.check(kReplayOutput); !checked)
    return print_error(checked.error());
  std::vector<NamedFile> inputs = {{"CAPTURE", options.capture}};
  std::vector<NamedFile> outputs = {
      {"--pcap", options.pcap, true}, html.file(), to.verdicts.junit()};
  nic::add_files(options.port, inputs, outputs);
  if (const auto apart = check_outputs(inputs, outputs); !apart) return print_error(apart.error());
  const auto report = options.port.empty() ? replay_to_file(options) : replay_to_port(options);
  if (!report) return print_error(report.error());
  Judge judge = to.verdicts.judge();
  observe_replay(judge, *report, options);
  const std::string json = to.verdicts.judged(
      judge, options.json || html.wanted(),
      [&] { return report::json_line(kReplayOutput, *report); }, "roce-gen replay", &kReplayOutput);
  html.add_report(json, kReplayOutput, to.verdicts.last(), page_rows(*report));
  html.add_port("--port", options.port);
  print_report(options.json ? json : to.verdicts.text() + to_text(*report), options.pcap == "-");
  return to.verdicts.finish("roce-gen replay");
}

Parsed<wire::MacAddress> mac_of(std::string_view text) { return read_mac(text); }

void add_rewrite_options(app::Options& list, roce::FrameChanges& what) {
  const auto qps = [](std::string_view text) { return parse_mapping(text, kMostQpn); };
  const auto r_keys = [](std::string_view text) { return parse_mapping(text, kMostRkey); };
  list.add("--src-mac", app::parsed(mac_of, what.source_mac), "MAC",
           "source MAC address of RoCE frames");
  list.add("--dst-mac", app::parsed(mac_of, what.destination_mac), "MAC",
           "destination MAC address of RoCE frames");
  list.add("--source",
           app::each(parse_address_change,
                     [&what](const roce::AddressChange& c) { what.sources.push_back(c); }),
           "OLD=NEW",
           "new source address of RoCE frames (IPv4 or IPv6) that have the old one; may be "
           "repeated. NEW alone: of all frames, if the capture has one direction");
  list.add("--destination",
           app::each(parse_address_change,
                     [&what](const roce::AddressChange& c) { what.destinations.push_back(c); }),
           "OLD=NEW", "new destination address, like --source");
  list.add("--map-qp", app::each(qps, [&what](Mapping m) { what.qps[m.from] = m.to; }), "OLD=NEW",
           "new number of a QP");
  list.add("--map-rkey", app::each(r_keys, [&what](Mapping m) { what.r_keys[m.from] = m.to; }),
           "OLD=NEW", "new rkey");
  const auto take_offset = [&what](const PsnOffset& offset) {
    if (offset.qp) {
      what.psn_offset_of_qp[*offset.qp] = offset.offset;
    } else {
      what.psn_offset = offset.offset;
    }
  };
  list.add("--psn-offset", app::each(parse_psn_offset, take_offset), "[QP=]N",
           "number added to all PSNs, or to those sent to one QP (its captured number); may be "
           "repeated");
}

void add_pace_options(app::Options& list, ReplayOptions& options) {
  list.add("--speed", app::parsed(parse_speed, options.pace), "2x|0.5x|max",
           "speed as a multiple of the capture's, or max");
  list.add("--rate", app::parsed(config::parse_rate, options.pace), "RATE",
           "rate instead of the capture's: 10Gb/s on the wire, or 100000frames/s")
      .excludes("--speed");
  list.add("--loop", app::number(options.loop), "N", "passes over the capture; 0: until stopped");
}

Result<void> check_replay_usage(const ReplayOptions& options) {
  if (options.pcap.empty() && options.port.empty())
    return fail("--pcap OUT or --port PORT is required");
  const bool endless = options.loop == 0 && options.port.empty();
  if (endless && !options.limits.duration && options.limits.count == Limits{}.count)
    return fail("--loop: 0 into a file needs --count or --duration as well");
  return {};
}

}  // namespace

app::Command replay_command() {
  auto options = std::make_shared<ReplayOptions>();
  auto outputs = std::make_shared<ReplayOutputs>();
  auto traffic = std::make_shared<ClassOptions>();
  app::Command command{
      .name = "replay",
      .help = "Send the frames of a capture",
      .examples = kReplayExamples,
      .notes = kReplayNotes,
      .check = [options](const app::Given&) { return check_replay_usage(*options); },
      .run =
          [options, outputs, traffic] {
            if (auto taken = take_class(*traffic, *options); !taken)
              return print_error(taken.error());
            options->limits.stop = &stop_on_signals();
            return replay(*options, *outputs);
          },
  };
  app::Options& list = command.options;
  list.add("CAPTURE", app::text(options->capture), "", "capture file; - for standard input")
      .required();
  list.add("--port", app::text(options->port), "PORT", "port to send to, in real time");
  add_pcap_option(list, options->pcap);
  list.begin_group(app::kPaceHeading);
  add_pace_options(list, *options);
  list.begin_group(app::kRewriteHeading);
  add_rewrite_options(list, options->rewrite);
  list.begin_group("");
  add_class_options(list, *traffic);
  list.add_flag("--roce-only", options->roce_only, "send RoCE frames only");
  add_limit_options(list, options->limits);
  list.add_flag("--live", options->live, report::kLiveHelp);
  outputs->verdicts.add_options(list);
  outputs->verdicts.add_strict_option(list);
  outputs->html.add_option(list);
  add_report_options(list, options->json, options->verbose);
  return command;
}

}  // namespace lw::gen
