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

Line& Simulation::add_line(path::Direction direction, const LineConfig& config) {
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

template <bool kFew>
void Simulation::deliver(Side& side, Line& line, Instant now) {
  line.ripen(now);
  const transport::Packet& packet = line.front();
  if (line.on_leave) [[unlikely]]
    line.on_leave(now, packet);
  if (packet.to_host < hosts_.size()) {
    const PlacedHost& placed = hosts_[packet.to_host];
    placed.host->receive(packet, now);
    side.set<kFew>(placed.source, placed.host->next_at());
  } else {
    store_.release(packet.data);
  }
  line.pop();
}

template <bool kFew>
[[gnu::flatten]] void Simulation::run_side(Side& side, Instant end) {
  for (;;) {
    const std::uint32_t number = side.next<kFew>();
    const Instant now = side.events.at(number);
    if (now >= end) return;
    const Source& source = side.sources[number];
    ++events_;
    if (Line* line = source.line) {
      deliver<kFew>(side, *line, now);
      side.set<kFew>(number, line->next_at());
    } else {
      Host& host = *source.host;
      host.act(now);
      side.set<kFew>(number, host.next_at());
    }
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
    side.events.few() ? run_side<true>(side, first + stretch)
                      : run_side<false>(side, first + stretch);
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
