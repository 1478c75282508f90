// SPDX-License-Identifier: BSD-3-Clause
#include "gen/arp/neighbor_table.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <rte_mbuf.h>

#include "nic/clock.h"
#include "nic/idle.h"

namespace lw::gen {
namespace {

// RFC 4861, 10: MAX_UNICAST_SOLICIT and RETRANS_TIMER; Linux uses the same for ARP.
constexpr int kAttempts = 3;
constexpr Duration kBetweenAttempts = std::chrono::seconds(1);
constexpr Duration kPollEvery = std::chrono::microseconds(200);

wire::IpAddress source_of(const roce::FrameFields& frame) {
  if (frame.encapsulation == wire::Encapsulation::ipv4) return frame.ipv4.source;
  return ip_of(frame.ipv6.source);
}

wire::IpAddress destination_of(const roce::FrameFields& frame) {
  if (frame.encapsulation == wire::Encapsulation::ipv4) return frame.ipv4.destination;
  return ip_of(frame.ipv6.destination);
}

bool is_on_network(const nic::Port& port) {
  const auto spec = nic::parse_port_spec(port.name());
  return spec && (spec->as<nic::InterfaceSpec>() || spec->as<nic::PciSpec>());
}

std::vector<OwnAddress> addresses_of(const config::FlowProfile& profile, std::size_t port,
                                     std::size_t ports) {
  std::vector<OwnAddress> own;
  for (std::size_t i = port; i < profile.flows.size(); i += ports) {
    const roce::FrameFields& frame = profile.flows[i].frame;
    own.push_back({frame.source_mac, source_of(frame)});
  }
  const auto& presence = profile.presence;
  for (const wire::IpAddress& ip : presence.addresses) {
    own.push_back({presence.mac.value_or(profile.flows.front().frame.source_mac), ip});
  }
  return own;
}

bool needs_responder(const config::FlowProfile& profile, std::size_t port, std::size_t ports) {
  if (profile.presence.wanted) return true;
  for (std::size_t i = port; i < profile.flows.size(); i += ports) {
    if (profile.flows[i].resolve_mac) return true;
  }
  return false;
}

using Request = std::pair<std::size_t, wire::IpAddress>;       // port and target
using Requests = std::map<Request, std::vector<std::size_t>>;  // open requests, and their flows

Requests requests_of(const config::FlowProfile& profile, std::size_t ports) {
  Requests requests;
  for (std::size_t i = 0; i < profile.flows.size(); ++i) {
    const config::Flow& flow = profile.flows[i];
    if (!flow.resolve_mac) continue;
    const wire::IpAddress target = flow.gateway.value_or(destination_of(flow.frame));
    requests[{i % ports, target}].push_back(i);
  }
  return requests;
}

std::vector<std::byte> frame_of(const Request& request, const config::Flow& flow) {
  return neighbor_request({flow.frame.source_mac, source_of(flow.frame)}, flow.frame.vlans,
                          request.second);
}

std::unexpected<Error> no_answer(const Request& request, const config::Flow& flow,
                                 const std::string& port) {
  return fail(
      fmt::format("flow \"{}\": no answer at port `{}` for {}, asked {} times as {} ({}): "
                  "is it on this link and up? A peer behind a router needs gateway = \"...\" in "
                  "the flow",
                  flow.name, port, to_string(request.second), kAttempts,
                  to_string(source_of(flow.frame)), to_string(flow.frame.source_mac)),
      ExitCode::environment);
}

}  // namespace

ResponderPort::ResponderPort(nic::Port& port, const nic::Pool& pool, ArpResponder responder)
    : port_(port), responder_(std::move(responder)), burst_(port, pool) {}

template <class Use>
void ResponderPort::receive(Use&& use) {
  const std::size_t count = port_.receive(buffers_);
  for (rte_mbuf* buffer : std::span(buffers_).first(count)) {
    const wire::Bytes frame(rte_pktmbuf_mtod(buffer, const std::byte*),
                            rte_pktmbuf_data_len(buffer));
    use(frame);
    answer(frame);
    rte_pktmbuf_free(buffer);
  }
  send_answers();
}

void ResponderPort::answer(wire::Bytes frame) {
  if (!responder_.answer(frame, answer_)) return;
  if (burst_.full()) send_answers();
  burst_.add(answer_);
}

void ResponderPort::send_answers() noexcept {
  if (!burst_.empty()) burst_.send(nic::now());
}

void ResponderPort::poll() {
  receive([](wire::Bytes) {});
}

std::vector<NeighborEntry> ResponderPort::poll_entries() {
  std::vector<NeighborEntry> entries;
  receive([&entries](wire::Bytes frame) {
    if (const auto entry = neighbor_entry_in(frame)) entries.push_back(*entry);
  });
  return entries;
}

void ResponderPort::send(wire::Bytes frame) noexcept {
  if (burst_.add(frame)) burst_.send(nic::now());
}

NeighborTable::NeighborTable(const config::FlowProfile& profile, std::span<nic::Port> ports,
                             const nic::Pool& pool) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    names_.push_back(ports[i].name());
    responders_.emplace_back();
    if (!is_on_network(ports[i]) && !needs_responder(profile, i, ports.size())) continue;
    responders_.back() = std::make_unique<ResponderPort>(
        ports[i], pool, ArpResponder(addresses_of(profile, i, ports.size())));
  }
}

void NeighborTable::poll() {
  for (const auto& responder : responders_) {
    if (responder && responder->polls_) responder->poll();
  }
}

ResponderPort* NeighborTable::responder_of(const nic::Port& port) noexcept {
  for (const auto& responder : responders_) {
    if (responder && &responder->port_ == &port) return responder.get();
  }
  return nullptr;
}

void NeighborTable::stop_polling(const nic::Port& port) noexcept {
  if (ResponderPort* responder = responder_of(port)) responder->polls_ = false;
}

Result<void> NeighborTable::resolve(config::FlowProfile& profile, const Limits& limits) {
  Requests open = requests_of(profile, responders_.size());
  const auto apply = [&](std::size_t port, const NeighborEntry& entry) {
    const auto answered = open.find({port, entry.ip});
    if (answered == open.end()) return;
    for (const std::size_t flow : answered->second) {
      profile.flows[flow].frame.destination_mac = entry.mac;
    }
    open.erase(answered);
  };
  for (int attempt = 0; attempt < kAttempts && !open.empty(); ++attempt) {
    for (const auto& [request, flows] : open) {
      responders_[request.first]->send(frame_of(request, profile.flows[flows.front()]));
    }
    const Instant deadline = nic::now() + kBetweenAttempts;
    while (!open.empty() && nic::now() < deadline && !limits.stopped()) {
      for (std::size_t port = 0; port < responders_.size(); ++port) {
        if (!responders_[port]) continue;
        for (const NeighborEntry& entry : responders_[port]->poll_entries()) apply(port, entry);
      }
      nic::wait_towards(kPollEvery);
    }
  }
  if (open.empty() || limits.stopped()) return {};
  const auto& [request, flows] = *open.begin();
  return no_answer(request, profile.flows[flows.front()], names_[request.first]);
}

}  // namespace lw::gen
