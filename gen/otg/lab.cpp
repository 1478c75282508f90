// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/lab.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/names.h"
#include "gen/otg/limits.h"
#include "gen/otg/packet_plan.h"
#include "nic/clock.h"

namespace lw::gen::otg {
namespace {

/// Bytes of a frame around the payload of its packet: Ethernet, IPv6, UDP, BTH, RETH, ImmDt, pad
/// and ICRC.
constexpr std::uint32_t kMostHeaders = 14 + 40 + 8 + 12 + 16 + 4 + 3 + 4;
constexpr std::uint16_t kDeepRing = 4096;  // the burst of a deep window must fit

/// Bytes of a flow's longest frame, without FCS.
std::size_t longest_of(const PlannedPackets& flow) noexcept {
  return PacketFrame::length_of(flow.sizes.largest());
}

std::uint32_t buffer_size_of(const LabPlan& plan) noexcept {
  std::uint32_t longest = nic::PoolConfig{}.frame_size;
  for (const PlannedQp& qp : plan.qps) longest = std::max(longest, qp.ib_mtu + kMostHeaders);
  for (const PlannedPackets& flow : plan.packets)
    longest = std::max(longest, static_cast<std::uint32_t>(longest_of(flow)));
  return longest;
}

/// Indices of `items` whose names are asked for; all, if none are. Unknown names are problems.
template <class Items>
std::vector<std::size_t> chosen(const Items& items, const std::vector<std::string>& names,
                                const char* path, ModelReader& reader) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < items.size() && names.empty(); ++i) indices.push_back(i);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found =
        std::ranges::find(items, names[i], [](const auto& item) { return std::string(item.name); });
    if (found == items.end())
      reader.refuse(fmt::format("{}[{}]", path, i),
                    fmt::format("the configuration has no \"{}\"", excerpt(names[i])));
    else
      indices.push_back(static_cast<std::size_t>(found - items.begin()));
  }
  return indices;
}

}  // namespace

Lab::Lab(LabPlan plan, std::string folder, Ports ports)
    : parts_{.plan = std::move(plan), .ports = std::move(ports)},
      folder_(std::move(folder)),
      frame_size_(buffer_size_of(parts_.plan)) {}

Lab::~Lab() = default;

Result<std::unique_ptr<Lab>> Lab::open(LabPlan plan, std::string folder,
                                       const std::atomic<bool>& stop) {
  std::vector<std::string> names;
  for (const PlannedPort& port : plan.ports) names.push_back(port.spec);
  auto ports = Ports::open(names, false,
                           {.port = {.receive_ring = kDeepRing},
                            .sends_flows = false,
                            .frame_size = buffer_size_of(plan),
                            .cores = 1});
  if (!ports) return std::unexpected(ports.error());
  std::unique_ptr<Lab> lab(new Lab(std::move(plan), std::move(folder), std::move(*ports)));
  lab->wait_for_links(stop);
  if (auto known = lab->check_rates(); !known) return std::unexpected(known.error());
  if (auto fits = lab->check_mtus(); !fits) return std::unexpected(fits.error());
  lab->build();
  ModelReader reader;
  if (lab->parts_.plan.starts) lab->set_peers({}, true, reader);
  return lab;
}

void Lab::wait_for_links(const std::atomic<bool>& stop) {
  constexpr Duration kTime = std::chrono::seconds(2);
  warnings_ = parts_.plan.warnings;
  std::vector<nic::Port>& all = parts_.ports.all();
  parts_.samples.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto up = all[i].wait_link(kTime, stop);
    parts_.samples[i].begun = up.has_value();
    if (!up) warnings_.push_back(fmt::format("ports[{}]: {}", i, up.error().message));
  }
}

Result<void> Lab::check_rates() const {
  for (const PlannedQp& qp : parts_.plan.qps)
    if (qp.share_percent > 0 && parts_.line_bps(qp.rated_port) <= 0)
      return fail(fmt::format(
          "ports[{}].location: the port has no line rate that target_line_rate is a share of: "
          "expected one after the port, \"{},rate=10Gb/s\"",
          qp.rated_port, parts_.plan.ports[qp.rated_port].location));
  for (const PlannedPackets& flow : parts_.plan.packets)
    if (auto known = check_rate(flow); !known) return known;
  return {};
}

