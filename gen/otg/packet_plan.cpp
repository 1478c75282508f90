// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/packet_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/names.h"
#include "gen/otg/limits.h"
#include "gen/otg/packet_frame.h"
#include "gen/otg/port_hub.h"

namespace lw::gen::otg {
namespace {

struct MixPart {
  double size, weight;
};

/// The mixtures of the model, in the order of Flow.SizeWeightPairs.predefined.
struct Mix {
  std::string_view name;
  std::array<MixPart, 4> parts;
};
constexpr Mix kPredefined[] = {
    {"imix", {{{64, 7}, {570, 4}, {1518, 1}, {1518, 0}}}},
    {"ipsec_imix", {{{90, 58.67}, {92, 2}, {594, 23.66}, {1418, 15.67}}}},
    {"ipv6_imix", {{{60, 58.67}, {496, 2}, {594, 23.66}, {1518, 15.67}}}},
    {"standard_imix", {{{58, 58.67}, {62, 2}, {594, 23.66}, {1518, 15.67}}}},
    {"tcp_imix", {{{90, 58.67}, {92, 2}, {594, 23.66}, {1518, 15.67}}}},
};

/// Makes the plan of one flow.
class PacketPlanner {
 public:
  PacketPlanner(const FlowMessage& flow, const LabPlan& plan, ModelReader& reader)
      : flow_(flow), plan_(plan), reader_(reader) {}

  PlannedPackets packets() {
    packets_.name = flow_.name;
    packets_.path = flow_.path;
    packets_.metrics = flow_.metrics;
    packets_.headers = flow_.packet;
    flow_.tx_rx.choice == "device" ? set_hosts(flow_.tx_rx.device) : set_ports(flow_.tx_rx.port);
    set_payload();
    set_sizes();
    set_rate();
    set_span();
    check_headers();
    return std::move(packets_);
  }

 private:
  void set_ports(const FlowPort& ends);
  void set_hosts(const FlowRouter& ends);
  std::vector<std::size_t> hosts_of(const std::vector<std::string>& names, const std::string& path);
  void set_payload();
  void set_sizes();
  void set_step_sizes(const SizeIncrement& sizes);
  void set_weighted_sizes(const SizeWeights& weights);
  void set_rate();
  void set_span();
  void check_headers();
  void check_size(std::uint64_t size, const std::string& path);

  const FlowMessage& flow_;
  const LabPlan& plan_;
  ModelReader& reader_;
  PlannedPackets packets_;
};

void PacketPlanner::set_ports(const FlowPort& ends) {
  packets_.port = find_name(plan_.names.ports, ends.tx_name, flow_.path + ".tx_rx.port.tx_name",
                            "port", reader_)
                      .value_or(0);
  std::vector<std::string> names = ends.rx_names;
  if (!ends.rx_name.empty() && std::ranges::find(names, ends.rx_name) == names.end())
    names.push_back(ends.rx_name);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const auto port =
            find_name(plan_.names.ports, names[i],
                      fmt::format("{}.tx_rx.port.rx_names[{}]", flow_.path, i), "port", reader_))
      packets_.rx_ports.push_back(*port);
}

std::vector<std::size_t> PacketPlanner::hosts_of(const std::vector<std::string>& names,
                                                 const std::string& path) {
  std::vector<std::size_t> hosts;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const auto host = find_name(plan_.names.hosts, names[i], fmt::format("{}[{}]", path, i),
                                    "device's IPv4 or IPv6 address", reader_))
      hosts.push_back(*host);
  if (names.empty()) reader_.refuse(path, "expected a name at least");
  return hosts;
}

void PacketPlanner::set_hosts(const FlowRouter& ends) {
  const auto from = hosts_of(ends.tx_names, ends.path + ".tx_names");
  const auto to = hosts_of(ends.rx_names, ends.path + ".rx_names");
  if (from.empty() || to.empty()) return;
  const bool mesh = ends.mode == "mesh";
  if (!mesh && from.size() != to.size())
    return reader_.refuse(ends.path + ".rx_names",
                          fmt::format("expected as many names as tx_names has, {}, found {}",
                                      from.size(), to.size()));
  if (from.size() * (mesh ? to.size() : 1) > kMostItems)
    return reader_.refuse(ends.path, fmt::format("expected at most {} pairs", kMostItems));
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t j = mesh ? 0 : i; j < (mesh ? to.size() : i + 1); ++j)
      packets_.ends.push_back({from[i], to[j]});
  packets_.port = plan_.hosts[from.front()].port;
  for (const PacketEnds& pair : packets_.ends) {
    const PlannedHost &source = plan_.hosts[pair.from], &target = plan_.hosts[pair.to];
    if (source.port != packets_.port)
      reader_.refuse(ends.path + ".tx_names", "expected addresses at one port");
    if (source.own.ip.index() != target.own.ip.index())
      reader_.refuse(ends.path + ".rx_names",
                     fmt::format("\"{}\" is of another IP version than "
                                 "\"{}\"",
                                 excerpt(target.name), excerpt(source.name)));
    if (std::ranges::find(packets_.rx_ports, target.port) == packets_.rx_ports.end())
      packets_.rx_ports.push_back(target.port);
  }
}

