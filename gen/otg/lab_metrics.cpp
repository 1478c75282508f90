// SPDX-License-Identifier: BSD-3-Clause
// The answers of a Lab: rows of metrics, and of neighbours.
#include "gen/otg/lab_metrics.h"

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/names.h"
#include "nic/clock.h"
#include "report/figures/json.h"

namespace lw::gen::otg {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGiga = 1e9;

/// A row with the columns that are asked for, and its first one; all, if none are.
template <class Row>
Json columns_of(const Row& row, const std::vector<std::string>& asked) {
  Json json = report::json_of(row);
  if (asked.empty()) return json;
  Json few;
  for (const auto& [name, value] : json.items())
    if (few.empty() || std::ranges::find(asked, name) != asked.end()) few[name] = value;
  return few;
}

template <class Item>
bool is_asked(const Item& item, const std::vector<std::string>& names) {
  return names.empty() || std::ranges::find(names, item.name) != names.end();
}

/// Adds a problem for each name that no item has.
template <class Items>
void check_names(const Items& items, const std::vector<std::string>& names, const std::string& path,
                 ModelReader& reader) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::ranges::none_of(items, [&](const auto& item) { return item.name == names[i]; }))
      reader.refuse(fmt::format("{}[{}]", path, i),
                    fmt::format("the configuration has no \"{}\"", excerpt(names[i])));
}

/// An instant in ns since 1970.
std::int64_t wall_clock_ns(Instant at) { return nic::wall_clock_ns() - (nic::now() - at).count(); }

std::string_view word_of(PacketFlow::State state) noexcept {
  if (state == PacketFlow::State::started) return "started";
  return state == PacketFlow::State::paused ? "paused" : "stopped";
}

/// In percent, of the frames that the port took. Copies of frames that arrived do not count.
double loss_of(const PacketFlow& flow) noexcept {
  constexpr double kPercent = 100;
  const std::uint64_t sent = flow.sent().frames;
  const std::uint64_t came = std::min(flow.arrivals().frames - flow.arrivals().copies, sent);
  return sent == 0 ? 0 : kPercent * static_cast<double>(sent - came) / static_cast<double>(sent);
}

void add_rates(const PacketRates& rates, FlowMetric& row) noexcept {
  constexpr double kBits = 8, kKilo = 1e3, kMega = 1e6;
  constexpr double kBetweenFrames = 20;  // preamble and gap, in bytes
  row.frames_tx_rate = rates.sent_frames;
  row.frames_rx_rate = rates.received_frames;
  row.tx_rate_bytes = rates.sent_bytes;
  row.rx_rate_bytes = rates.received_bytes;
  row.tx_rate_bps = kBits * rates.sent_bytes;
  row.rx_rate_bps = kBits * rates.received_bytes;
  row.tx_rate_kbps = row.tx_rate_bps / kKilo;
  row.rx_rate_kbps = row.rx_rate_bps / kKilo;
  row.tx_rate_mbps = row.tx_rate_bps / kMega;
  row.rx_rate_mbps = row.rx_rate_bps / kMega;
  row.tx_l1_rate_bps = row.tx_rate_bps + kBits * kBetweenFrames * rates.sent_frames;
  row.rx_l1_rate_bps = row.rx_rate_bps + kBits * kBetweenFrames * rates.received_frames;
}

/// An instant as "2026-11-30T15:38:00.123456789Z".
std::string utc(Instant at) {
  const std::int64_t ns = wall_clock_ns(at);
  constexpr std::int64_t kSecond = 1'000'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z",
                     fmt::gmtime(static_cast<std::time_t>(ns / kSecond)), ns % kSecond);
}

std::uint64_t messages(const QpRun& run, std::uint64_t FlowRun::* member) {
  std::uint64_t sum = 0;
  for (const FlowRun& flow : run.flows) sum += flow.*member;
  return sum;
}

std::string names_of_flows(const QpRun& run) {
  std::vector<std::string> names;
  for (const FlowRun& flow : run.flows) names.push_back(flow.flow->name);
  return fmt::format("{}", fmt::join(names, "+"));
}

/// Frames of one way: those that carry the messages of a QP, at the end that sends them or at the
/// end that gets them.
void add(const PacketCount& count, std::optional<std::uint64_t>& frames,
         std::optional<std::uint64_t>& bytes, std::optional<double>& gbps) {
  frames = frames.value_or(0) + count.frames;
  bytes = bytes.value_or(0) + count.bytes;
  gbps = gbps.value_or(0) + count.bps / kGiga;
}