Result<void> Lab::check_rate(const PlannedPackets& flow) const {
  const auto needs = [](const FlowTime& time) { return time.choice == "bytes" && time.bytes > 0; };
  const bool of_line = flow.rate.unit == config::Rate::Unit::link || needs(flow.span.delay) ||
                       (flow.span.burst > 0 && needs(flow.span.gap));
  if (!of_line || parts_.line_bps(flow.port) > 0) return {};
  return fail(fmt::format(
      "{}: the port has no line rate that a percentage, or a time in bytes, is of: expected one "
      "after the port, \"{},rate=10Gb/s\"",
      flow.path, parts_.plan.ports[flow.port].location));
}

Result<void> Lab::check_mtus() const {
  for (const PlannedQp& qp : parts_.plan.qps) {
    const PlannedHost& host = parts_.plan.hosts[qp.host];
    if (auto fits = check_mtu(parts_.ports.all()[host.port], fmt::format("ib_mtu {}", qp.ib_mtu),
                              qp.ib_mtu + kMostHeaders, host.vlan ? 1 : 0);
        !fits)
      return fits;
  }
  for (const PlannedPackets& flow : parts_.plan.packets)
    if (auto fits = check_size(flow); !fits) return fits;
  return {};
}

Result<void> Lab::check_size(const PlannedPackets& flow) const {
  if (longest_of(flow) > frame_size_)
    return fail(
        fmt::format("{}.size: expected frames of at most {} bytes, as long as those of the "
                    "configuration that runs, found {}",
                    flow.path, frame_size_ + kFcs, longest_of(flow) + kFcs));
  return check_mtu(parts_.ports.all()[flow.port], fmt::format("flow \"{}\"", flow.name),
                   longest_of(flow), 0);
}

void Lab::build() {
  for (nic::Port& port : parts_.ports.all())
    parts_.hubs.push_back(std::make_unique<PortHub>(port, parts_.ports.pool()));
  for (std::size_t i = 0; i < parts_.plan.qps.size(); ++i)
    parts_.runs.push_back(std::make_unique<QpRun>(
        parts_.plan, i, parts_.line_bps(parts_.plan.qps[i].rated_port), parts_.clock));
  for (std::size_t i = 0; i < parts_.plan.hosts.size(); ++i) {
    std::vector<QpRun*> own;
    for (const auto& run : parts_.runs)
      if (run->planned().host == i) own.push_back(run.get());
    parts_.hosts.push_back(
        std::make_unique<LabHost>(parts_.plan, i, *parts_.hubs[parts_.plan.hosts[i].port], own));
  }
  for (const auto& hub : parts_.hubs) hub->complete();
  parts_.packets = std::make_unique<PacketFlows>();
  add_packets(std::exchange(parts_.plan.packets, {}));
  for (std::size_t i = 0; i < parts_.hubs.size(); ++i) {
    parts_.samples[i].link = parts_.hubs[i]->port().link_up();
    parts_.samples[i].changed_ns = nic::wall_clock_ns();
  }
}

void Lab::add_packets(std::vector<PlannedPackets> flows) {
  for (PlannedPackets& flow : flows) {
    const std::size_t port = flow.port;
    parts_.packets->add(std::make_unique<PacketFlow>(
        std::move(flow), parts_.packets->free_number(), parts_.plan, parts_.hosts,
        PacketFlow::Port{*parts_.hubs[port], parts_.line_bps(port)}, parts_.clock));
  }
  if (parts_.packets->all().empty()) return;
  for (std::size_t i = 0; i < parts_.hubs.size(); ++i)
    parts_.hubs[i]->set_watch(*parts_.packets, i);
}

void Lab::append(const std::vector<FlowMessage>& flows, ModelReader& reader) {
  const PlanNames names = parts_.plan.names;
  std::size_t pairs = 0;
  for (const auto& flow : parts_.packets->all()) pairs += pairs_of(flow->planned());
  std::vector<PlannedPackets> planned = plan_packets(flows, parts_.plan, reader, pairs);
  if (parts_.packets->all().size() + planned.size() > kMostPacketFlows)
    reader.refuse("flows", fmt::format("expected at most {} flows", kMostPacketFlows));
  for (const PlannedPackets& flow : planned) {
    if (!reader.problems().empty()) break;
    const auto known = check_rate(flow), fits = check_size(flow);
    if (!known || !fits) reader.refuse(flow.path, (known ? fits : known).error().message);
  }
  if (reader.problems().empty())
    add_packets(std::move(planned));
  else
    parts_.plan.names = names;
}

void Lab::remove(const std::vector<std::string>& names, ModelReader& reader) {
  const auto flows = chosen(parts_.packets->names(), names, "flows", reader);
  if (!reader.problems().empty()) return;
  for (const std::string& name : names) parts_.plan.names.flows.erase(name);
  parts_.packets->remove(names);
}