void PacketPlanner::set_payload() {
  if (!flow_.payload) return;
  packets_.payload = flow_.payload->choice;
  packets_.repeat = flow_.payload->fixed.repeat;
  if (flow_.payload->choice != "fixed") return;
  auto bytes = bytes_of_hex(flow_.payload->fixed.pattern);
  if (!bytes || bytes->empty())
    return reader_.refuse(flow_.path + ".payload.fixed.pattern", kHexExpected);
  packets_.pattern = std::move(*bytes);
}

void PacketPlanner::check_size(std::uint64_t size, const std::string& path) {
  if (size == 0 || size > kMostFrame)
    reader_.refuse(path, fmt::format("expected 1 to {} bytes, found {}", kMostFrame, size));
}

void PacketPlanner::set_sizes() {
  const FlowSize& size = flow_.size;
  const std::string path = fmt::format("{}.size.{}", flow_.path, size.choice);
  if (size.choice == "increment") return set_step_sizes(size.increment);
  if (size.choice == "weight_pairs") return set_weighted_sizes(size.weight_pairs);
  if (size.choice == "random") {
    check_size(size.random.min, path + ".min");
    check_size(size.random.max, path + ".max");
    if (size.random.min > size.random.max)
      return reader_.refuse(path, "expected a min that is not above max");
    packets_.sizes = config::MessageSizes::uniform(size.random.min, size.random.max);
    return;
  }
  check_size(size.fixed, path);
  packets_.sizes = config::MessageSizes::fixed(size.fixed);
}

void PacketPlanner::set_step_sizes(const SizeIncrement& sizes) {
  const std::string path = flow_.path + ".size.increment";
  check_size(sizes.start, path + ".start");
  check_size(sizes.end, path + ".end");
  if (sizes.start > sizes.end || sizes.end > kMostFrame || sizes.step == 0)
    return reader_.refuse(path, "expected a start that is not above end, and a step above 0");
  std::vector<std::uint64_t> list;
  for (std::uint64_t size = sizes.start; size <= sizes.end; size += sizes.step)
    list.push_back(size);
  packets_.sizes = config::MessageSizes::listed(std::move(list));
}

void PacketPlanner::set_weighted_sizes(const SizeWeights& weights) {
  std::vector<MixPart> parts;
  if (weights.choice == "custom") {
    for (const SizeWeight& pair : weights.custom)
      parts.push_back({static_cast<double>(pair.size), pair.weight});
  } else {
    const auto* const mix = std::ranges::find(kPredefined, weights.predefined, &Mix::name);
    parts.assign(mix->parts.begin(), mix->parts.end());
  }
  double sum = 0, so_far = 0;
  for (const MixPart& part : parts) {
    check_size(static_cast<std::uint64_t>(part.size), flow_.path + ".size.weight_pairs");
    sum += part.weight >= 0 ? part.weight : NAN;
  }
  if (!(sum > 0) || !std::isfinite(sum))
    return reader_.refuse(flow_.path + ".size.weight_pairs",
                          "expected weights of 0 or more, one of them above 0");
  std::vector<config::MessageSizes::Interval> intervals;
  for (const MixPart& part : parts) {
    so_far += part.weight;
    const auto size = static_cast<std::uint64_t>(part.size);
    if (part.weight > 0) intervals.push_back({size, size, so_far / sum});
  }
  intervals.back().cumulative = 1;
  packets_.sizes = config::MessageSizes::mixture(std::move(intervals));
}

