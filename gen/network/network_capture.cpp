// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/network_capture.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lw::gen {
namespace {

std::optional<sim::Node> node_named(const sim::Topology& topology, std::string_view name) {
  for (std::size_t node = 0; node < topology.nodes(); ++node)
    if (topology.name(static_cast<sim::Node>(node)) == name) return static_cast<sim::Node>(node);
  return std::nullopt;
}

/// The names of the nodes at the other ends of a node's cables, at most ten.
std::vector<std::string> neighbours_of(const sim::Topology& topology, sim::Node node) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> names;
  for (const sim::CableConfig& cable : topology.cables) {
    if (cable.a != node && cable.b != node) continue;
    if (names.size() == kMost) {
      names.emplace_back("...");
      break;
    }
    names.push_back(topology.name(cable.a == node ? cable.b : cable.a));
  }
  return names;
}

}  // namespace

auto NetworkCapture::find(const std::string& point, const sim::Topology& topology)
    -> Result<std::vector<Point>> {
  const std::size_t colon = point.find(':');
  if (colon == std::string::npos)
    return fail(
        fmt::format("--pcap-at: expected FROM:TO, two neighbours of the network, found "
                    "\"{}\"",
                    point));
  std::string names[] = {point.substr(0, colon), point.substr(colon + 1)};
  const std::vector<std::string> suffixes = sim::cable_suffixes(topology);
  const std::size_t hash = names[1].rfind('#');
  const std::string only = hash == std::string::npos ? "" : names[1].substr(hash);
  if (std::ranges::find(suffixes, only) != suffixes.end())
    names[1].resize(std::min(hash, names[1].size()));
  sim::Node nodes[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const auto node = node_named(topology, names[i]);
    if (!node)
      return fail(fmt::format("--pcap-at {}: expected the name of a host or switch, found \"{}\"",
                              point, names[i]));
    nodes[i] = *node;
  }
  std::vector<Point> found;
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    const sim::CableConfig& cable = topology.cables[i];
    if (!only.empty() && suffixes[i] != only) continue;
    if (cable.a == nodes[0] && cable.b == nodes[1]) found.push_back({i, true});
    if (cable.b == nodes[0] && cable.a == nodes[1]) found.push_back({i, false});
  }
  if (found.empty())
    return fail(fmt::format("--pcap-at {}: expected a neighbour of {} ({}), found \"{}\"", point,
                            names[0], fmt::join(neighbours_of(topology, nodes[0]), ", "),
                            names[1]));
  return found;
}

Result<NetworkCapture> NetworkCapture::create(const std::string& file,
                                              const std::vector<std::string>& points,
                                              const sim::Topology& topology) {
  if (points.empty())
    return fail("--pcap: with --network, --pcap-at FROM:TO says which ports are captured");
  std::vector<Point> all;
  std::vector<capture::Interface> interfaces;
  const std::vector<std::string> suffixes = sim::cable_suffixes(topology);
  for (const std::string& point : points) {
    const auto found = find(point, topology);
    if (!found) return std::unexpected(found.error());
    for (const Point& each : *found) {
      all.push_back(each);
      const bool named = point.find('#') != std::string::npos;
      interfaces.emplace_back().name = point + (named ? "" : suffixes[each.cable]);
    }
  }
  auto writer = capture::Writer::create(file, capture::Format::pcapng, interfaces);
  if (!writer) return std::unexpected(writer.error());
  return NetworkCapture(std::move(all), std::move(*writer));
}

void NetworkCapture::attach(sim::Network& network) {
  for (std::uint32_t i = 0; i < points_.size(); ++i)
    network.link(points_[i].cable, points_[i].forward).on_enter =
        [this, i, &network](Instant at, const transport::Packet& packet) {
          keep(at, i, packet, network.complete_until());
        };
}

void NetworkCapture::keep(Instant at, std::uint32_t interface, const transport::Packet& packet,
                          Instant complete_until) {
  if (frames_ == kMostFrames) {
    ++further_;
    return;
  }
  waiting_.push({at, frames_++, interface, transport::to_frame(packet)});
  write_until(complete_until);
}

/// Writes the frames before `end`. A failure is kept in the writer: close() returns it.
void NetworkCapture::write_until(Instant end) {
  for (; !waiting_.empty() && waiting_.top().at < end; waiting_.pop()) {
    const Entry& next = waiting_.top();
    const auto size = static_cast<std::uint32_t>(next.frame.size());
    static_cast<void>(writer_.write(next.at, next.frame, size, next.interface));
  }
}

Result<void> NetworkCapture::close() {
  write_until(Instant::max());
  return writer_.close();
}

}  // namespace lw::gen