Result<void> Lab::poll() {
  const Instant now = nic::now();
  bool worked = false;
  for (const auto& hub : parts_.hubs) worked |= hub->receive() > 0;
  for (const auto& host : parts_.hosts) {
    const auto did = host->work(now);
    if (!did) return std::unexpected(did.error());
    worked |= *did;
  }
  for (const auto& run : parts_.runs) run->post(now);
  worked |= parts_.packets->send_due(now);
  for (const auto& hub : parts_.hubs) {
    hub->flush();
    hub->release();
  }
  sample(now);
  worked ? idle_.busy() : rest(now);
  return {};
}

void Lab::rest(Instant now) {
  Duration nap = std::chrono::microseconds(500);
  for (const auto& host : parts_.hosts) nap = std::min(nap, host->pause(now));
  nap = std::min(nap, parts_.packets->pause_until_due(now));
  if (nap == Duration{})
    idle_.yield();
  else
    idle_.nap(nap);
}

void Lab::sample(Instant now) {
  for (const auto& run : parts_.runs) run->meter().sample(now);
  if (now - sampled_ < QpMeter::kRateInterval) return;
  const double seconds = std::chrono::duration<double>(now - sampled_).count();
  sampled_ = now;
  for (std::size_t i = 0; i < parts_.hubs.size(); ++i) sample_port(i, seconds);
  parts_.packets->sample(seconds);
}

void Lab::sample_port(std::size_t port, double seconds) {
  PortRates& sample = parts_.samples[port];
  const PortCounts& counts = parts_.hubs[port]->counts();
  const auto rate = [&](std::uint64_t after, std::uint64_t before) {
    return static_cast<double>(after - before) / seconds;
  };
  sample.rates.frames_tx_rate = rate(counts.sent, sample.before.sent);
  sample.rates.frames_rx_rate = rate(counts.received, sample.before.received);
  sample.rates.bytes_tx_rate = rate(counts.sent_bytes, sample.before.sent_bytes);
  sample.rates.bytes_rx_rate = rate(counts.received_bytes, sample.before.received_bytes);
  sample.before = counts;
  const std::atomic<bool> never{false};
  if (!sample.begun) sample.begun = parts_.hubs[port]->port().wait_link({}, never).has_value();
  note_link(port);
}

void Lab::note_link(std::size_t port) {
  PortRates& sample = parts_.samples[port];
  const bool link = parts_.hubs[port]->port().link_up();
  if (link == sample.link) return;
  sample.link = link;
  sample.changed_ns = nic::wall_clock_ns();
}

void Lab::set_links(const PortLinkState& asked, ModelReader& reader) {
  const auto ports = chosen(parts_.plan.ports, asked.port_names, "port.link.port_names", reader);
  if (!reader.problems().empty()) return;
  for (const std::size_t port : ports) {
    if (!parts_.hubs[port]->port().set_link(asked.state == "up"))
      reader.refuse("port.link", fmt::format("the link of port \"{}\" cannot be set",
                                             parts_.plan.ports[port].name));
    note_link(port);
  }
}

std::string Lab::capture_path(std::size_t port) const {
  const bool pcapng = parts_.plan.ports[port].capture && parts_.plan.ports[port].capture->pcapng;
  return fmt::format("{}/port{}.{}", folder_, port, pcapng ? "pcapng" : "pcap");
}

void Lab::set_captures(const PortCaptureState& asked, ModelReader& reader) {
  const auto ports = chosen(parts_.plan.ports, asked.port_names, "port.capture.port_names", reader);
  if (!reader.problems().empty()) return;
  for (const std::size_t port : ports) {
    const auto& planned = parts_.plan.ports[port].capture;
    if (!planned && !asked.port_names.empty())
      reader.refuse("port.capture.port_names", fmt::format("the configuration has no capture of "
                                                           "port \"{}\"",
                                                           parts_.plan.ports[port].name));
    if (!planned) continue;
    const auto done = asked.state == "start"
                          ? parts_.hubs[port]->begin_capture(capture_path(port), *planned)
                          : parts_.hubs[port]->end_capture();
    if (!done) reader.refuse("port.capture", done.error().message);
  }
}

std::string Lab::capture_of(const CaptureRequest& asked, ModelReader& reader) const {
  const auto ports = chosen(parts_.plan.ports, {asked.port_name}, "port_name", reader);
  if (ports.empty()) return "";
  const std::size_t port = ports.front();
  if (!parts_.plan.ports[port].capture) {
    reader.refuse("port_name", "the configuration has no capture of this port");
  } else if (parts_.hubs[port]->captures()) {
    reader.refuse("port_name", "the capture of this port has not been stopped");
  } else {
    return capture_path(port);
  }
  return "";
}

