// SPDX-License-Identifier: BSD-3-Clause
#include "sim/simulation.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace lw::sim {

Line& Simulation::add_line(const LineConfig& config) {
  lines_.push_back(std::make_unique<Line>(config, store_));
  source_of_line_.push_back(heap_.add());
  sources_.push_back({.line = lines_.back().get()});
  return *lines_.back();
}

Host& Simulation::add_host(const NicConfig& nic, transport::Memory memory, Line& out) {
  const auto number = static_cast<std::uint16_t>(hosts_.size());
  hosts_.push_back(std::make_unique<Host>(number, nic, std::move(memory), store_, out));
  source_of_host_.push_back(heap_.add());
  sources_.push_back({.host = hosts_.back().get()});
  const auto line = std::ranges::find_if(lines_, [&](const auto& l) { return l.get() == &out; });
  assert(line != lines_.end());
  line_of_host_.push_back(source_of_line_[static_cast<std::size_t>(line - lines_.begin())]);
  return *hosts_.back();
}

bool Simulation::post(Host& host, std::uint32_t qp, const transport::WorkRequest& request) {
  const bool taken = host.post(qp, request, now_);
  settle(host);
  return taken;
}

void Simulation::settle(Host& host) {
  heap_.set(source_of_host_[host.number()], host.next_at());
  heap_.set(line_of_host_[host.number()], host.out().next_at());
}

void Simulation::deliver(Line& line) {
  const transport::Packet packet = line.leave();
  if (packet.to_host >= hosts_.size()) return store_.release(packet.data);
  Host& host = *hosts_[packet.to_host];
  host.receive(packet, now_);
  settle(host);
}

bool Simulation::step() {
  if (sources_.empty() || heap_.next_at() == Instant::max()) return false;
  now_ = heap_.next_at();
  ++events_;
  const std::uint32_t number = heap_.next_source();
  const Source& source = sources_[number];
  if (source.line) {
    deliver(*source.line);
    heap_.set(number, source.line->next_at());
  } else {
    source.host->act(now_);
    settle(*source.host);
  }
  return true;
}

void Simulation::run_until(Instant until) {
  while (!sources_.empty() && heap_.next_at() <= until) step();
  now_ = std::max(now_, until);
}

bool Simulation::run_to_rest(Instant until) {
  while (!sources_.empty() && heap_.next_at() <= until && step()) {
  }
  return sources_.empty() || heap_.next_at() == Instant::max();
}

}  // namespace lw::sim
