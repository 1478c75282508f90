// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/network_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::gen {
namespace {

using sim::Node, sim::PortResult, sim::Topology;

constexpr double kWidth = 760, kHeight = 520;

struct Point {
  double x = 0, y = 0;
};

/// Positions of all nodes. A switch has a part of the circle for its hosts, as wide as they are
/// many.
std::vector<Point> positions_of(const Topology& t) {
  std::vector<Point> positions(t.nodes());
  const auto ports = sim::ports_of(t);
  std::vector<std::vector<Node>> hosts(t.switches.size());
  for (Node host = 0; host < t.hosts.size(); ++host) {
    const Node to = ports[host].front().to;
    hosts[t.is_host(to) ? 0 : to - t.hosts.size()].push_back(host);
  }
  double parts = 0;
  for (const auto& group : hosts) parts += 2 + static_cast<double>(group.size());
  const auto at = [](double angle, double radius) {
    return Point{kWidth / 2 + radius * kWidth / 2 * std::cos(angle),
                 kHeight / 2 + radius * kHeight / 2 * std::sin(angle)};
  };
  double begin = std::numbers::pi / 2;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const double size = (2 + static_cast<double>(hosts[i].size())) / parts * 2 * std::numbers::pi;
    positions[t.hosts.size() + i] = at(begin + size / 2, hosts.size() > 1 ? 0.4 : 0);
    for (std::size_t h = 0; h < hosts[i].size(); ++h) {
      const double share =
          (static_cast<double>(h) + 1) / (static_cast<double>(hosts[i].size()) + 1);
      positions[hosts[i][h]] = at(begin + size * share, 0.86);
    }
    begin += size;
  }
  return positions;
}

/// From blue (idle) to red (full).
std::string colour_of(double share) {
  const double hue = 220 - 220 * std::clamp(share, 0.0, 1.0);
  return fmt::format("hsl({:.0f},70%,48%)", hue);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

/// The use of each direction of a cable that a switch sends into, and the larger of both.
struct CableUse {
  std::string text;
  double share = 0;
};
std::vector<CableUse> uses_of(const NetworkReport& r) {
  std::vector<CableUse> uses(r.file.topology.cables.size());
  for (const PortResult& port : r.result.ports) {
    CableUse& use = uses[port.cable];
    use.share = std::max(use.share, port.utilization);
    use.text +=
        fmt::format("\n{}: {:.1f} % used, queue up to {}, {} marked, {} dropped", r.port_name(port),
                    100 * port.utilization, format_bytes(static_cast<double>(port.late.most_bytes)),
                    port.all.marked, port.all.dropped);
  }
  return uses;
}

}  // namespace

std::string network_svg(const NetworkReport& r) {
  const Topology& t = r.file.topology;
  const auto positions = positions_of(t);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">",
      kWidth, kHeight);
  const auto uses = uses_of(r);
  for (std::size_t i = 0; i < t.cables.size(); ++i) {
    const auto& cable = t.cables[i];
    const Point a = positions[cable.a], b = positions[cable.b];
    svg += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{:.1f}\"><title>{} - {}: {}, {}{}</title></line>",
        a.x, a.y, b.x, b.y, colour_of(uses[i].share), 2 + 4 * std::min(1.0, uses[i].share),
        escaped(t.name(cable.a)), escaped(t.name(cable.b)), format_bit_rate(cable.rate_bps),
        format_set_duration(cable.delay), escaped(uses[i].text));
  }
  for (Node node = 0; node < t.nodes(); ++node) {
    const Point p = positions[node];
    const std::string name = escaped(t.name(node));
    constexpr std::size_t kNamed = 64;  // more names would cover each other
    svg += t.is_host(node)
               ? fmt::format(
                     "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\" fill=\"#6b7280\">"
                     "<title>{}</title></circle>",
                     p.x, p.y, name)
               : fmt::format(
                     "<g><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"22\" height=\"16\" rx=\"3\" "
                     "fill=\"#6b7280\"><title>{}</title></rect></g>",
                     p.x - 11, p.y - 8, name);
    if (t.nodes() <= kNamed)
      svg += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" "
          "fill=\"currentColor\">{}</text>",
          p.x, p.y - 12, name);
  }
  return svg + "</svg>";
}

std::vector<report::Plot> network_plots(const NetworkReport& r) {
  constexpr std::size_t kMost = 6;
  std::vector<std::uint32_t> busiest(r.result.ports.size());
  std::iota(busiest.begin(), busiest.end(), 0u);
  std::ranges::stable_sort(busiest, std::greater{}, [&](std::uint32_t i) {
    return std::pair(r.result.ports[i].late.most_bytes, r.result.ports[i].utilization);
  });
  if (busiest.size() > kMost) busiest.resize(kMost);
  report::Plot queue{.title = "Queues of the fullest ports",
                     .x = {.label = "time, ms"},
                     .y = {.label = "largest queue of the interval, MB"},
                     .curves = {}};
  report::Plot use{.title = "Use of these ports",
                   .x = {.label = "time, ms"},
                   .y = {.label = "share of the rate, %"},
                   .curves = {}};
  for (const std::uint32_t port : busiest) {
    report::PlotCurve bytes{
        .name = r.port_name(r.result.ports[port]), .points = {}, .marked = false};
    report::PlotCurve share = bytes;
    for (const sim::PortSample& s : r.result.samples) {
      if (s.port != port) continue;
      const double ms = static_cast<double>(to_ns(s.at)) / 1e6;
      bytes.points.push_back({ms, static_cast<double>(s.most_bytes) / 1e6, {}, {}});
      share.points.push_back({ms, 100 * s.utilization, {}, {}});
    }
    queue.curves.push_back(std::move(bytes));
    use.curves.push_back(std::move(share));
  }
  return {queue, use};
}

}  // namespace lw::gen
