// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/port_counters.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/output.h"

namespace lw::dissect {
namespace {

using analysis::AnomalyKind;
using analysis::Cause;
using analysis::Session;

// Reading.

constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed_words(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::uint64_t> counter_value(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !text.empty() && !counter_value(text) && std::ranges::all_of(text, fits);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(kBlank, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// "PATH/NAME:12", "NAME: 12".
bool read_pair(std::string_view line, PortCounters& counters) {
  const std::size_t colon = line.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view name = trimmed_words(line.substr(0, colon));
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name = name.substr(slash + 1);
  const auto value = counter_value(trimmed_words(line.substr(colon + 1)));
  if (!value || !is_name(name)) return false;
  counters[std::string(name)] += *value;
  return true;
}

/// "link mlx5_0/1 NAME 12 NAME 12", "NAME 12".
bool read_words(std::string_view line, PortCounters& counters) {
  std::vector<std::string_view> words = words_of(line);
  if (words.size() > 2 && words[0] == "link") words.erase(words.begin(), words.begin() + 2);
  bool any = false;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const auto value = counter_value(words[i + 1]);
    if (!value || !is_name(words[i])) return any;
    counters[std::string(words[i])] += *value;
    any = true;
  }
  return any;
}

// What the capture shows of a host.

struct HostCounts {
  std::uint64_t sent = 0, received = 0;
  std::uint64_t sequence_naks_sent = 0, sequence_naks_received = 0;
  std::uint64_t rnr_naks_sent = 0, rnr_naks_received = 0;
  std::uint64_t repeated_received = 0;  // requests that came again
  std::uint64_t recoveries = 0, timeouts = 0, lost_responses = 0;
  std::uint64_t bad_icrcs_received = 0, marked_received = 0, cnps_sent = 0, cnps_received = 0;
};

/// How a counter and the number in the capture must relate.
enum class CounterRelation : std::uint8_t { equal, at_least, at_most };

struct KnownCounter {
  std::string_view name;
  std::uint64_t HostCounts::* captured;
  CounterRelation relation;
  std::string_view what;  // meaning of the counter
};

// Names of mlx5 (hw_counters, ethtool) and of rxe. NVIDIA's "RDMA counters" and drivers/infiniband/
// sw/rxe/rxe_hw_counters.h say what they count.
constexpr KnownCounter kKnown[] = {
    {"packet_seq_err", &HostCounts::sequence_naks_received, CounterRelation::equal,
     "NAKs \"PSN sequence error\" received"},
    {"rcvd_seq_err", &HostCounts::sequence_naks_received, CounterRelation::equal,
     "NAKs \"PSN sequence error\" received"},
    {"out_of_sequence", &HostCounts::sequence_naks_sent, CounterRelation::at_least,
     "packets received out of sequence"},
    {"out_of_seq_request", &HostCounts::sequence_naks_sent, CounterRelation::at_least,
     "requests received out of sequence"},
    {"duplicate_request", &HostCounts::repeated_received, CounterRelation::at_most,
     "requests received again"},
    {"rcvd_rnr_err", &HostCounts::rnr_naks_received, CounterRelation::equal, "RNR NAKs received"},
    {"send_rnr_err", &HostCounts::rnr_naks_sent, CounterRelation::equal, "RNR NAKs sent"},
    {"rnr_nak_retry_err", &HostCounts::rnr_naks_received, CounterRelation::at_most,
     "connections that gave up after RNR NAKs"},
    {"retry_rnr_exceeded_err", &HostCounts::rnr_naks_received, CounterRelation::at_most,
     "connections that gave up after RNR NAKs"},
    {"local_ack_timeout_err", &HostCounts::timeouts, CounterRelation::equal,
     "timeouts of requests sent"},
    {"retry_exceeded_err", &HostCounts::timeouts, CounterRelation::at_most,
     "connections that gave up after timeouts"},
    {"implied_nak_seq_err", &HostCounts::lost_responses, CounterRelation::equal,
     "responses received behind missing ones"},
    {"completer_retry_err", &HostCounts::recoveries, CounterRelation::at_least,
     "times that requests were sent again"},
    {"rx_icrc_encapsulated", &HostCounts::bad_icrcs_received, CounterRelation::equal,
     "packets with a bad ICRC received"},
    {"np_ecn_marked_roce_packets", &HostCounts::marked_received, CounterRelation::equal,
     "packets marked CE received"},
    {"np_cnp_sent", &HostCounts::cnps_sent, CounterRelation::equal, "CNPs sent"},
    {"rp_cnp_handled", &HostCounts::cnps_received, CounterRelation::equal, "CNPs received"},
    {"rp_cnp_ignored", &HostCounts::cnps_received, CounterRelation::at_most,
     "CNPs received and ignored"},
    {"sent_pkts", &HostCounts::sent, CounterRelation::equal, "packets sent"},
    {"rcvd_pkts", &HostCounts::received, CounterRelation::equal, "packets received"},
    {"tx_vport_rdma_unicast_packets", &HostCounts::sent, CounterRelation::equal,
     "RDMA packets sent"},
    {"rx_vport_rdma_unicast_packets", &HostCounts::received, CounterRelation::equal,
     "RDMA packets received"},
};

const KnownCounter* known_counter(std::string_view name) {
  const auto known = std::ranges::find(kKnown, name, &KnownCounter::name);
  return known == std::end(kKnown) ? nullptr : known;
}

using HostKey = std::pair<std::uint32_t, std::string>;  // capture point, address
using Hosts = std::map<HostKey, HostCounts>;

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
  if (!direction.stream) return;
  const analysis::StreamCounts& counts = direction.stream->counts();
  const auto sequence = counts.naks.find(0);
  const std::uint64_t naks = sequence == counts.naks.end() ? 0 : sequence->second;
  from.sequence_naks_received += naks;
  to.sequence_naks_sent += naks;
  from.rnr_naks_received += counts.rnr_naks;
  to.rnr_naks_sent += counts.rnr_naks;
  to.repeated_received += counts.resent + counts.duplicates;
}

void add_recovery(Hosts& hosts, const Evidence& evidence, const analysis::Anomaly& anomaly) {
  if (anomaly.kind != AnomalyKind::retransmission) return;
  const Session& session = evidence.analyst.sessions()[anomaly.session - 1];
  const Ends ends = ends_of(evidence.analyst, session, anomaly.direction);
  HostCounts& sender = hosts[{point_of(evidence.analyst, session), ends.from_address}];
  ++sender.recoveries;
  constexpr Cause kTimeouts[] = {Cause::timeout, Cause::ack_lost, Cause::nak_lost,
                                 Cause::timer_too_short, Cause::peer_stopped};
  sender.timeouts += static_cast<std::uint64_t>(std::ranges::count(kTimeouts, anomaly.cause));
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

bool agrees(CounterRelation relation, std::uint64_t counted, std::uint64_t captured) {
  if (relation == CounterRelation::at_least) return counted >= captured;
  if (relation == CounterRelation::at_most) return counted <= captured;
  return counted == captured;
}

std::string contradiction(const KnownCounter& counter, std::uint64_t counted,
                          std::uint64_t captured) {
  const std::string head =
      fmt::format("the port counted {}, the capture shows {}: ", counted, captured);
  if (counter.name == "rx_icrc_encapsulated" && counted > captured)
    return head +
           "the others were damaged between the capture point and the port, or are of other "
           "traffic.";
  if (counted > captured)
    return head + "the capture misses the others, or they are of other traffic of the port.";
  const bool sends = counter.captured == &HostCounts::sent ||
                     counter.captured == &HostCounts::cnps_sent ||
                     counter.captured == &HostCounts::rnr_naks_sent;
  if (sends) return head + "the others left before the first reading, or after the second.";
  return head +
         "the others did not reach the port, or only before the first reading, or after the "
         "second.";
}

std::string agreement(const KnownCounter& counter, std::uint64_t counted, std::uint64_t captured) {
  if (counter.relation == CounterRelation::equal)
    return fmt::format("{}, as in the capture.", counted);
  return fmt::format("{}; the capture shows {}, which fits.", counted, captured);
}

CounterComparison comparison_of(const KnownCounter& counter, std::uint64_t counted,
                                const HostCounts& seen) {
  const std::uint64_t captured = seen.*counter.captured;
  const bool fits = agrees(counter.relation, counted, captured);
  return {.name = std::string(counter.name),
          .what = std::string(counter.what),
          .counted = counted,
          .captured = captured,
          .contradicts = !fits,
          .text = fits ? agreement(counter, counted, captured)
                       : contradiction(counter, counted, captured)};
}

/// Returns the host that most counters agree with; among equal ones, the one with most packets.
Hosts::const_iterator best_host(const Hosts& hosts, const PortCounters& differences,
                                const std::string& address) {
  auto best = hosts.end();
  std::pair<std::int64_t, std::uint64_t> most{-1, 0};
  for (auto host = hosts.begin(); host != hosts.end(); ++host) {
    if (!address.empty() && host->first.second != address) continue;
    std::pair<std::int64_t, std::uint64_t> fits{0, host->second.sent + host->second.received};
    for (const auto& [name, difference] : differences) {
      const KnownCounter& known = *known_counter(name);
      fits.first += agrees(known.relation, difference, host->second.*known.captured);
    }
    if (fits <= most) continue;
    most = fits;
    best = host;
  }
  return best;
}

std::unexpected<Error> no_such_host(const Hosts& hosts, const std::string& address) {
  if (hosts.empty()) return fail("--counters: the capture has no RoCE frame to compare with");
  std::set<std::string> addresses;
  for (const auto& [host, seen] : hosts) addresses.insert(host.second);
  return fail(fmt::format("--port-address: expected an address of the capture ({}), found \"{}\"",
                          fmt::join(addresses, ", "), address));
}

}  // namespace

Result<PortCounters> parse_port_counters(std::string_view text, const std::string& name) {
  PortCounters counters;
  std::size_t number = 0, first_other = 0;
  std::string_view other;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed_words(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || read_pair(line, counters) || read_words(line, counters)) continue;
    if (first_other != 0) continue;
    first_other = number;
    other = line;
  }
  if (!counters.empty()) return counters;
  constexpr std::size_t kShown = 60;
  return fail(fmt::format(
      "{}:{}: expected counters as `grep . /sys/class/infiniband/*/ports/*/"
      "hw_counters/*`, `ethtool -S` or `rdma statistic show` print them, "
      "such as \"out_of_sequence: 12\", found {}",
      name, std::max<std::size_t>(first_other, 1),
      other.empty() ? "an empty file" : fmt::format("\"{}\"", other.substr(0, kShown))));
}

Result<PortCounters> read_port_counters(const std::string& path) {
  note_input(path);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || file.bad())
    return fail(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return parse_port_counters(text.str(), path);
}

Result<CounterReport> compare_counters(const PortCounters& before, const PortCounters& after,
                                       const Evidence& evidence, const std::string& address) {
  CounterReport report;
  PortCounters differences;
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    const std::uint64_t start = old == before.end() ? 0 : old->second;
    if (value < start)
      report.reset.push_back(name);
    else if (known_counter(name) != nullptr)
      differences[name] = value - start;
    else if (value > start)
      report.not_compared.push_back(name);
  }
  const Hosts hosts = hosts_of(evidence);
  const auto host = best_host(hosts, differences, address);
  if (host == hosts.end()) return no_such_host(hosts, address);
  report.host = host->first.second;
  for (const auto& [name, difference] : differences)
    report.compared.push_back(comparison_of(*known_counter(name), difference, host->second));
  std::ranges::stable_sort(report.compared, std::greater<>{}, &CounterComparison::contradicts);
  return report;
}

const FigureTable& CounterComparison::figures() {
  using Row = FigureOf<CounterComparison>;
  static constexpr Figure kRows[] = {
      Row::of<&CounterComparison::name>("counter", "Name of the counter."),
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
      Row::of<&CounterReport::host>("address", "Address of the port."),
      Row::of<&CounterReport::compared>("compared", "Counters that were compared."),
      Row::of<&CounterReport::not_compared>("not_compared",
                                            "Counters that changed and have no counterpart."),
      Row::of<&CounterReport::reset>("reset", "Counters that are smaller than before.")};
  static constexpr FigureTable kTable{"Comparison with the counters of a port.", kRows};
  return kTable;
}

}  // namespace lw::dissect
