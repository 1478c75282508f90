// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/counters/counter_report.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lw::dissect {
namespace {

using analysis::AnomalyKind;
using analysis::Cause;
using analysis::Session;

// What the capture shows of a host.

struct HostCounts {
  std::uint64_t sent = 0, received = 0;
  std::uint64_t sequence_naks_sent = 0, sequence_naks_received = 0;
  std::uint64_t invalid_received = 0, access_received = 0, operational_received = 0;
  std::uint64_t access_sent = 0;
  std::uint64_t rnr_naks_sent = 0, rnr_naks_received = 0;
  std::uint64_t repeated_received = 0;  // requests that came again
  std::uint64_t recoveries = 0, timeouts = 0, lost_responses = 0;
  std::uint64_t given_up = 0;  // connections: their last timer expires without a packet
  std::uint64_t bad_icrcs_received = 0, marked_received = 0, cnps_sent = 0, cnps_received = 0;
};

using HostKey = std::pair<std::uint32_t, std::string>;  // capture point, address
using Hosts = std::map<HostKey, HostCounts>;

/// NAK codes. (IBTA vol. 1, table 46)
constexpr std::uint8_t kSequence = 0, kInvalid = 1, kAccess = 2, kOperational = 3;

std::uint64_t naks_of(const analysis::StreamCounts& counts, std::uint8_t code) {
  const auto known = counts.naks.find(code);
  return known == counts.naks.end() ? 0 : known->second;
}

void add_stream(HostCounts& from, HostCounts& to, const analysis::RequestStream& stream) {
  const analysis::StreamCounts& counts = stream.counts();
  from.sequence_naks_received += naks_of(counts, kSequence);
  to.sequence_naks_sent += naks_of(counts, kSequence);
  from.invalid_received += naks_of(counts, kInvalid);
  from.access_received += naks_of(counts, kAccess);
  from.operational_received += naks_of(counts, kOperational);
  to.access_sent += naks_of(counts, kAccess);
  from.rnr_naks_received += counts.rnr_naks;
  to.rnr_naks_sent += counts.rnr_naks;
  to.repeated_received += counts.resent + counts.duplicates;
  const auto& open = stream.open_requests();
  from.given_up += open && open->reported && open->waits.count > 0;
}

void add_direction(Hosts& hosts, const Evidence& evidence, const Session& session,
                   std::uint8_t index) {
  const Session::Direction& direction = session.directions[index];
  const Ends ends = ends_of(evidence.analyst, session, index);
  const std::uint32_t point = point_of(evidence.analyst, session);
  HostCounts& from = hosts[{point, ends.from_address}];
  HostCounts& to = hosts[{point, ends.to_address}];
  from.sent += direction.packets;
  to.received += direction.packets;
  to.bad_icrcs_received += direction.bad_icrcs;
  to.marked_received += direction.congested;
  from.cnps_sent += direction.cnps;
  to.cnps_received += direction.cnps;
  if (direction.stream) add_stream(from, to, *direction.stream);
}

bool may_be_timeout(const analysis::Anomaly& anomaly) {
  constexpr Cause kTimeouts[] = {Cause::timeout,         Cause::ack_lost,     Cause::nak_lost,
                                 Cause::timer_too_short, Cause::peer_stopped, Cause::answer_wrong};
  return std::ranges::find(kTimeouts, anomaly.cause) != std::end(kTimeouts);
}

void add_recovery(Hosts& hosts, const Evidence& evidence, const analysis::Anomaly& anomaly) {
  if (anomaly.kind != AnomalyKind::retransmission || anomaly.session == 0) return;
  const Session& session = session_of(evidence, anomaly);
  const Ends ends = ends_of(evidence.analyst, session, anomaly.direction);
  HostCounts& sender = hosts[{point_of(evidence.analyst, session), ends.from_address}];
  ++sender.recoveries;
  sender.timeouts += may_be_timeout(anomaly);
  sender.lost_responses += anomaly.cause == Cause::response_lost;
}

Hosts hosts_of(const Evidence& evidence) {
  Hosts hosts;
  for (const Session& session : evidence.analyst.sessions())
    for (const std::uint8_t direction : {std::uint8_t{0}, std::uint8_t{1}})
      add_direction(hosts, evidence, session, direction);
  for (const analysis::Anomaly& anomaly : evidence.anomalies)
    add_recovery(hosts, evidence, anomaly);
  return hosts;
}

// Comparing.

/// How a sum of counters and the number in the capture must relate.
enum class CounterRelation : std::uint8_t {
  equal,
  at_least,
  at_most,
  with_last_timer,  // equal, or more by the connections that were given up
};

/// Counters that belong together, and what the capture shows of them.
struct Comparable {
  struct Term {
    std::string_view name;
    int factor = 1;
  };
  std::array<Term, 3> terms;  // those behind the last one have no name
  std::uint64_t HostCounts::* captured;
  CounterRelation relation;
  std::string_view what;
};

using Relation = CounterRelation;

constexpr Comparable one(std::string_view name, std::uint64_t HostCounts::* captured,
                         Relation relation, std::string_view what) {
  return {{{{name}}}, captured, relation, what};
}

constexpr std::string_view kSequenceNaks = "NAKs \"PSN sequence error\" received",
                           kOutOfSequence = "packets received out of sequence",
                           kAgain = "requests received again", kRnrReceived = "RNR NAKs received",
                           kRnrSent = "RNR NAKs sent", kTimeouts = "timeouts of requests sent",
                           kEnded = "connections that gave up after timeouts",
                           kEndedByRnr = "connections that gave up after RNR NAKs",
                           kMissing = "responses received behind missing ones",
                           kBadIcrc = "packets with a bad ICRC received",
                           kMarked = "packets marked CE received", kCnpsSent = "CNPs sent",
                           kCnps = "CNPs received", kSent = "packets sent",
                           kReceived = "packets received";

constexpr Comparable kComparables[] = {
    one("packet_seq_err", &HostCounts::sequence_naks_received, Relation::equal, kSequenceNaks),
    one("rcvd_seq_err", &HostCounts::sequence_naks_received, Relation::equal, kSequenceNaks),
    one("seq_err_naks_rcvd", &HostCounts::sequence_naks_received, Relation::equal, kSequenceNaks),
    one("Nak Sequence Error", &HostCounts::sequence_naks_received, Relation::equal, kSequenceNaks),
    one("out_of_sequence", &HostCounts::sequence_naks_sent, Relation::at_least, kOutOfSequence),
    one("out_of_seq_request", &HostCounts::sequence_naks_sent, Relation::at_least,
        "requests received out of sequence"),
    one("oos_drop_count", &HostCounts::sequence_naks_sent, Relation::at_least, kOutOfSequence),
    one("Rcvd Out of order packets", &HostCounts::sequence_naks_sent, Relation::at_least,
        kOutOfSequence),
    one("duplicate_request", &HostCounts::repeated_received, Relation::at_most, kAgain),
    one("dup_req", &HostCounts::repeated_received, Relation::at_most, kAgain),
    one("rcvd_rnr_err", &HostCounts::rnr_naks_received, Relation::equal, kRnrReceived),
    one("rnr_naks_rcvd", &HostCounts::rnr_naks_received, Relation::equal, kRnrReceived),
    one("RNR received", &HostCounts::rnr_naks_received, Relation::equal, kRnrReceived),
    one("rnr_nak_retry_err", &HostCounts::rnr_naks_received, Relation::at_most,
        "RNR NAKs received, within the retry limit"),
    one("send_rnr_err", &HostCounts::rnr_naks_sent, Relation::equal, kRnrSent),
    one("RNR sent", &HostCounts::rnr_naks_sent, Relation::equal, kRnrSent),
    one("retry_rnr_exceeded_err", &HostCounts::rnr_naks_received, Relation::at_most, kEndedByRnr),
    one("req_rnr_retries_exceeded", &HostCounts::rnr_naks_received, Relation::at_most, kEndedByRnr),
    {{{{"local_ack_timeout_err"}, {"roce_adp_retrans"}}},
     &HostCounts::timeouts,
     Relation::with_last_timer,
     kTimeouts},
    one("to_retransmits", &HostCounts::timeouts, Relation::with_last_timer, kTimeouts),
    one("RTO", &HostCounts::timeouts, Relation::with_last_timer, kTimeouts),
    one("retry_exceeded_err", &HostCounts::timeouts, Relation::at_most, kEnded),
    one("max_retry_exceeded", &HostCounts::timeouts, Relation::at_most, kEnded),
    one("req_transport_retries_exceeded", &HostCounts::timeouts, Relation::at_most, kEnded),
    one("implied_nak_seq_err", &HostCounts::lost_responses, Relation::equal, kMissing),
    one("missing_resp", &HostCounts::lost_responses, Relation::equal, kMissing),
    one("Nak Sequence Error Implied", &HostCounts::lost_responses, Relation::equal, kMissing),
    one("completer_retry_err", &HostCounts::recoveries, Relation::at_least,
        "times that requests were retransmitted"),
    one("req_remote_access_errors", &HostCounts::access_received, Relation::equal,
        "requests refused with \"remote access error\""),
    one("remote_access_err", &HostCounts::access_received, Relation::equal,
        "requests refused with \"remote access error\""),
    one("req_remote_invalid_request", &HostCounts::invalid_received, Relation::equal,
        "requests refused with \"invalid request\""),
    one("remote_invalid_req_err", &HostCounts::invalid_received, Relation::equal,
        "requests refused with \"invalid request\""),
    one("remote_op_err", &HostCounts::operational_received, Relation::equal,
        "requests refused with \"remote operational error\""),
    one("resp_remote_access_errors", &HostCounts::access_sent, Relation::at_least,
        "requests that it refused with \"remote access error\""),
    one("rx_icrc_encapsulated", &HostCounts::bad_icrcs_received, Relation::equal, kBadIcrc),
    one("CRC errors", &HostCounts::bad_icrcs_received, Relation::equal, kBadIcrc),
    one("np_ecn_marked_roce_packets", &HostCounts::marked_received, Relation::equal, kMarked),
    one("rx_ecn_marked_pkts", &HostCounts::marked_received, Relation::equal, kMarked),
    one("RxECNMrkd", &HostCounts::marked_received, Relation::equal, kMarked),
    one("np_cnp_sent", &HostCounts::cnps_sent, Relation::equal, kCnpsSent),
    one("tx_cnp_pkts", &HostCounts::cnps_sent, Relation::equal, kCnpsSent),
    one("cnpSent", &HostCounts::cnps_sent, Relation::equal, kCnpsSent),
    // Those that slow restart made itself did not come from the network.
    {{{{"rp_cnp_handled"}, {"rp_cnp_ignored"}, {"roce_slow_restart_cnps", -1}}},
     &HostCounts::cnps_received,
     Relation::equal,
     kCnps},
    {{{{"cnpHandled"}, {"cnpIgnored"}}}, &HostCounts::cnps_received, Relation::equal, kCnps},
    one("rx_cnp_pkts", &HostCounts::cnps_received, Relation::equal, kCnps),
    one("sent_pkts", &HostCounts::sent, Relation::equal, kSent),
    one("rcvd_pkts", &HostCounts::received, Relation::equal, kReceived),
    one("tx_vport_rdma_unicast_packets", &HostCounts::sent, Relation::equal, "RDMA packets sent"),
    one("rx_vport_rdma_unicast_packets", &HostCounts::received, Relation::equal,
        "RDMA packets received"),
    one("tx_pkts", &HostCounts::sent, Relation::at_least, kSent),
    one("rx_pkts", &HostCounts::received, Relation::at_least, kReceived),
    one("port_xmit_packets", &HostCounts::sent, Relation::at_least, kSent),
    one("port_rcv_packets", &HostCounts::received, Relation::at_least, kReceived),
};

/// The sum of the counters of a comparison that a port has.
struct CounterSum {
  std::string name;  // empty: it has none
  std::uint64_t counted = 0;
};

CounterSum counter_sum_of(const Comparable& comparable, const PortCounters& risen) {
  CounterSum sum;
  std::int64_t total = 0;
  for (const auto& [name, factor] : comparable.terms) {
    const auto known = name.empty() ? risen.end() : risen.find(name);
    if (known == risen.end() || (factor < 0 && sum.name.empty())) continue;
    total += factor * static_cast<std::int64_t>(known->second);
    sum.name += fmt::format("{}{}", sum.name.empty() ? "" : factor < 0 ? " - " : " + ", name);
  }
  sum.counted = static_cast<std::uint64_t>(std::max<std::int64_t>(total, 0));
  return sum;
}

bool agrees(const Comparable& comparable, std::uint64_t counted, const HostCounts& seen) {
  const std::uint64_t captured = seen.*comparable.captured;
  switch (comparable.relation) {
    case Relation::at_least:
      return counted >= captured;
    case Relation::at_most:
      return counted <= captured;
    case Relation::with_last_timer:
      return counted >= captured && counted <= captured + seen.given_up;
    case Relation::equal:
      break;
  }
  return counted == captured;
}

std::string contradiction(const Comparable& comparable, std::uint64_t counted,
                          std::uint64_t captured) {
  const std::string head =
      fmt::format("the port counted {}, the capture shows {}: ", counted, captured);
  if (comparable.captured == &HostCounts::bad_icrcs_received && counted > captured)
    return head +
           "the others were damaged between the capture point and the port, or are of other "
           "traffic.";
  if (counted > captured)
    return head + "the capture misses the others, or they are of other traffic of the port.";
  const bool sends = comparable.captured == &HostCounts::sent ||
                     comparable.captured == &HostCounts::cnps_sent ||
                     comparable.captured == &HostCounts::rnr_naks_sent;
  if (sends) return head + "the others left before the first reading, or after the second.";
  return head +
         "the others did not reach the port, or only before the first reading, or after the "
         "second.";
}

std::string agreement(const Comparable& comparable, std::uint64_t counted, std::uint64_t captured) {
  if (counted == captured && comparable.relation == Relation::equal)
    return fmt::format("{}, as in the capture.", counted);
  if (comparable.relation == Relation::with_last_timer && counted > captured)
    return fmt::format(
        "{}; the capture shows {}, which fits: after the last repetition a timer expires once "
        "more.",
        counted, captured);
  return fmt::format("{}; the capture shows {}, which fits.", counted, captured);
}

/// "6 + 8 = 14: " where several counters are added.
std::string parts_text(const Comparable& comparable, const PortCounters& risen) {
  std::string text;
  std::size_t parts = 0;
  for (const auto& [name, factor] : comparable.terms) {
    const auto known = name.empty() ? risen.end() : risen.find(name);
    if (known == risen.end()) continue;
    text += fmt::format("{}{}", text.empty() ? "" : factor < 0 ? " - " : " + ", known->second);
    ++parts;
  }
  return parts > 1 ? text + " = " : "";
}

CounterComparison comparison_of(const Comparable& comparable, const CounterSum& sum,
                                const PortCounters& risen, const HostCounts& seen) {
  const std::uint64_t captured = seen.*comparable.captured;
  const bool fits = agrees(comparable, sum.counted, seen);
  return {.name = sum.name,
          .what = std::string(comparable.what),
          .counted = sum.counted,
          .captured = captured,
          .contradicts = !fits,
          .text = parts_text(comparable, risen) +
                  (fits ? agreement(comparable, sum.counted, captured)
                        : contradiction(comparable, sum.counted, captured))};
}

std::vector<CounterComparison> compare(const PortCounters& risen, const HostCounts& seen) {
  std::vector<CounterComparison> all;
  for (const Comparable& comparable : kComparables)
    if (const CounterSum sum = counter_sum_of(comparable, risen); !sum.name.empty())
      all.push_back(comparison_of(comparable, sum, risen, seen));
  std::ranges::stable_sort(all, std::greater<>{}, &CounterComparison::contradicts);
  return all;
}

/// How well a port fits a host: no contradictions, then numbers that agree and are not 0, then
/// packets.
using Fit = std::tuple<std::int64_t, std::int64_t, std::uint64_t>;

Fit fit_of(const std::vector<CounterComparison>& compared, const HostCounts& seen) {
  std::int64_t contradictions = 0, fits = 0;
  for (const CounterComparison& each : compared) {
    contradictions += each.contradicts;
    fits += !each.contradicts && each.counted > 0;
  }
  return {-contradictions, fits, seen.sent + seen.received};
}

bool is_compared(std::string_view name) {
  return std::ranges::any_of(kComparables, [name](const Comparable& comparable) {
    return std::ranges::any_of(comparable.terms,
                               [name](const auto& term) { return term.name == name; });
  });
}

/// What the counters of a port say, without a capture.
CounterReport report_of(const std::string& port, const CounterDifferences& differences) {
  CounterReport report;
  report.port = port;
  const auto risen = differences.risen.find(port);
  if (risen != differences.risen.end()) report.signs = signs_of(risen->second);
  for (const CounterChange& change : report.signs.changes)
    if (!is_compared(change.name)) report.not_compared.push_back(change.name);
  if (const auto reset = differences.reset.find(port); reset != differences.reset.end())
    report.reset = reset->second;
  return report;
}

std::unexpected<Error> no_such_host(const Hosts& hosts, const std::string& address) {
  if (hosts.empty()) return fail("--counters: the capture has no RoCE frame to compare with");
  std::set<std::string> addresses;
  for (const auto& [host, seen] : hosts) addresses.insert(host.second);
  return fail(fmt::format("--port-address: expected an address of the capture ({}), found \"{}\"",
                          fmt::join(addresses, ", "), address));
}

}  // namespace