void PacketPlanner::set_rate() {
  using Unit = config::Rate::Unit;
  constexpr double kThousand = 1e3, kMillion = 1e6, kBillion = 1e9, kPercent = 100;
  const FlowRate& rate = flow_.rate;
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  const std::string& unit = rate.choice;
  packets_.rate = unit == "pps"    ? config::Rate{Unit::frames, number(rate.pps)}
                  : unit == "bps"  ? config::Rate{Unit::wire_bits, number(rate.bps)}
                  : unit == "kbps" ? config::Rate{Unit::wire_bits, number(rate.kbps) * kThousand}
                  : unit == "mbps" ? config::Rate{Unit::wire_bits, number(rate.mbps) * kMillion}
                  : unit == "gbps" ? config::Rate{Unit::wire_bits, number(rate.gbps) * kBillion}
                                   : config::Rate{Unit::link, rate.percentage / kPercent};
  if (!(packets_.rate.value > 0))
    reader_.refuse(fmt::format("{}.rate.{}", flow_.path, unit), "expected a rate above 0");
}

void PacketPlanner::set_span() {
  const FlowDuration& duration = flow_.duration;
  const std::string path = fmt::format("{}.duration.{}", flow_.path, duration.choice);
  PacketSpan& span = packets_.span;
  if (duration.choice == "fixed_packets") {
    span.frames = duration.fixed_packets.packets;
    span.delay = duration.fixed_packets.delay;
  } else if (duration.choice == "fixed_seconds") {
    if (!(duration.fixed_seconds.seconds >= 0 && duration.fixed_seconds.seconds <= kMostSeconds))
      return reader_.refuse(path + ".seconds", fmt::format("expected 0 to {} s", kMostSeconds));
    span.time = Duration{static_cast<std::int64_t>(duration.fixed_seconds.seconds * 1e9)};
    span.delay = duration.fixed_seconds.delay;
  } else if (duration.choice == "burst") {
    span.burst = duration.burst.packets;
    if (duration.burst.bursts > 0) {
      if (span.burst > UINT32_MAX || duration.burst.bursts > UINT32_MAX)
        return reader_.refuse(path, fmt::format("expected numbers up to {}", UINT32_MAX));
      span.frames = duration.burst.bursts * span.burst;
    }
    span.gap = duration.burst.inter_burst_gap;
    if (span.burst == 0) reader_.refuse(path + ".packets", "expected a frame at least");
  } else {
    span.delay = duration.continuous.delay;
  }
  for (const FlowTime* time : {&span.delay, &span.gap})
    for (const double value : {time->bytes, time->nanoseconds, time->microseconds})
      if (!(value >= 0 && value <= kMostSeconds * 1e9))
        reader_.refuse(time->path.empty() ? path : time->path,
                       fmt::format("expected 0 to {} s", kMostSeconds));
}

void PacketPlanner::check_headers() {
  const bool tagged =
      !packets_.ends.empty() && plan_.hosts[packets_.ends.front().from].vlan.has_value();
  const bool known = check_order(packets_, tagged, reader_);
  if (!known) return;
  const PacketLayout layout = layout_of(packets_, tagged);
  const std::size_t least = layout.least() + kFcs;
  if (packets_.sizes.smallest() < least && packets_.sizes.largest() > 0 && least > kLeastFrame)
    reader_.refuse(
        flow_.path + ".size",
        fmt::format("headers take {} bytes with FCS: expected sizes from there on, found "
                    "{}",
                    least, packets_.sizes.smallest()));
  if (packets_.metrics.enable && packets_.metrics.latency.enable && !has_room(packets_, layout))
    reader_.refuse(
        flow_.path + ".metrics.latency.enable",
        fmt::format("a signature does not fit: expected sizes from {} bytes on, found {}",
                    least + kSignatureSize, packets_.sizes.smallest()));
  if (!packets_.ends.empty()) {
    const bool v6 = plan_.hosts[packets_.ends.front().from].own.ip.index() == 1;
    if (!(v6 ? layout.ipv6 : layout.ipv4))
      reader_.refuse(flow_.path + ".packet",
                     fmt::format("a flow of devices needs an {} header", v6 ? "ipv6" : "ipv4"));
  }
}

}  // namespace

std::size_t pairs_of(const PlannedPackets& flow) noexcept {
  return std::max<std::size_t>(flow.ends.size(), 1);
}

std::vector<PlannedPackets> plan_packets(const std::vector<FlowMessage>& flows, LabPlan& plan,
                                         ModelReader& reader, std::size_t pairs) {
  std::vector<PlannedPackets> packets;
  for (const FlowMessage& flow : flows) {
    add_name(plan.names.flows, flow.name, packets.size(), flow.path + ".name", reader);
    packets.push_back(PacketPlanner(flow, plan, reader).packets());
    pairs += pairs_of(packets.back());
  }
  if (pairs > kMostPairs)
    reader.refuse("flows", fmt::format("expected flows with at most {} pairs of devices, found {}",
                                       kMostPairs, pairs));
  return packets;
}

}  // namespace lw::gen::otg
