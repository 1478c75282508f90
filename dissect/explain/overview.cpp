// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/overview.h"

#include <set>

#include <fmt/format.h>

#include "core/quantity.h"
#include "dissect/explain/questions/capture.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::Session;
using analysis::StreamCounts;

struct PointTotals {
  std::uint64_t connections = 0, payload = 0;
  std::uint64_t passed = 0;  // messages, in a sample those that its PSNs show
  std::uint64_t incomplete =
      0;  // messages of UC and UD that their receiver drops, as packets are missing
  bool sample = false;
  std::set<std::string> hosts, transports;
  std::map<wire::Operation, std::uint64_t> messages;
  std::uint32_t fastest = 0;  // session; 0: none has a rate
  double rate = 0;            // b/s
};

void add_rate(PointTotals& totals, const Session& session, const StreamCounts& counts) {
  totals.payload += counts.payload_passed();
  const double rate = counts.goodput();
  if (rate <= totals.rate) return;
  totals.rate = rate;
  totals.fastest = session.number;
}

std::string transport_of(const Evidence& evidence, const Session& session) {
  return std::string(wire::name_of(any_flow(evidence.analyst, session).transport));
}

std::map<std::uint32_t, PointTotals> totals_by_point(const Evidence& evidence) {
  std::map<std::uint32_t, PointTotals> all;
  for (const Session& session : evidence.analyst.sessions()) {
    PointTotals& totals = all[point_of(evidence.analyst, session)];
    const Ends ends = ends_of(evidence.analyst, session, 0);
    totals.hosts.insert({ends.from_address, ends.to_address});
    if (!session.directions[0].stream && !session.directions[1].stream) continue;
    ++totals.connections;
    for (const auto& direction : session.directions) {
      if (!direction.stream) continue;
      add_rate(totals, session, direction.stream->counts());
      totals.passed += direction.stream->messages();
      totals.sample = totals.sample || direction.stream->counts().is_sample();
      totals.transports.insert(transport_of(evidence, session));
    }
  }
  for (const auto& [key, count] : evidence.messages) {
    const Session& session = evidence.analyst.sessions()[std::get<0>(key) - 1];
    PointTotals& totals = all[point_of(evidence.analyst, session)];
    totals.messages[std::get<2>(key)] += count.messages;
    totals.incomplete += count.incomplete;
  }
  return all;
}

std::string hosts_text(const std::set<std::string>& hosts) {
  if (hosts.size() == 2) return fmt::format("between {} and {}", *hosts.begin(), *hosts.rbegin());
  return fmt::format("of {}", counted(hosts.size(), "host"));
}

std::string overview_line(const Evidence& evidence, std::uint32_t point,
                          const PointTotals& totals) {
  std::uint64_t messages = 0;
  std::vector<std::string> operations;
  for (const auto& [operation, count] : totals.messages) {
    messages += count;
    operations.push_back(fmt::format("{} {}", count, wire::name_of(operation)));
  }
  std::string text =
      fmt::format("{}{} ({}) {}: {} of payload in {} ({})", at_point(evidence, point),
                  counted(totals.connections, "connection"), fmt::join(totals.transports, ", "),
                  hosts_text(totals.hosts), format_bytes(static_cast<double>(totals.payload)),
                  counted(totals.sample ? totals.passed : messages, "message"),
                  totals.sample ? fmt::format("by PSNs; {} were seen, some in part", messages)
                  : operations.empty() ? "requests not captured"
                                       : fmt::format("{}", fmt::join(operations, ", ")));
  if (totals.incomplete > 0)
    text += fmt::format("; {} of these messages were not completed, as packets are missing",
                        totals.incomplete);
  if (totals.fastest != 0 && totals.connections > 1)
    text += fmt::format("; the fastest is connection {} with {}", totals.fastest,
                        format_bit_rate(totals.rate));
  else if (totals.fastest != 0)
    text += fmt::format(", {}", format_bit_rate(totals.rate));
  return text + ".";
}

}  // namespace

std::vector<std::string> overview_of(const Facts& facts) {
  const Evidence& evidence = facts.evidence;
  const CaptureTotals& totals = evidence.totals;
  std::vector<std::string> lines;
  if (is_sample(facts))
    lines.push_back(
        fmt::format("The capture holds {:.3g} % of the packets that passed: it is a sample. Rates, "
                    "bytes and numbers of "
                    "messages are computed from PSNs.",
                    100 * share_of(evidence).held()));
  const std::string frames = counted(totals.frames, "frame");
  lines.push_back(totals.roce == 0 ? frames + ", none of RoCE."
                                   : fmt::format("{}, {} of RoCE in {}.", frames, totals.roce,
                                                 format_duration(capture::stamp_difference(
                                                     totals.last, totals.first))));
  for (std::string& sentence : evidence.points.sentences()) lines.push_back(std::move(sentence));
  if (totals.further_views > 0)
    lines.push_back(fmt::format("{} were left out, as they were captured before.",
                                counted(totals.further_views, "frame")));
  for (const auto& [point, at] : totals_by_point(evidence))
    if (at.connections > 0) lines.push_back(overview_line(evidence, point, at));
  return lines;
}

}  // namespace lw::dissect