void Lab::set_peers(const std::vector<std::string>& names, bool up, ModelReader& reader) {
  const auto peers = chosen(parts_.plan.peers, names, "protocol.rocev2.peers.peer_names", reader);
  if (!reader.problems().empty()) return;
  for (const std::size_t peer : peers) {
    if (!up)
      for (const std::size_t qp : parts_.plan.peers[peer].qps)
        for (FlowRun& run : parts_.runs[qp]->flows) run.state = FlowRun::State::stopped;
    parts_.hosts[parts_.plan.peers[peer].host]->want(peer, up);
  }
}

void Lab::set_traffic(const FlowTransmit& asked, ModelReader& reader) {
  const std::size_t of_qps = parts_.plan.flows.size();
  std::vector<NamedFlow> all;
  for (const PlannedFlow& flow : parts_.plan.flows) all.push_back({flow.name});
  for (const NamedFlow& flow : parts_.packets->names()) all.push_back(flow);
  const auto flows = chosen(all, asked.flow_names, "traffic.flow_transmit.flow_names", reader);
  if (!reader.problems().empty()) return;
  const Instant now = nic::now();
  std::vector<std::size_t> cleared;
  for (const std::size_t flow : flows) {
    if (flow < of_qps)
      set_qp_flow(flow, asked.state, cleared);
    else
      set_packets(*parts_.packets->all()[flow - of_qps], asked.state, now);
  }
}

/// `cleared`: QPs whose counters this request has set to 0.
void Lab::set_qp_flow(std::size_t flow, const std::string& asked,
                      std::vector<std::size_t>& cleared) {
  using State = FlowRun::State;
  const State state = asked == "stop"    ? State::stopped
                      : asked == "pause" ? State::paused
                                         : State::started;
  const std::size_t qp = parts_.plan.flows[flow].qp;
  if (asked == "start" && std::ranges::find(cleared, qp) == cleared.end()) {
    cleared.push_back(qp);
    parts_.runs[qp]->clear();
    if (const auto partner = parts_.plan.qps[qp].partner) parts_.runs[*partner]->clear();
  }
  for (FlowRun& run : parts_.runs[qp]->flows)
    if (run.flow == &parts_.plan.flows[flow]) run.state = state;
}

void Lab::set_packets(PacketFlow& flow, const std::string& asked, Instant now) {
  if (asked == "start") flow.start(now);
  if (asked == "resume") flow.resume(now);
  if (asked == "pause") flow.pause(now);
  if (asked == "stop") flow.stop();
}

std::vector<std::string> Lab::silent_flows() const {
  std::vector<std::string> silent;
  for (const auto& flow : parts_.packets->all())
    if (const std::string why = why_silent(*flow); !why.empty())
      silent.push_back(fmt::format("flow \"{}\": {}", excerpt(flow->planned().name), why));
  for (const auto& run : parts_.runs) {
    if (run->is_open() && !run->broken()) continue;
    const char* why = run->broken() ? "has failed: disconnect its peer, and connect it again"
                                    : "is not connected: the flow begins when it is";
    for (const FlowRun& flow : run->flows)
      if (flow.state == FlowRun::State::started)
        silent.push_back(fmt::format("flow \"{}\": QP \"{}\" {}", excerpt(flow.flow->name),
                                     excerpt(run->planned().name), why));
  }
  return silent;
}

/// Empty: its frames leave.
std::string Lab::why_silent(const PacketFlow& flow) const {
  if (flow.state() != PacketFlow::State::started) return "";
  const std::size_t port = flow.planned().port;
  if (!parts_.ports.all()[port].link_up())
    return fmt::format("port \"{}\" has no link: its frames are not sent",
                       excerpt(parts_.plan.ports[port].name));
  return flow.waits() ? "the next hop has not answered: the flow begins when it has" : "";
}

bool Lab::drained() const noexcept {
  return std::ranges::all_of(parts_.runs, [](const auto& run) {
    const bool runs = std::ranges::any_of(
        run->flows, [](const FlowRun& flow) { return flow.state == FlowRun::State::started; });
    return runs || run->drained();
  });
}

bool Lab::settled() const noexcept {
  return std::ranges::all_of(parts_.hosts, [](const auto& host) { return host->settled(); });
}

}  // namespace lw::gen::otg