std::size_t CounterReport::contradictions() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count(compared, true, &CounterComparison::contradicts));
}

Result<CounterReport> compare_counters(const CounterDifferences& differences,
                                       const Evidence& evidence, const std::string& address) {
  const Hosts hosts = hosts_of(evidence);
  std::optional<CounterReport> best;
  Fit most;
  for (const auto& [port, risen] : differences.risen)
    for (const auto& [host, seen] : hosts) {
      if (!address.empty() && host.second != address) continue;
      std::vector<CounterComparison> compared = compare(risen, seen);
      const Fit fit = fit_of(compared, seen);
      if (best && fit <= most) continue;
      most = fit;
      best = report_of(port, differences);
      best->host = host.second;
      best->compared = std::move(compared);
    }
  if (!best) return no_such_host(hosts, address);
  for (const auto& [port, risen] : differences.risen)
    if (port != best->port) best->other_ports.push_back(port);
  return *best;
}

std::vector<CounterReport> read_counters_alone(const CounterDifferences& differences) {
  std::vector<CounterReport> changed, all;
  for (const auto& [port, risen] : differences.risen) {
    all.push_back(report_of(port, differences));
    if (!all.back().signs.changes.empty()) changed.push_back(all.back());
  }
  return changed.empty() ? all : changed;
}

