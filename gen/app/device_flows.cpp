// SPDX-License-Identifier: BSD-3-Clause
#include "gen/app/device_flows.h"

#include <algorithm>

#include <fmt/format.h>

#include "gen/limits.h"
#include "gen/traffic/template_set.h"
#include "wire/icrc.h"
#include "wire/signature.h"

namespace lw::gen {

namespace {

using config::Flow;

constexpr Duration kTimeout = std::chrono::seconds(10);  // of each step

wire::IpAddress source_of(const Flow& flow) {
  if (flow.frame.encapsulation == wire::Encapsulation::ipv4) return flow.frame.ipv4.source;
  return flow.frame.ipv6.source;
}

/// Returns the number of slots that a flow's messages use in turn. For SEND, slots are the device's
/// receives.
std::uint32_t slots_of(const Flow& flow) noexcept {
  constexpr std::uint64_t kReceives = 1024;
  const bool send = flow.message.operation == wire::Operation::send;
  return static_cast<std::uint32_t>(std::min(flow.va_slots, send ? kReceives : kMostSlots));
}

SessionParams params_of(const Flow& flow) noexcept {
  constexpr std::uint32_t kDepth = 128, kWord = 8;
  const bool atomic = wire::is_atomic(flow.message.operation);
  return {.transport = flow.message.transport,
          .operation = flow.message.operation,
          .immediate = flow.message.immediate,
          .size = atomic ? kWord : static_cast<std::uint32_t>(flow.message.length),
          .slots = slots_of(flow),
          .depth = kDepth};
}

/// Errors (usage): flows that a device's QPs cannot take together.
Result<void> check_flows(const config::FlowProfile& profile) {
  const Flow& first = profile.flows.front();
  const SessionParams params = params_of(first);
  if (profile.flows.size() > handover::kMostQps) {
    return fail(fmt::format("--peer: a hand-over has up to {} QPs, and the profile {} flows",
                            handover::kMostQps, profile.flows.size()));
  }
  if (const auto checked = check(params); !checked) {
    return fail(fmt::format("--peer: a device's QPs don't take flow \"{}\": {}", full_name(first),
                            checked.error()));
  }
  for (const Flow& flow : profile.flows) {
    const bool same = params_of(flow) == params && source_of(flow) == source_of(first) &&
                      flow.message.mtu == first.message.mtu;
    if (!same || flow.sizes.vary()) {
      return fail(
          fmt::format("--peer: flow \"{}\" differs from \"{}\" in transport, operation, "
                      "size, region, MTU or source, or its sizes vary: one session has one "
                      "of each",
                      full_name(flow), full_name(first)));
    }
    if (flow.frame.encapsulation == wire::Encapsulation::grh) {
      return fail(fmt::format("--peer: flow \"{}\" is RoCEv1", full_name(flow)));
    }
  }
  return {};
}

/// CRCs of a packet's content as in the hello; none if the flows have several contents.
std::vector<std::uint64_t> payload_crcs(const config::FlowProfile& profile, std::uint64_t seed) {
  const Flow& first = profile.flows.front();
  const bool same = std::ranges::all_of(profile.flows, [&](const Flow& flow) {
    return flow.signature && flow.payload == first.payload;
  });
  if (!same || first.message.length == 0) return {};
  const std::uint64_t last = (first.message.length - 1) % first.message.mtu + 1;
  PayloadPool payloads(seed);
  std::vector<std::uint64_t> crcs;
  for (const std::uint64_t length : {std::uint64_t{first.message.mtu}, last}) {
    const wire::Bytes payload = payloads.get(first.payload, length);
    crcs.push_back(wire::crc32(
        0, payload.subspan(std::min<std::size_t>(payload.size(), sizeof(wire::Signature)))));
  }
  return crcs;
}

handover::Hello hello_of(const config::FlowProfile& profile, const std::string& token,
                         std::uint64_t seed) {
  const Flow& first = profile.flows.front();
  handover::Hello hello{.token = token,
                        .params = params_of(first),
                        .checked = false,
                        .signatures = std::ranges::any_of(profile.flows, &Flow::signature),
                        .payload_crcs = payload_crcs(profile, seed),
                        .mtu = first.message.mtu,
                        .gid = wire::gid_of(source_of(first)),
                        .qps = {}};
  constexpr std::uint32_t kFirstQpn = 0x11;
  for (std::uint32_t i = 0; i < profile.flows.size(); ++i) {
    const Flow& flow = profile.flows[i];
    const bool ud = flow.message.transport == wire::Transport::ud;
    hello.qps.push_back({.qpn = ud ? flow.frame.deth.src_qp : kFirstQpn + i,
                         .psn = flow.message.first_psn.value()});
  }
  return hello;
}

void set_destination(Flow& flow, const handover::Offer& offer, const handover::Qp& qp) {
  const wire::IpAddress ip = wire::ip_of(offer.gid);
  if (const auto* v4 = std::get_if<wire::Ipv4Address>(&ip)) flow.frame.ipv4.destination = *v4;
  if (const auto* v6 = std::get_if<wire::Ipv6Address>(&ip)) flow.frame.ipv6.destination = *v6;
  flow.resolve_mac = true;
  flow.frame.bth.dest_qp = qp.qpn;
  flow.frame.reth.va = flow.frame.atomiceth.va = qp.va;
  flow.frame.reth.r_key = flow.frame.atomiceth.r_key = qp.r_key;
  if (offer.q_key != 0) flow.frame.deth.q_key = offer.q_key;
}

/// Errors (failed): the device has another address family or a smaller MTU than the flows.
Result<void> check_offer(const handover::Offer& offer, const Flow& flow) {
  if (auto same = handover::check_encapsulation(offer, false); !same) return same;
  const wire::IpAddress ip = wire::ip_of(offer.gid);
  if (ip.index() != source_of(flow).index()) {
    return fail(fmt::format("the device has the address {}, and the flows come from {}: choose "
                            "another --gid there, or another source in the profile",
                            to_string(ip), to_string(source_of(flow))),
                ExitCode::failed);
  }
  if (offer.mtu < flow.message.mtu) {
    return fail(
        fmt::format("the device has a path MTU of {} B, and the flows {} B: set mtu = {} in "
                    "the profile",
                    offer.mtu, flow.message.mtu, offer.mtu),
        ExitCode::failed);
  }
  return {};
}

}  // namespace

Result<DeviceFlows> DeviceFlows::open(const std::string& where, const std::string& token,
                                      config::FlowProfile& profile, std::uint64_t seed,
                                      const std::atomic<bool>& stop,
                                      const handover::Meanwhile& meanwhile) {
  if (auto fit = check_flows(profile); !fit) return std::unexpected(fit.error());
  auto client = handover::Client::connect(where, kTimeout);
  if (!client) return std::unexpected(client.error());
  DeviceFlows flows(std::move(*client));
  for (const Flow& flow : profile.flows) flows.signed_.push_back(flow.signature);
  const auto offer = flows.client_.open(hello_of(profile, token, seed), kTimeout, stop, meanwhile);
  if (!offer) return std::unexpected(offer.error());
  if (auto fits = check_offer(*offer, profile.flows.front()); !fits)
    return std::unexpected(fits.error());
  for (std::size_t i = 0; i < profile.flows.size(); ++i)
    set_destination(profile.flows[i], *offer, offer->qps[i]);
  return flows;
}

Result<handover::Report> DeviceFlows::finish(const RunReport& sent, const std::atomic<bool>& stop,
                                             const handover::Meanwhile& meanwhile) {
  handover::Done done;
  for (std::size_t i = 0; i < sent.flows.size(); ++i) {
    const FlowCounters& flow = sent.flows[i];
    done.messages.push_back(flow.messages);
    done.bytes += flow.payload_bytes;
    done.signed_frames.push_back(signed_[i] ? flow.frames - flow.unsigned_frames : 0);
  }
  return client_.finish(done, kTimeout, stop, meanwhile);
}

}  // namespace lw::gen
