// SPDX-License-Identifier: BSD-3-Clause
#include "perf/config.h"

#include <algorithm>

#include <fmt/format.h>

#include "transport/packet.h"

namespace lw::perf {

bool by_chance(const PerfConfig& config) noexcept {
  return config.path.loss > 0 || config.path.marking > 0 ||
         (config.path.rules && config.path.rules->by_chance());
}

double link_ns_of_message(const PerfConfig& config) noexcept {
  const transport::OpcodeSet opcodes(wire::Transport::rc);
  const std::uint32_t packets = transport::packets_of(config.size, config.qp.mtu);
  const bool read = config.operation == wire::Operation::read_request;
  const wire::Operation operation = read ? wire::Operation::read_response : config.operation;
  const bool atomic = config.is_atomic();
  const double slowest = config.path.rate_bps > 0 ? config.path.rate_bps : config.nic.rate_bps;
  const auto ns_at = [&](std::uint32_t index) {
    const auto position = transport::position_of(index, packets);
    const bool ends = transport::ends_message(position);
    transport::Packet packet;
    packet.opcode = opcodes.of(operation, position, config.immediate && ends);
    packet.payload = ends ? config.size - index * config.qp.mtu : config.qp.mtu;
    if (atomic) packet.payload = 0;
    const Duration nic = config.nic.per_packet + (index == 0 ? config.nic.per_message : Duration{});
    return std::max(transport::wire_bytes(packet) * 8e9 / std::min(slowest, config.nic.rate_bps),
                    static_cast<double>(nic.count()));
  };
  if (packets == 1) return ns_at(0);
  // All packets between the first and the last are alike; these two may carry extension headers.
  return ns_at(0) + (packets > 2 ? (packets - 2.0) * ns_at(1) : 0) + ns_at(packets - 1);
}

Result<void> check(const PerfConfig& config, PerfPattern pattern) {
  if (config.immediate && !config.sends_data())
    return fail("--imm goes with --op write and send only");
  if (pattern == PerfPattern::ping && !config.sends_data())
    return fail("ping goes with --op send and write");
  if (pattern == PerfPattern::blast && config.is_atomic())
    return fail("blast goes with --op send, write and read");
  if (config.margin > Duration{} && config.duration <= 2 * config.margin)
    return fail("--margin goes with a --duration of more than twice the margin");
  if (config.both && pattern != PerfPattern::bw)
    return fail("--bidirectional goes with --pattern bw");
  const std::uint32_t mtu = config.qp.mtu;  // 0: that of the port, as yet unknown
  if (mtu > 0 && transport::packets_of(config.message_bytes(), mtu) > transport::kMostPackets)
    return fail(
        fmt::format("--size: {} B in packets of {} B are more than {} packets, the most that "
                    "a message has: PSNs have 24 bits",
                    config.message_bytes(), mtu, transport::kMostPackets));
  return {};
}

Result<void> check_transport(const PerfConfig& config, bool answered) {
  const wire::Transport transport = config.qp.transport;
  if (transport == wire::Transport::rc) return {};
  const bool ud = transport == wire::Transport::ud;
  const auto refused = [ud](const std::string& why) {
    return fail(fmt::format("--transport: {}: {}", ud ? "ud" : "uc", why));
  };
  if (answered) return refused("lost messages are not detected: measure bw or blast, of one size");
  if (!config.sends_data())
    return refused(fmt::format("has no responses: --op send{}", ud ? "" : " or write"));
  if (ud && config.operation == wire::Operation::write)
    return refused("carries SENDs only: --op send");
  if (config.size < sizeof(std::uint64_t))
    return refused("each message carries its number: -s 8 at least");
  const std::uint32_t mtu = config.qp.mtu;  // 0: that of the port, as yet unknown
  if (ud && mtu > 0 && config.size > mtu)
    return refused(fmt::format("a message is one packet: -s up to the MTU, {}", mtu));
  return {};
}

std::vector<std::uint32_t> sizes_of(const PerfConfig& config, bool all) {
  if (!all || config.is_atomic()) return {config.message_bytes()};
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t size = 2; size <= 8u << 20; size *= 2) sizes.push_back(size);
  return sizes;
}

}  // namespace lw::perf
