// SPDX-License-Identifier: BSD-3-Clause
#include "sim/simulation.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace lw::sim {

std::uint32_t Simulation::add_source(Side& side, Source source) {
  side.sources.push_back(source);
  return side.events.add();
}

Line& Simulation::add_line(emulator::Direction direction, const LineConfig& config) {
  assert(config.least_delay() > Duration{0});
  shortest_ = std::min(shortest_, config.least_delay());
  lines_.push_back({std::make_unique<Line>(config, store_), direction});
  add_source(side_to(direction), {.line = lines_.back().line.get()});
  return *lines_.back().line;
}

Host& Simulation::add_host(const NicConfig& nic, transport::Memory memory, Line& out) {
  const auto number = static_cast<std::uint16_t>(hosts_.size());
  const auto placed =
      std::ranges::find_if(lines_, [&](const auto& l) { return l.line.get() == &out; });
  assert(placed != lines_.end());
  auto host = std::make_unique<Host>(number, nic, std::move(memory), store_, out);
  const std::uint32_t source = add_source(side_from(placed->direction), {.host = host.get()});
  hosts_.push_back({std::move(host), source});
  return *hosts_.back().host;
}

/// The other side, or a caller between two stretches, has put something on the lines or posted.
void Simulation::Side::refresh() noexcept {
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    events.set(i, sources[i].line ? sources[i].line->next_at() : sources[i].host->next_at());
  }
}

/// The line's front(), which has ripened; `host` null: to nobody.
void Simulation::deliver(Line& line, const transport::Packet& packet, Host* host, Instant now) {
  if (line.on_leave) [[unlikely]]
    line.on_leave(now, packet);
  host ? host->receive(packet, now) : store_.release(packet.data);
  line.pop();
}

[[gnu::flatten]] void Simulation::run_side(Side& side, Instant end) {
  for (;;) {
    const std::uint32_t number = side.events.next_source();
    const Instant now = side.events.at(number);
    if (now >= end) return;
    const Source& source = side.sources[number];
    ++events_;
    if (Line* line = source.line) {
      line->ripen(now);
      const transport::Packet& packet = line->front();
      const PlacedHost* to = find_placed(packet.to_host);
      deliver(*line, packet, to ? to->host.get() : nullptr, now);
      if (to) side.events.set(to->source, to->host->next_at());
      side.events.set(number, line->next_at());
    } else {
      Host& host = *source.host;
      host.act(now);
      side.events.set(number, host.next_at());
    }
  }
}

/// The same for a line and the host behind it. Times stay in registers, and nothing is looked up:
/// of the 172 instructions that the loop took for a packet and its ACK, 142 are left.
[[gnu::flatten]] void Simulation::run_pair(Line& line, Host& host, Instant end) {
  Instant arrives = line.next_at(), acts = host.next_at();
  for (;;) {
    const bool arrival = arrives <= acts;  // among equals the line, as it was added first
    const Instant now = arrival ? arrives : acts;
    if (now >= end) return;
    ++events_;
    if (arrival) {
      line.ripen(now);
      const transport::Packet& packet = line.front();
      deliver(line, packet, packet.to_host == host.number() ? &host : find_host(packet.to_host),
              now);
      arrives = line.next_at();
    } else {
      host.act(now);
    }
    acts = host.next_at();
  }
}

bool Simulation::advance(Instant until) {
  Instant first = Instant::max();
  for (Side& side : sides_) {
    side.refresh();
    if (!side.sources.empty()) first = std::min(first, side.events.next_at());
  }
  if (first == Instant::max() || first > until) return false;
  const Duration stretch = until - first < shortest_ ? until - first + Duration{1} : shortest_;
  for (Side& side : sides_) {
    if (side.sources.empty()) continue;
    side.pair() ? run_pair(*side.sources[0].line, *side.sources[1].host, first + stretch)
                : run_side(side, first + stretch);
  }
  now_ = std::max(now_, first + stretch - Duration{1});
  return true;
}

void Simulation::run_until(Instant until) {
  while (advance(until)) {
  }
  now_ = std::max(now_, until);
}

bool Simulation::run_to_rest(Instant until) {
  while (advance(until)) {
  }
  return std::ranges::all_of(sides_, [](const Side& side) {
    return side.sources.empty() || side.events.next_at() == Instant::max();
  });
}

}  // namespace lw::sim
