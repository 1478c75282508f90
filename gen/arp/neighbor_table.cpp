// SPDX-License-Identifier: BSD-3-Clause
#include "gen/arp/neighbor_table.h"

#include <ctime>
#include <tuple>

#include <fmt/format.h>
#include <rte_mbuf.h>

#include "nic/clock.h"

namespace lw::gen {
namespace {

// RFC 4861, 10: MAX_UNICAST_SOLICIT and RETRANS_TIMER; Linux asks for ARP as often.
constexpr int kAttempts = 3;
constexpr Duration kBetweenAttempts = std::chrono::seconds(1);
constexpr timespec kNap{0, 200'000};

wire::IpAddress ip_of(const wire::Ipv6Address& gid) {
  constexpr std::size_t kPrefix = 12;
  constexpr std::array<std::byte, kPrefix> kMapped = {
      {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, std::byte{0xff}, std::byte{0xff}}};
  if (!std::equal(kMapped.begin(), kMapped.end(), gid.bytes.begin())) return gid;
  wire::Ipv4Address v4;
  std::copy(gid.bytes.begin() + kPrefix, gid.bytes.end(), v4.bytes.begin());
  return v4;
}

wire::IpAddress source_of(const roce::FrameFields& frame) {
  if (frame.encapsulation == wire::Encapsulation::ipv4) return frame.ipv4.source;
  return ip_of(frame.ipv6.source);
}

wire::IpAddress destination_of(const roce::FrameFields& frame) {
  if (frame.encapsulation == wire::Encapsulation::ipv4) return frame.ipv4.destination;
  return ip_of(frame.ipv6.destination);
}

bool is_on_a_network(const nic::Port& port) {
  const auto spec = nic::parse_port_spec(port.name());
  return spec && (spec->as<nic::InterfacePort>() || spec->as<nic::PciPort>());
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

bool wants_presence(const config::FlowProfile& profile, std::size_t port, std::size_t ports) {
  if (profile.presence.wanted) return true;
  for (std::size_t i = port; i < profile.flows.size(); i += ports) {
    if (profile.flows[i].resolve_mac) return true;
  }
  return false;
}

/// A question that is still open, and the flows that wait for its answer.
using Question = std::pair<std::size_t, wire::IpAddress>;  // port and target
using Questions = std::map<Question, std::vector<std::size_t>>;

Questions questions_of(const config::FlowProfile& profile, std::size_t ports) {
  Questions questions;
  for (std::size_t i = 0; i < profile.flows.size(); ++i) {
    const config::Flow& flow = profile.flows[i];
    if (!flow.resolve_mac) continue;
    const wire::IpAddress target = flow.gateway.value_or(destination_of(flow.frame));
    questions[{i % ports, target}].push_back(i);
  }
  return questions;
}

std::vector<std::byte> frame_of(const Question& question, const config::Flow& flow) {
  return neighbor_request({flow.frame.source_mac, source_of(flow.frame)}, flow.frame.vlans,
                          question.second);
}

std::unexpected<Error> nobody(const Question& question, const config::Flow& flow,
                              const std::string& port) {
  return fail(
      fmt::format("flow \"{}\": nobody at port `{}` answered for {}, asked {} times as {} ({}): "
                  "is it on this link and up? What is behind a router needs gateway = \"...\" in "
                  "the flow",
                  flow.name, port, to_string(question.second), kAttempts,
                  to_string(source_of(flow.frame)), to_string(flow.frame.source_mac)),
      ExitCode::environment);
}

}  // namespace

ResponderPort::ResponderPort(nic::Port& port, const nic::Pool& pool, ArpResponder presence)
    : port_(port), presence_(std::move(presence)), sender_(port, pool) {}

template <class Seen>
void ResponderPort::take(Seen&& seen) {
  const std::size_t count = port_.receive(buffers_);
  for (rte_mbuf* buffer : std::span(buffers_).first(count)) {
    const wire::Bytes frame(rte_pktmbuf_mtod(buffer, const std::byte*),
                            rte_pktmbuf_data_len(buffer));
    seen(frame);
    answer(frame);
    rte_pktmbuf_free(buffer);
  }
  send_answers();
}

void ResponderPort::answer(wire::Bytes frame) {
  if (presence_.answer(frame, answer_)) sender_.add(answer_);
}

void ResponderPort::send_answers() noexcept {
  if (!sender_.empty()) sender_.send();
}

void ResponderPort::poll() {
  take([](wire::Bytes) {});
}

std::vector<NeighborEntry> ResponderPort::listen() {
  std::vector<NeighborEntry> said;
  take([&said](wire::Bytes frame) {
    if (const auto where = neighbor_entry_in(frame)) said.push_back(*where);
  });
  return said;
}

void ResponderPort::send(wire::Bytes frame) noexcept {
  if (sender_.add(frame)) sender_.send();
}

NeighborTable::NeighborTable(const config::FlowProfile& profile, std::span<nic::Port> ports,
                             const nic::Pool& pool) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    names_.push_back(ports[i].name());
    stations_.emplace_back();
    if (!is_on_a_network(ports[i]) && !wants_presence(profile, i, ports.size())) continue;
    stations_.back() = std::make_unique<ResponderPort>(
        ports[i], pool, ArpResponder(addresses_of(profile, i, ports.size())));
  }
}

ResponderPort* NeighborTable::responder_of(const nic::Port& port) noexcept {
  for (const auto& station : stations_) {
    if (station && &station->port_ == &port) return station.get();
  }
  return nullptr;
}

void NeighborTable::stop_polling(const nic::Port& port) noexcept {
  if (ResponderPort* station = responder_of(port)) station->polls_ = false;
}

Result<void> NeighborTable::resolve(config::FlowProfile& profile, const Limits& limits) {
  Questions open = questions_of(profile, stations_.size());
  for (int attempt = 0; attempt < kAttempts && !open.empty(); ++attempt) {
    for (const auto& [question, flows] : open) {
      stations_[question.first]->send(frame_of(question, profile.flows[flows.front()]));
    }
    const Instant give_up = nic::now() + kBetweenAttempts;
    while (!open.empty() && nic::now() < give_up && !limits.stopped()) {
      for (std::size_t port = 0; port < stations_.size(); ++port) {
        if (!stations_[port]) continue;
        for (const NeighborEntry& where : stations_[port]->listen()) {
          const auto answered = open.find({port, where.ip});
          if (answered == open.end()) continue;
          for (const std::size_t flow : answered->second) {
            profile.flows[flow].frame.destination_mac = where.mac;
          }
          open.erase(answered);
        }
      }
      nanosleep(&kNap, nullptr);
    }
  }
  if (open.empty() || limits.stopped()) return {};
  const auto& [question, flows] = *open.begin();
  return nobody(question, profile.flows[flows.front()], names_[question.first]);
}

}  // namespace lw::gen