const FigureTable& CounterComparison::figures() {
  using Row = FigureOf<CounterComparison>;
  static constexpr Figure kRows[] = {
      Row::of<&CounterComparison::name>("counter", "Name of the counter, or of those of a sum."),
      Row::of<&CounterComparison::what>("what", "What it counts."),
      Row::of<&CounterComparison::counted>("counted", "Its change."),
      Row::of<&CounterComparison::captured>("captured", "What the capture shows."),
      Row::of<&CounterComparison::contradicts>("contradicts",
                                               "True if they contradict each other."),
      Row::of<&CounterComparison::text>("text", "The comparison in words.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& CounterReport::figures() {
  using Row = FigureOf<CounterReport>;
  static constexpr Figure kRows[] = {
      Row::of<&CounterReport::port>("port", "Name of the port; empty if the file has none."),
      Row::of<&CounterReport::host>("address", "Address of the port; empty without a capture."),
      Row::of<&CounterReport::other_ports>("other_ports", "Ports of the file that fit worse."),
      Row::of<&CounterReport::compared>("compared", "Counters that were compared."),
      Row::of<[](const CounterReport& r) -> const auto& { return r.signs.changes; }>(
          "changes", "Counters that changed, and their meaning."),
      Row::of<[](const CounterReport& r) { return r.signs.sentences(); }>("says",
                                                                          "What the changes show."),
      Row::of<&CounterReport::not_compared>("not_compared",
                                            "Counters that changed and have no counterpart."),
      Row::of<&CounterReport::reset>("reset", "Counters that are smaller than before.")};
  static constexpr FigureTable kTable{"Counters of a port.", kRows};
  return kTable;
}

}  // namespace lw::dissect
