// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/network_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "core/quantity.h"
#include "report/svg_text.h"

namespace lw::gen {
namespace {

using sim::Node, sim::PortResult, sim::Topology;

constexpr double kWidth = 760, kHeight = 520;

struct Point {
  double x = 0, y = 0;
};

/// Cables from each switch to its nearest host.
std::vector<std::uint32_t> levels_of(const Topology& t) {
  const auto ports = sim::ports_of(t);
  std::vector<std::uint32_t> levels(t.nodes(), 0);
  std::vector<Node> reached(t.hosts.size());
  std::iota(reached.begin(), reached.end(), Node{0});
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const sim::PortEnd& port : ports[reached[i]]) {
      if (t.is_host(port.to) || levels[port.to] > 0) continue;
      levels[port.to] = levels[reached[i]] + 1;
      reached.push_back(port.to);
    }
  }
  return levels;
}

/// Positions in layers: hosts at the bottom, in their order; above them the switches by their
/// level. The switches of a level are in the order of the nodes below them.
std::vector<Point> layers_of(const Topology& t, const std::vector<std::uint32_t>& levels) {
  const auto ports = sim::ports_of(t);
  const std::uint32_t most = *std::ranges::max_element(levels);
  std::vector<Point> positions(t.nodes());
  std::vector<double> place(t.nodes());
  std::vector<Node> order(t.hosts.size());
  std::iota(order.begin(), order.end(), Node{0});
  for (std::uint32_t level = 0; level <= most; ++level) {
    if (level > 0) {
      order.clear();
      for (auto node = static_cast<Node>(t.hosts.size()); node < t.nodes(); ++node)
        if (levels[node] == level) order.push_back(node);
    }
    for (const Node node : order) {
      double sum = 0, count = 0;
      for (const sim::PortEnd& port : ports[node]) {
        if (level == 0 || levels[port.to] + 1 != level) continue;
        sum += place[port.to];
        ++count;
      }
      place[node] = count > 0 ? sum / count : 0;
    }
    std::ranges::stable_sort(order, {}, [&](Node node) { return place[node]; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(order.size());
      positions[order[i]] = {kWidth * place[order[i]],
                             kHeight * (1 - (level + 0.5) / (most + 1.0))};
    }
  }
  return positions;
}

/// Positions on a circle. A switch has a part of the circle for its hosts, as wide as they are
/// many.
std::vector<Point> circle_of(const Topology& t) {
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

/// Layers, unless all switches have hosts: a ring of them is drawn as one.
std::vector<Point> positions_of(const Topology& t) {
  const std::vector<std::uint32_t> levels = levels_of(t);
  const bool layered = std::ranges::any_of(levels, [](std::uint32_t level) { return level > 1; });
  return layered ? layers_of(t, levels) : circle_of(t);
}

/// From blue (idle) to red (full).
std::string colour_of(double share) {
  const double hue = 220 - 220 * std::clamp(share, 0.0, 1.0);
  return fmt::format("hsl({:.0f},70%,48%)", hue);
}

/// The use of each direction of a cable that a switch sends into, and the larger of both.
struct CableUse {
  std::string text;
  double share = 0;
};
std::vector<CableUse> uses_of(const NetworkReport& r) {
  std::vector<CableUse> uses(r.file.topology.cables.size());
  const std::vector<std::string> names = r.port_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const PortResult& port = r.result.ports[i];
    CableUse& use = uses[port.cable];
    use.share = std::max(use.share, port.utilization);
    use.text +=
        fmt::format("\n{}: {:.1f} % used, queue up to {}, {} marked, {} dropped", names[i],
                    100 * port.utilization, format_bytes(static_cast<double>(port.late.most_bytes)),
                    port.all.marked, port.all.dropped);
  }
  return uses;
}

}  // namespace

namespace {

std::string line_of(const Topology& t, const sim::CableConfig& cable, const CableUse& use,
                    const std::vector<Point>& positions) {
  const Point a = positions[cable.a], b = positions[cable.b];
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{:.1f}\"><title>{} - {}: {}, {}{}</title></line>",
      a.x, a.y, b.x, b.y, colour_of(use.share), 2 + 4 * std::min(1.0, use.share),
      report::svg_text(t.name(cable.a)), report::svg_text(t.name(cable.b)),
      format_bit_rate(cable.rate_bps), format_set_duration(cable.delay),
      report::svg_text(use.text));
}

std::string mark_of(const Topology& t, Node node, const Point& p) {
  const std::string name = report::svg_text(t.name(node));
  constexpr std::size_t kNamed = 64;  // more names would cover each other
  const bool named = !t.is_host(node) || t.nodes() <= kNamed;
  std::string text =
      t.is_host(node)
          ? fmt::format(
                "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"#6b7280\">"
                "<title>{}</title></circle>",
                p.x, p.y, t.nodes() <= kNamed ? 6 : 2, name)
          : fmt::format(
                "<g><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"22\" height=\"16\" rx=\"3\" "
                "fill=\"#6b7280\"><title>{}</title></rect></g>",
                p.x - 11, p.y - 8, name);
  if (named)
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"currentColor\">{}</text>",
        p.x, p.y - 12, name);
  return text;
}

/// `uses`: of each cable.
std::string drawing_of(const Topology& t, const std::vector<CableUse>& uses) {
  const auto positions = positions_of(t);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"14\">",
      kWidth, kHeight);
  for (std::size_t i = 0; i < t.cables.size(); ++i)
    svg += line_of(t, t.cables[i], uses[i], positions);
  for (Node node = 0; node < t.nodes(); ++node) svg += mark_of(t, node, positions[node]);
  return svg + "</svg>";
}

}  // namespace

std::string network_svg(const NetworkReport& r) { return drawing_of(r.file.topology, uses_of(r)); }

std::string network_svg(const NetworkFile& file) {
  return drawing_of(file.topology, std::vector<CableUse>(file.topology.cables.size()));
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
  const std::vector<std::string> names = r.port_names();
  for (const std::uint32_t port : busiest) {
    report::PlotCurve bytes{.name = names[port], .points = {}, .marked = false};
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