void add_sent(const PacketCount& count, QpMetric& row) {
  add(count, row.data_frames_tx, row.tx_bytes, row.data_tx_rate);
}

void add_received(const PacketCount& count, QpMetric& row) {
  add(count, row.data_frames_rx, row.rx_bytes, row.data_rx_rate);
}

/// What the end counted that gets the data.
void add_sink(const QpMeter& sink, QpMetric& row) {
  row.ecn_ce_rx = sink.marked();
  row.cnp_tx = sink.sent(CountedKind::cnp).frames;
}

/// Times at the end that gets the data.
void add_timing(const QpMeter& sink, QpMetric& row) {
  if (const auto& first = sink.first()) {
    row.first_timestamp = utc(*first);
    row.last_timestamp = utc(sink.last());
  }
  const LatencyOfPackets& latency = sink.latency();
  if (latency.packets == 0) return;
  const auto ns = [](Duration time) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  };
  row.avg_latency = ns(latency.sum / static_cast<std::int64_t>(latency.packets));
  row.min_latency = ns(latency.least);
  row.max_latency = ns(latency.most);
}

/// What a QP knows of its own flows.
QpMetric own_metric(const QpRun& run) {
  QpMetric row{.flow_name = names_of_flows(run)};
  const QpMeter& own = run.meter();
  row.src_qp = run.planned().number;
  row.dest_qp = run.peer_number();
  row.data_frames_retransmitted = run.retransmitted();
  row.message_tx = messages(run, &FlowRun::posted);
  row.message_fail = messages(run, &FlowRun::failed);
  row.flow_completion_time = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(run.completion_time()).count());
  row.ack_rx = own.received(CountedKind::ack).frames;
  row.nak_rx = own.received(CountedKind::nak).frames;
  if (!run.fetches()) {
    add_sent(own.sent(CountedKind::transfer), row);
    row.cnp_rx = own.received(CountedKind::cnp).frames;
    return row;
  }
  add_received(own.received(CountedKind::response), row);
  add_sink(own, row);
  add_timing(own, row);
  row.message_complete_rx = messages(run, &FlowRun::completed);
  row.frame_sequence_error = run.out_of_sequence();
  return row;
}

}  // namespace

bool LabMetrics::transmits(std::size_t port) const {
  const bool packets = std::ranges::any_of(parts_.packets->all(), [&](const auto& flow) {
    return flow->planned().port == port && flow->state() == PacketFlow::State::started;
  });
  return packets || std::ranges::any_of(parts_.runs, [&](const auto& run) {
           return parts_.plan.hosts[run->planned().host].port == port &&
                  std::ranges::any_of(run->flows, [](const FlowRun& flow) {
                    return flow.state == FlowRun::State::started;
                  });
         });
}

PortMetric LabMetrics::port_metric(std::size_t port) const {
  const PlannedPort& planned = parts_.plan.ports[port];
  const PortHub& hub = *parts_.hubs[port];
  PortMetric row = parts_.samples[port].rates;
  row.name = planned.name;
  row.location = planned.location;
  row.link = parts_.ports.all()[port].link_up() ? "up" : "down";
  row.capture = hub.captures() ? "started" : "stopped";
  row.transmit = transmits(port) ? "started" : "stopped";
  row.frames_tx = hub.counts().sent;
  row.frames_rx = hub.counts().received;
  row.bytes_tx = hub.counts().sent_bytes;
  row.bytes_rx = hub.counts().received_bytes;
  row.last_change = static_cast<std::uint64_t>(parts_.samples[port].changed_ns);
  constexpr double kBitsOfKilobyte = 8000;
  if (const double bps = parts_.line_bps(port); bps > 0)
    row.speed = static_cast<std::uint64_t>(bps / kBitsOfKilobyte);
  return row;
}

