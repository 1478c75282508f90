// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "app/stop_signal.h"
#include "app/verdicts.h"
#include "core/counted.h"
#include "core/output.h"
#include "core/quantity.h"
#include "gen/commands/commands.h"
#include "gen/commands/outputs.h"
#include "gen/limits.h"
#include "gen/perf/cm/connection_manager.h"
#include "gen/perf/options/perf_options.h"
#include "gen/questions.h"
#include "nic/clock.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

constexpr const char* kRespondExamples = R"(roce-gen respond --port memif:/tmp/lw.sock,server
roce-gen respond --port eth1 --address 192.0.2.2 --mac 02:00:00:00:00:02 --sessions 1 --json
roce-gen respond --port eth1 --address 192.0.2.2 -- ib_write_bw -d mlx5_0 -p 18515
roce-gen respond --port eth1 --address 192.0.2.2 --cm 7174  # there: rping -c -a 192.0.2.2)";

constexpr const char* kRespondNotes =
    R"(Prints "ready" on stderr once the port's link is up. The other side is `roce-gen perf --port`.
DCQCN's parameters are those of this side's NIC; they apply when perf has --rate-control dcqcn. The
line of a server of perftest may follow --: its port counts, all else is in the client's line.)";

/// Long enough for a person to start the other side.
constexpr Duration kRespondLinkTimeout = std::chrono::hours(1);

struct RespondOptions {
  EndpointOptions endpoint;
  std::uint64_t memory = 1u << 30;
  std::uint16_t cm = 0;        // port of rping's clients; 0: none
  std::uint64_t sessions = 0;  // 0: without end
  transport::DcqcnConfig dcqcn;
  app::Verdicts verdicts{kRespondQuestions};
  bool json = false;
};

std::string text_of(const SessionReport& session) {
  const ServerStats& found = session.stats;
  return fmt::format(
      "{}: {}{} checked, {} wrong; {} received, {} duplicate and {} out of sequence{}{}{}\n",
      counted(session.connections, "connection"), counted(found.checked, "message"),
      session.compared < found.checked ? fmt::format(", {}", session.compared) : "", found.wrong,
      format_bytes(static_cast<double>(session.bytes)), found.duplicates,
      counted(found.out_of_sequence, "packet"),
      found.dropped > 0 ? fmt::format("; {} of incomplete messages dropped", found.dropped) : "",
      session.broken > 0 ? fmt::format("; {} broken", session.broken) : "",
      session.gone > 0 ? fmt::format("; {} gone without a word", session.gone) : "");
}

/// A session that ended, and what the port counted until then.
struct EndedSession {
  SessionReport session;
  FramePortCounters port;
  Machine machine;                  // since the start
  roce::ClassOfTraffic traffic;     // that was set
  std::vector<ClassCount> classes;  // since the start
  std::uint64_t other_partition = 0;
};

void observe_session(Judge& judge, const EndedSession& ended) {
  const SessionReport& session = ended.session;
  judge.add({.name = "wrong",
             .value = static_cast<double>(session.stats.wrong),
             .text = fmt::format("{} had other bytes than were sent",
                                 format_count(session.stats.wrong, "message")),
             .count = session.compared});
  judge.add({.name = "broken",
             .value = static_cast<double>(session.broken),
             .text = fmt::format("{} of {} failed", format_count(session.broken),
                                 format_count(session.connections, "connection")),
             .count = session.connections,
             .unsure = session.gone == 0 ? ""
                                         : fmt::format("{} of them left without a word",
                                                       format_count(session.gone))});
  observe(judge, ended.machine, "this machine");
}

/// Judges and prints the sessions that ended.
void print_ended(PassiveSide& side, RespondOptions& options, EndpointContext& context) {
  if (side.sessions.empty()) return;
  const FramePortCounters& port = context.port().counters();
  const Machine machine = context.machine();
  for (; !side.sessions.empty(); side.sessions.pop_front()) {
    const Endpoint& endpoint = context.endpoint();
    const EndedSession ended{side.sessions.front(),
                             port,
                             machine,
                             endpoint.channel().traffic(),
                             endpoint.classes().counts(),
                             endpoint.other_partition()};
    Judge judge = options.verdicts.judge();
    observe_session(judge, ended);
    const std::string json = options.verdicts.judged(
        judge, options.json, [&] { return report::json_line(kRespondOutput, ended); },
        "roce-gen respond", &kRespondOutput);
    const std::string classes = ended.traffic.empty() ? "" : class_lines(ended.classes);
    print_report(options.json ? json : options.verdicts.text() + text_of(ended.session) + classes);
  }
}

/// Answers again peers that did not get the DREP, for 500 ms, or until the link is down or `stop`
/// is set.
Result<void> say_goodbye(EndpointContext& context, const std::atomic<bool>& stop) {
  const Instant until = nic::now() + std::chrono::milliseconds(500);
  while (nic::now() < until && context.port().link_up() && !stop.load(std::memory_order_relaxed)) {
    if (auto polled = context.endpoint().poll(); !polled) return std::unexpected(polled.error());
  }
  return {};
}

