// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/fabric.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/toml/settings.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "emulator/path.h"
#include "sim/network/topology.h"

namespace lw::gen {
namespace {

using namespace config;
using sim::kLongestCableNs;

enum class FabricKind : std::uint8_t { clos, rail, two_sites };

/// The settings of a [fabric]. What is 0 has a default that depends on others.
struct Keys {
  FabricKind kind = FabricKind::clos;
  std::uint32_t hosts = 0, leaves = 0, spines = 4, rails = 8, long_links = 1;
  double oversubscription = 1, rate_bps = 100e9, long_rate_bps = 0;
  Duration delay{100}, long_delay{};
  bool ecmp = true;

  static const FigureTable& figures();
};

constexpr std::pair<std::string_view, FabricKind> kKinds[] = {
    {"clos", FabricKind::clos}, {"rail", FabricKind::rail}, {"two-sites", FabricKind::two_sites}};

const FigureTable& Keys::figures() {
  using Row = FigureOf<Keys>;
  constexpr double kMostOversubscription = 1000;
  static constexpr Figure kRows[] = {
      Row::word<&Keys::kind, kKinds>("kind", "Form of the network."),
      Row::of<&Keys::hosts>("hosts", "Hosts of a site; of `rail`, servers.")
          .from(1, sim::kMostHosts),
      Row::of<&Keys::leaves>("leaves", "Leaves of a site; 0: one for 16 hosts.")
          .from(1, sim::kMostSwitches)
          .if_any(),
      Row::of<&Keys::spines>("spines", "Spines of a site, each with a cable to each leaf.")
          .from(1, sim::kMostSwitches),
      Row::of<&Keys::rails>("rails", "Of `rail`: NICs of a server, and leaves.")
          .from(1, sim::kMostSwitches),
      Row::of<&Keys::rate_bps>("rate", "Rate of a host's cable.", Unit::bits_per_second)
          .from(kLowestRate, kHighestRate),
      Row::of<&Keys::oversubscription>("oversubscription",
                                       "Rate of a leaf's hosts over that of its cables to spines.")
          .from(1e-3, kMostOversubscription),
      Row::of<&Keys::delay>("delay", "Delay of each cable within a site.", Unit::ns)
          .from(0, kLongestCableNs),
      Row::of<&Keys::long_links>("long_links", "Of `two-sites`: cables between the sites.")
          .from(1, sim::kMostPorts),
      Row::of<&Keys::long_rate_bps>("long_rate", "Rate of each of them; 0: that of hosts.",
                                    Unit::bits_per_second)
          .from(kLowestRate, kHighestRate)
          .if_any(),
      Row::of<&Keys::ecmp>("ecmp", "Packets are spread over equal ways.").set_to()};
  static constexpr FigureTable kTable{"A network by template.", kRows};
  return kTable;
}

/// Builds a fabric from its keys.
class Builder {
 public:
  explicit Builder(const Keys& keys) : keys_(keys) {}

  Fabric build() {
    if (keys_.kind == FabricKind::rail) {
      add_rails();
    } else if (keys_.kind == FabricKind::clos) {
      add_site("");
    } else {
      for (const char* site : {"a-", "b-"}) {
        add_site(site);
        add_border(site);
      }
      for (std::uint32_t i = 0; i < keys_.long_links; ++i)
        add_cable("a-border", "b-border", keys_.long_rate_bps, keys_.long_delay);
    }
    return std::move(fabric_);
  }

 private:
  void add_cable(std::string a, std::string b, double rate_bps, Duration delay) {
    fabric_.cables.push_back({std::move(a), std::move(b), rate_bps, delay});
  }
  static std::string leaf(const std::string& site, std::uint32_t number) {
    return fmt::format("{}leaf{}", site, number);
  }
  static std::string spine(const std::string& site, std::uint32_t number) {
    return fmt::format("{}spine{}", site, number);
  }

  /// Switches of two levels: each leaf has a cable to each spine.
  void add_switches(const std::string& site, std::uint32_t leaves, double hosts_of_a_leaf) {
    for (std::uint32_t l = 1; l <= leaves; ++l) fabric_.switches.push_back(leaf(site, l));
    for (std::uint32_t s = 1; s <= keys_.spines; ++s) fabric_.switches.push_back(spine(site, s));
    const double uplink =
        hosts_of_a_leaf * keys_.rate_bps / (keys_.spines * keys_.oversubscription);
    for (std::uint32_t l = 1; l <= leaves; ++l)
      for (std::uint32_t s = 1; s <= keys_.spines; ++s)
        add_cable(leaf(site, l), spine(site, s), uplink, keys_.delay);
  }