FlowMetric LabMetrics::packet_metric(const PacketFlow& flow) const {
  const PlannedPackets& planned = flow.planned();
  FlowMetric row;
  row.name = planned.name;
  row.port_tx = parts_.plan.ports[planned.port].name;
  if (planned.rx_ports.size() == 1) row.port_rx = parts_.plan.ports[planned.rx_ports[0]].name;
  row.transmit = word_of(flow.state());
  row.frames_tx = flow.sent().frames;
  row.bytes_tx = flow.sent().bytes;
  row.frames_rx = flow.arrivals().frames;
  row.bytes_rx = flow.arrivals().bytes;
  add_rates(flow.rates(), row);
  if (planned.metrics.loss) row.loss = loss_of(flow);
  if (planned.metrics.timestamps && flow.arrivals().first)
    row.timestamps = {static_cast<double>(wall_clock_ns(*flow.arrivals().first)),
                      static_cast<double>(wall_clock_ns(flow.arrivals().last))};
  if (const LatencyOfPackets& latency = flow.arrivals().latency;
      planned.metrics.latency.enable && latency.packets > 0)
    row.latency = {static_cast<double>(latency.least.count()),
                   static_cast<double>(latency.most.count()),
                   static_cast<double>(latency.sum.count()) / static_cast<double>(latency.packets)};
  return row;
}

PeerMetric LabMetrics::peer_metric(std::size_t peer) const {
  const PlannedPeer& planned = parts_.plan.peers[peer];
  const LabHost& host = *parts_.hosts[planned.host];
  const PeerCounts& counts = host.counts(peer);
  PeerMetric row{.name = planned.name, .qp_configured = planned.qps.size()};
  for (const QpLink& link : host.links())
    if (link.run->planned().peer == peer && link.state == QpLink::State::up && !link.run->broken())
      ++row.qp_up;
  row.qp_down = row.qp_configured - row.qp_up;
  row.connect_request_tx = counts.connect_request_tx;
  row.connect_request_rx = counts.connect_request_rx;
  row.connect_reply_tx = counts.connect_reply_tx;
  row.connect_reply_rx = counts.connect_reply_rx;
  row.ready_tx = counts.ready_tx;
  row.ready_rx = counts.ready_rx;
  row.disconnect_request_tx = counts.disconnect_request_tx;
  row.disconnect_request_rx = counts.disconnect_request_rx;
  row.disconnect_reply_tx = counts.disconnect_reply_tx;
  row.disconnect_reply_rx = counts.disconnect_reply_rx;
  row.reject_tx = counts.reject_tx;
  row.unknown_msg_rx = counts.unknown_msg_rx;
  return row;
}

/// Adds what the other end of a connection counted.
void LabMetrics::add_other_end(const QpRun& run, const QpRun& partner, QpMetric& row) const {
  const QpMeter& other = partner.meter();
  row.dest_qp = partner.planned().number;
  row.port_rx = parts_.plan.ports[parts_.plan.hosts[partner.planned().host].port].name;
  row.ack_tx = other.sent(CountedKind::ack).frames;
  row.nak_tx = other.sent(CountedKind::nak).frames;
  add_sent(other.sent(CountedKind::response), row);
  if (run.fetches()) {
    row.cnp_rx = other.received(CountedKind::cnp).frames;
  } else {
    add_received(other.received(CountedKind::transfer), row);
    add_received(run.meter().received(CountedKind::response), row);
    add_sink(other, row);
    add_timing(other, row);
    row.message_complete_rx = partner.arrived() + run.fetched();
    row.frame_sequence_error = partner.out_of_sequence();
  }
  const std::uint64_t sent = row.data_frames_tx.value_or(0);
  row.frame_delta = sent - std::min(sent, row.data_frames_rx.value_or(0));
}

/// The row of a QP with flows. Columns of the other end are there if it is in this configuration.
QpMetric LabMetrics::flow_metric(const QpRun& run) const {
  const PlannedQp& qp = run.planned();
  QpMetric row = own_metric(run);
  row.port_tx = parts_.plan.ports[parts_.plan.hosts[qp.host].port].name;
  row.src_ipv4 = to_string(parts_.plan.hosts[qp.host].own.ip);
  row.dest_ipv4 = to_string(parts_.plan.peers[qp.peer].destination);
  if (qp.partner) add_other_end(run, *parts_.runs[*qp.partner], row);
  return row;
}

