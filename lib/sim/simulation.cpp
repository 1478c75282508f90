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

SimLink& Simulation::add_link(emulator::Direction direction, const SimLinkConfig& config) {
  // The delay may be 0: then a step is 1 ns, the clock's resolution.
  shortest_ = std::max(Duration{1}, std::min(shortest_, config.least_delay()));
  links_.push_back({std::make_unique<SimLink>(config, store_), direction});
  add_source(side_to(direction), {.link = links_.back().link.get()});
  return *links_.back().link;
}

Host& Simulation::add_host(const perf::NicConfig& nic, transport::Memory memory, SimLink& out) {
  const auto number = static_cast<std::uint16_t>(hosts_.size());
  const auto placed =
      std::ranges::find_if(links_, [&](const auto& l) { return l.link.get() == &out; });
  assert(placed != links_.end());
  auto host = std::make_unique<Host>(number, nic, std::move(memory), store_, out);
  const std::uint32_t source = add_source(side_from(placed->direction), {.host = host.get()});
  hosts_.push_back({std::move(host), source});
  return *hosts_.back().host;
}

/// Updates the next event of all sources, after the other side or a caller has sent or posted.
void Simulation::Side::refresh() noexcept {
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    events.set(i, sources[i].link ? sources[i].link->next_at() : sources[i].host->next_at());
  }
}

/// Delivers the link's front(). `host` null: the packet is dropped.
void Simulation::deliver(SimLink& link, const transport::Packet& packet, Host* host, Instant now) {
  if (link.on_leave) [[unlikely]]
    link.on_leave(now, packet);
  host ? host->receive(packet, now) : store_.release(packet.data);
  link.pop();
}

[[gnu::flatten]] void Simulation::run_side(Side& side, Instant end) {
  for (;;) {
    const std::uint32_t number = side.events.next_source();
    const Instant now = side.events.at(number);
    if (now >= end) return;
    const Source& source = side.sources[number];
    ++events_;
    if (SimLink* link = source.link) {
      link->release_held(now);
      const transport::Packet& packet = link->front();
      const PlacedHost* to = find_placed(packet.to_host);
      deliver(*link, packet, to ? to->host.get() : nullptr, now);
      if (to) side.events.set(to->source, to->host->next_at());
      side.events.set(number, link->next_at());
    } else {
      Host& host = *source.host;
      host.act(now);
      side.events.set(number, host.next_at());
    }
  }
}

/// run_side() for one link and the host behind it. Times stay in registers, and nothing is looked
/// up: 142 instead of 172 instructions for a packet and its ACK.
[[gnu::flatten]] void Simulation::run_pair(SimLink& link, Host& host, Instant end) {
  Instant arrives = link.next_at(), acts = host.next_at();
  for (;;) {
    const bool arrival = arrives <= acts;  // the link first, as in run_side()
    const Instant now = arrival ? arrives : acts;
    if (now >= end) return;
    ++events_;
    if (arrival) {
      link.release_held(now);
      const transport::Packet& packet = link.front();
      deliver(link, packet, packet.to_host == host.number() ? &host : find_host(packet.to_host),
              now);
      arrives = link.next_at();
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
  const Duration step = until - first < shortest_ ? until - first + Duration{1} : shortest_;
  for (Side& side : sides_) {
    if (side.sources.empty()) continue;
    side.pair() ? run_pair(*side.sources[0].link, *side.sources[1].host, first + step)
                : run_side(side, first + step);
  }
  now_ = std::max(now_, first + step - Duration{1});
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