  /// Hosts in equal groups at leaves.
  void add_site(const std::string& site) {
    const std::uint32_t group = (keys_.hosts + keys_.leaves - 1) / keys_.leaves;
    add_switches(site, keys_.leaves, group);
    for (std::uint32_t h = 1; h <= keys_.hosts; ++h) {
      fabric_.hosts.push_back(fmt::format("{}h{}", site, h));
      add_cable(fabric_.hosts.back(), leaf(site, (h - 1) / group + 1), keys_.rate_bps, keys_.delay);
    }
  }

  /// The switch at the long cables. The spines together have their rate.
  void add_border(const std::string& site) {
    const std::string border = site + "border";
    fabric_.switches.push_back(border);
    const double rate = keys_.long_links * keys_.long_rate_bps / keys_.spines;
    for (std::uint32_t s = 1; s <= keys_.spines; ++s)
      add_cable(spine(site, s), border, rate, keys_.delay);
  }

  /// The NICs of the same number of all servers are at one leaf.
  void add_rails() {
    add_switches("", keys_.rails, keys_.hosts);
    for (std::uint32_t h = 1; h <= keys_.hosts; ++h) {
      for (std::uint32_t r = 1; r <= keys_.rails; ++r) {
        fabric_.hosts.push_back(fmt::format("h{}-nic{}", h, r));
        add_cable(fabric_.hosts.back(), leaf("", r), keys_.rate_bps, keys_.delay);
      }
    }
  }

  const Keys& keys_;
  Fabric fabric_;
};

/// Refuses keys of other kinds than `kind`.
void refuse_others(const Table& table, FabricKind kind) {
  const auto only = [&](const char* key, FabricKind of, const char* name) {
    if (kind != of && table.has(key))
      table.refuse(key, fmt::format("expected kind = \"{}\" beside it", name));
  };
  only("rails", FabricKind::rail, "rail");
  for (const char* key : {"distance", "long_links", "long_rate"})
    only(key, FabricKind::two_sites, "two-sites");
  if (kind == FabricKind::rail && table.has("leaves"))
    table.refuse("leaves", "expected rails in its place: a leaf for each");
}

/// Sets what has a default that depends on other keys.
void set_defaults(const Table& table, Keys& keys) {
  constexpr std::uint32_t kHostsOfALeaf = 16;
  const std::pair<const char*, const char*> required[] = {{"kind", "clos, rail or two-sites"},
                                                          {"hosts", "a number of hosts"}};
  for (const auto& [key, what] : required)
    if (!table.has(key)) table.refuse(key, fmt::format("expected {}, found none", what));
  keys.hosts = std::max(keys.hosts, 1U);
  if (keys.leaves == 0) keys.leaves = (keys.hosts + kHostsOfALeaf - 1) / kHostsOfALeaf;
  if (keys.long_rate_bps == 0) keys.long_rate_bps = keys.rate_bps;
  if (keys.kind != FabricKind::two_sites) return;
  const auto km = table.require("distance", parse_kilometres, "that of the sites: \"300km\"");
  keys.long_delay = delay_of_fibre(km.value_or(0));
}

void check_numbers(const Table& table, Keys& keys) {
  const bool two = keys.kind == FabricKind::two_sites;
  const std::uint64_t all_hosts =
      std::uint64_t{keys.hosts} * (keys.kind == FabricKind::rail ? keys.rails
                                   : two                         ? 2
                                                                 : 1);
  if (all_hosts > sim::kMostHosts) {
    table.refuse("hosts", fmt::format("expected at most {} hosts in all, found {}", sim::kMostHosts,
                                      all_hosts));
    keys.hosts = 1;
  }
  const std::uint64_t leaves_of_all = keys.kind == FabricKind::rail ? keys.rails : keys.leaves;
  const std::uint64_t switches = (leaves_of_all + keys.spines + (two ? 1 : 0)) * (two ? 2 : 1);
  if (switches > sim::kMostSwitches) {
    table.refuse(
        fmt::format("expected at most {} switches in all, found {}", sim::kMostSwitches, switches));
    keys.leaves = keys.spines = keys.rails = 1;
  }
  if (keys.leaves > keys.hosts && keys.kind != FabricKind::rail)
    table.refuse("leaves", fmt::format("expected at most {}, one for each host, found {}",
                                       keys.hosts, keys.leaves));
}

}  // namespace

Duration delay_of_fibre(double km) {
  emulator::Path fibre;
  fibre.spans.push_back({.km = km});
  return emulator::fibre_delay(fibre, emulator::Direction::west_to_east);
}

Fabric read_fabric(const Table& table) {
  Keys keys;
  read_settings(table, keys);
  set_defaults(table, keys);
  check_numbers(table, keys);
  refuse_others(table, keys.kind);
  table.finish();
  Fabric fabric = Builder(keys).build();
  fabric.ecmp = keys.ecmp;
  return fabric;
}

const FigureTable& fabric_settings() { return Keys::figures(); }

void* fabric_defaults() {
  static Keys defaults;
  return &defaults;
}

}  // namespace lw::gen