/// The row of what comes to a QP from one of another configuration.
QpMetric LabMetrics::arrival_metric(const QpRun& run) const {
  const PlannedQp& qp = run.planned();
  const QpMeter& own = run.meter();
  QpMetric row{.flow_name = qp.name};
  row.port_rx = parts_.plan.ports[parts_.plan.hosts[qp.host].port].name;
  row.src_qp = run.peer_number();
  row.dest_qp = qp.number;
  row.src_ipv4 = to_string(parts_.plan.peers[qp.peer].destination);
  row.dest_ipv4 = to_string(parts_.plan.hosts[qp.host].own.ip);
  if (own.received(CountedKind::fetch).frames > 0) {
    add_sent(own.sent(CountedKind::response), row);
    row.cnp_rx = own.received(CountedKind::cnp).frames;
  } else {
    add_received(own.received(CountedKind::transfer), row);
    add_sink(own, row);
    add_timing(own, row);
    row.message_complete_rx = run.arrived();
  }
  row.frame_sequence_error = run.out_of_sequence();
  row.ack_tx = own.sent(CountedKind::ack).frames;
  row.nak_tx = own.sent(CountedKind::nak).frames;
  return row;
}

std::vector<QpMetric> LabMetrics::qp_metrics() const {
  std::vector<QpMetric> rows;
  for (const auto& run : parts_.runs) {
    if (!run->flows.empty()) rows.push_back(flow_metric(*run));
    const QpMeter& own = run->meter();
    const bool gets = own.received(CountedKind::transfer).frames > 0 ||
                      own.received(CountedKind::fetch).frames > 0 || run->flows.empty();
    if (!run->planned().partner && gets) rows.push_back(arrival_metric(*run));
  }
  return rows;
}

Json LabMetrics::metrics(const MetricsRequest& asked, ModelReader& reader) const {
  Json rows = Json::array();
  if (asked.choice == "port") {
    check_names(parts_.plan.ports, asked.port.port_names, "port.port_names", reader);
    for (std::size_t i = 0; i < parts_.plan.ports.size(); ++i)
      if (is_asked(parts_.plan.ports[i], asked.port.port_names))
        rows.push_back(columns_of(port_metric(i), asked.port.column_names));
    return {{"choice", "port_metrics"}, {"port_metrics", std::move(rows)}};
  }
  if (asked.choice == "flow") {
    check_names(parts_.packets->names(), asked.flow.flow_names, "flow.flow_names", reader);
    for (const auto& flow : parts_.packets->all())
      if (flow->planned().metrics.enable && is_asked(flow->planned(), asked.flow.flow_names))
        rows.push_back(columns_of(packet_metric(*flow), asked.flow.metric_names));
    return {{"choice", "flow_metrics"}, {"flow_metrics", std::move(rows)}};
  }
  if (asked.choice == "rocev2_flow") {
    for (const QpMetric& row : qp_metrics())
      rows.push_back(columns_of(row, asked.rocev2_flow.per_qp.column_names));
    return {{"choice", "rocev2_flow_per_qp_metrics"},
            {"rocev2_flow_per_qp_metrics", std::move(rows)}};
  }
  const bool v6 = asked.choice == "rocev2_ipv6";
  const PeerColumns& columns = (v6 ? asked.rocev2_ipv6 : asked.rocev2_ipv4).per_peer;
  check_names(parts_.plan.peers, columns.peer_names, asked.choice + ".per_peer.peer_names", reader);
  for (std::size_t i = 0; i < parts_.plan.peers.size(); ++i)
    if ((parts_.plan.peers[i].destination.index() == 1) == v6 &&
        is_asked(parts_.plan.peers[i], columns.peer_names))
      rows.push_back(columns_of(peer_metric(i), columns.column_names));
  const std::string name = asked.choice + "_per_peer_metrics";
  return {{"choice", name}, {name, std::move(rows)}};
}

Json LabMetrics::neighbours(const StatesRequest& asked) const {
  const bool v6 = asked.choice == "ipv6_neighbors";
  const NeighborsRequest& of = v6 ? asked.ipv6_neighbors : asked.ipv4_neighbors;
  Json rows = Json::array();
  for (const PlannedHost& host : parts_.plan.hosts) {
    const bool chosen =
        of.ethernet_names.empty() ||
        std::ranges::find(of.ethernet_names, host.ethernet) != of.ethernet_names.end();
    if (!chosen || (host.own.ip.index() == 1) != v6) continue;
    for (const auto& [ip, mac] : parts_.hubs[host.port]->neighbours()) {
      if (ip.index() != host.own.ip.index()) continue;
      NeighbourRow row{.ethernet_name = host.ethernet, .link_layer_address = to_string(mac)};
      (v6 ? row.ipv6_address : row.ipv4_address) = to_string(ip);
      rows.push_back(report::json_of(row));
    }
  }
  return {{"choice", asked.choice}, {asked.choice, std::move(rows)}};
}

}  // namespace lw::gen::otg