Result<void> serve(RespondOptions& options, EndpointContext& context,
                   const std::atomic<bool>& stop) {
  PassiveSide side(context.endpoint(), {.port = options.endpoint.service,
                                        .rping_port = options.cm,
                                        .memory = options.memory,
                                        .packet_payload = options.endpoint.packet_payload,
                                        .dcqcn = options.dcqcn});
  std::uint64_t ended = 0;
  context.begin_watch();
  while (!stop.load(std::memory_order_relaxed) &&
         (options.sessions == 0 || ended < options.sessions)) {
    if (auto polled = context.endpoint().poll(); !polled) return std::unexpected(polled.error());
    side.sweep(nic::now());
    ended += side.sessions.size();
    print_ended(side, options, context);
  }
  if (options.sessions > 0) {
    if (auto said = say_goodbye(context, stop); !said) return std::unexpected(said.error());
  }
  side.finish();
  print_ended(side, options, context);
  return {};
}

ExitCode respond(RespondOptions& options, const std::atomic<bool>& stop) {
  if (auto checked = options.verdicts.check(kRespondOutput); !checked)
    return print_error(checked.error());
  std::vector<NamedFile> inputs,
      outputs = {{"--pcap", options.endpoint.pcap, true}, options.verdicts.junit()};
  nic::add_files(options.endpoint.port, inputs, outputs);
  if (const auto apart = check_outputs(inputs, outputs); !apart) return print_error(apart.error());
  const auto own = address_of(options.endpoint, 2);
  if (!own) return print_error(own.error());
  auto context = EndpointContext::open(options.endpoint, *own);
  if (!context) return print_error(context.error());
  if (auto up = (*context)->wait_link(kRespondLinkTimeout, stop); !up) {
    return stop.load() ? ExitCode::done : print_error(up.error());
  }
  fmt::print(stderr, "ready\n");
  const auto served = serve(options, **context, stop);
  const auto closed = (*context)->close();
  const ExitCode judged = options.verdicts.finish("roce-gen respond");
  if (!served) return print_error(served.error());
  return closed ? judged : print_error(closed.error());
}

}  // namespace

const FigureTable& respond_figures() {
  using Row = FigureOf<EndedSession>;
  static constexpr Figure kRows[] = {
      Row::of<through<&EndedSession::session, &SessionReport::connections>>(
          "connections", "Connections of the session."),
      Row::rows_of<through<&EndedSession::session, &SessionReport::stats>>(),
      Row::of<through<&EndedSession::session, &SessionReport::compared>>(
          "compared",
          "Messages of which each byte was compared: all of those checked, unless perf has another "
          "--verify."),
      Row::of<through<&EndedSession::session, &SessionReport::bytes>>(
          "bytes", "Bytes of payload received.", Unit::bytes),
      Row::of<through<&EndedSession::session, &SessionReport::broken>>("broken",
                                                                       "Connections that failed."),
      Row::of<through<&EndedSession::session, &SessionReport::gone>>(
          "gone", "Connections whose peer left."),
      Row::of<through<&EndedSession::port, &FramePortCounters::received>>(
          "frames_received", "Frames that the port received.", Unit::frames),
      Row::of<through<&EndedSession::port, &FramePortCounters::sent>>(
          "frames_sent", "Frames that the port sent.", Unit::frames),
      Row::of<through<&EndedSession::port, &FramePortCounters::not_sent>>(
          "frames_not_sent", "Frames that the port did not take.", Unit::frames),
      Row::of<through<&EndedSession::port, &FramePortCounters::bad_icrc>>(
          "bad_icrc", "Frames with a wrong ICRC.", Unit::frames),
      Row::of<&EndedSession::machine>("machine",
                                      "What this machine lost and delayed since the start."),
      Row::of<&EndedSession::traffic>(
          "traffic_class",
          "Class of the traffic that was set; what it lacks is that of each client."),
      Row::of<&EndedSession::classes>("classes", "Packets of this side by class, since the start."),
      Row::of<&EndedSession::other_partition>("other_partition", meaning::kOtherPartition,
                                              Unit::frames)};
  static constexpr FigureTable kTable{"A session of the responder that ended; a line each.", kRows};
  return kTable;
}

app::Command respond_command() {
  auto options = std::make_shared<RespondOptions>();
  app::Command command{
      .name = "respond",
      .help = "Respond to perf: RDMA memory behind a port",
      .examples = kRespondExamples,
      .notes = kRespondNotes,
      .run = [options] { return respond(*options, stop_on_signals()); },
  };
  app::Options& list = command.options;
  list.add("--port", app::text(options->endpoint.port), "PORT", "port to listen on").required();
  add_endpoint_options(list, options->endpoint);
  list.add("--cm", app::number(options->cm), "SERVICE",
           "also serve rping's clients at this port of rdma_cm, 7174 in general; 0: no");
  list.add("--memory", app::parsed(parse_bytes, options->memory), "SIZE",
           "memory of all connections together, in bytes")
      .defaults_to("1GiB");
  list.add("--packet-payload",
           app::number(options->endpoint.packet_payload, kMostMtu, kMostPacketPayload), "BYTES",
           "largest payload of a packet that clients may ask for, up to 14000 bytes");
  list.add("--sessions", app::number(options->sessions), "N",
           "end after this number of sessions; 0: on a signal");
  list.add("--pcap", app::text(options->endpoint.pcap), "FILE",
           "capture file of what passes the port");
  list.add_flag("-J,--json", options->json, "print one line of JSON per session");
  options->verdicts.add_options(list);
  options->verdicts.add_strict_option(list);
  add_congestion_profile(list, options->dcqcn);
  add_parameter_option(list, options->dcqcn);
  return command;
}

}  // namespace lw::gen
