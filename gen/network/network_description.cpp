// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/network_description.h"

#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "report/table.h"

namespace lw::gen {
namespace {

using report::Align;
using sim::CableConfig, sim::Headroom, sim::Node, sim::SwitchConfig, sim::Topology;

/// Links of one rate and delay.
struct LinkGroup {
  std::size_t count = 0;
  std::string example;
};

std::string links_text(const Topology& t) {
  std::map<std::pair<double, Duration>, LinkGroup> groups;
  for (const CableConfig& cable : t.cables) {
    LinkGroup& group = groups[{cable.rate_bps, cable.delay}];
    if (group.count++ == 0)
      group.example = fmt::format("{} - {}", t.name(cable.a), t.name(cable.b));
  }
  report::TextTable table({{"links", Align::right},
                           {"rate", Align::right},
                           {"delay", Align::right},
                           {"such as", Align::left}});
  for (const auto& [kind, group] : groups)
    table.add_row({std::to_string(group.count), format_bit_rate(kind.first),
                   format_set_duration(kind.second), group.example});
  return table.to_string(2);
}

/// Ports of switches with PFC that need the same headroom.
struct HeadroomGroup {
  std::size_t ports = 0;
  std::string example;
  Headroom terms;
  std::optional<std::uint64_t> given;
};

std::vector<HeadroomGroup> headrooms_of(const Topology& t, const perf::PerfConfig& perf) {
  using Key = std::pair<std::uint64_t, std::optional<std::uint64_t>>;  // needed, given
  std::map<Key, HeadroomGroup> groups;
  const auto ports = sim::ports_of(t);
  for (auto node = static_cast<Node>(t.hosts.size()); node < t.nodes(); ++node) {
    const SwitchConfig& config = t.switches[node - t.hosts.size()];
    if (!config.pause) continue;
    for (const sim::PortEnd& port : ports[node]) {
      const Headroom terms = sim::headroom_of(t, node, port, perf.nic.latency, perf.qp.mtu);
      HeadroomGroup& group = groups[{terms.total(), config.headroom_bytes}];
      if (group.ports++ > 0) continue;
      group.example = fmt::format("{} from {}", t.name(node), t.name(port.to));
      group.terms = terms;
      group.given = config.headroom_bytes;
    }
  }
  std::vector<HeadroomGroup> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

std::string headroom_text(const HeadroomGroup& group) {
  const Headroom& terms = group.terms;
  report::TextTable table({{"headroom, in bytes", Align::left}, {"", Align::right}});
  const std::pair<const char*, std::uint64_t> rows[] = {
      {"cable, both ways", terms.cable},
      {"largest frame here, before the pause", terms.frame_here},
      {"pause frame", terms.pause_frame},
      {"response of the neighbour", terms.response},
      {"largest frame there, begun", terms.frame_there},
      {"interfaces of both ends", terms.interfaces},
      {"needed", terms.total()}};
  for (const auto& [name, bytes] : rows) table.add_row({name, std::to_string(bytes)});
  if (group.given) table.add_row({"given by `headroom`", std::to_string(*group.given)});
  return fmt::format("\n  {} such as {}\n{}", counted(group.ports, "port"), group.example,
                     table.to_string(2));
}

}  // namespace

std::string describe_network(const NetworkFile& file, const perf::PerfConfig& perf) {
  const Topology& t = file.topology;
  std::string text = fmt::format(
      "{}: {}, {}, {}\n\n{}", file.title, counted(t.hosts.size(), "host"),
      counted(t.switches.size(), "switch"), counted(t.cables.size(), "link"), links_text(t));
  for (const HeadroomGroup& group : headrooms_of(t, perf)) text += headroom_text(group);
  return text;
}

}  // namespace lw::gen
