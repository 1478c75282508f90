// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/session_params.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "core/limits.h"
#include "gen/limits.h"
#include "perf/words.h"
#include "transport/packet.h"
#include "transport/payload_store.h"

namespace lw::gen {

namespace {

using transport::RateControl;
using wire::Operation, wire::Transport;

using Params = SessionParams;

constexpr Figure kParams[] = {
    FigureOf<Params>::word<&Params::transport, perf::kTransportWords>("transport",
                                                                      "Service of the connection."),
    FigureOf<Params>::word<&Params::operation, perf::kOperationWords>("operation",
                                                                      "Operation of a message."),
    FigureOf<Params>::of<&Params::immediate>("immediate", "Messages have immediate data."),
    FigureOf<Params>::of<&Params::echo>("echo", "The responder sends each message back."),
    FigureOf<Params>::of<&Params::both>("both",
                                        "The responder sends a message of its own for each one.")
        .if_any(),
    FigureOf<Params>::of<&Params::read_back>("read_back", "A READ fetches each message back."),
    FigureOf<Params>::of<&Params::size>("bytes", "Size of a message.", Unit::bytes)
        .from(1, kMostMessage),
    FigureOf<Params>::of<&Params::slots>("slots", "Messages in a region.").from(1, kMostSlots),
    FigureOf<Params>::of<&Params::depth>("depth", "Messages that may be outstanding.")
        .from(1, kMostDepth),
    // Of connection managers only:
    FigureOf<Params>::of<&Params::va>("va", "Address of the client's memory."),
    FigureOf<Params>::of<&Params::r_key>("r_key", "Key of the client's memory."),
    FigureOf<Params>::word<&Params::rate_control, perf::kRateControlWords>(
        "rate_control", "Control of the rate, in both directions."),
    FigureOf<Params>::of<&Params::rate_bps>("rate_bps", "Limit, or DCQCN's first rate.",
                                            Unit::bits_per_second),
    FigureOf<Params>::of<&Params::selective_repeat>("selective_repeat",
                                                    "Selective repeat instead of go-back-N."),
    FigureOf<Params>::word<&Params::verify, kVerifyWords>("verify",
                                                          "Messages that a receiver compares."),
    FigureOf<Params>::of<&Params::packet_payload>(
        "packet_payload", "Payload of a packet inside a message; 0: the path MTU.", Unit::bytes)
        .from(0, kMostPacketPayload)};
constexpr std::size_t kOfMessages = 9;  // the first rows

constexpr Figure kMemory[] = {
    FigureOf<RemoteMemory>::of<&RemoteMemory::va>("va", "Address of the responder's memory."),
    FigureOf<RemoteMemory>::of<&RemoteMemory::r_key>("r_key", "Its key.")};

constexpr Figure kStats[] = {
    FigureOf<ServerStats>::of<&ServerStats::checked>("checked", meaning::kChecked),
    FigureOf<ServerStats>::of<&ServerStats::wrong>("wrong", meaning::kWrong),
    FigureOf<ServerStats>::of<&ServerStats::duplicates>("duplicates", "Packets that came again."),
    FigureOf<ServerStats>::of<&ServerStats::out_of_sequence>("out_of_sequence",
                                                             "Packets out of sequence."),
    FigureOf<ServerStats>::of<&ServerStats::cnps>("cnps", "Congestion notifications sent."),
    FigureOf<ServerStats>::of<&ServerStats::dropped>("dropped", meaning::kDropped)};

static_assert(fits(kParams) && fits(kMemory) && fits(kStats));

bool is_ours(Operation operation) noexcept {
  return wire::sends_data(operation) || operation == Operation::read_request ||
         wire::is_atomic(operation);
}

/// Returns true if the transport has the operation. The responder checks the size of UD messages.
bool is_carried(const SessionParams& params) noexcept {
  if (params.transport == Transport::rc) return true;
  if (params.echo || params.size < sizeof(std::uint64_t)) return false;
  if (params.operation == Operation::send) {
    return params.transport == Transport::uc || params.transport == Transport::ud;
  }
  return params.transport == Transport::uc && params.operation == Operation::write;
}

bool is_sound_rate(const SessionParams& params) noexcept {
  return params.rate_control == RateControl::none || params.rate_bps > 0;
}

}  // namespace

ServerStats& ServerStats::operator+=(const ServerStats& other) noexcept {
  checked += other.checked;
  wrong += other.wrong;
  duplicates += other.duplicates;
  out_of_sequence += other.out_of_sequence;
  cnps += other.cnps;
  dropped += other.dropped;
  return *this;
}

Parsed<void> check(const SessionParams& params) {
  if (!is_ours(params.operation) || !is_carried(params))
    return std::unexpected("this transport has no such operation, size or echo");
  if (params.both && (params.lossy() || params.echo))
    return std::unexpected("both ways goes with RC");
  const std::uint32_t payload = params.packet_payload;
  if (payload != 0 && payload < kLeastPacketPayload)
    return std::unexpected(fmt::format("payload of a packet: expected {} to {} B, found {}",
                                       kLeastPacketPayload, kMostPacketPayload, payload));
  if (params.selective_repeat && payload > transport::PayloadStore::kLargest)
    return std::unexpected(fmt::format("selective repeat keeps packets of up to {} B, not {}",
                                       transport::PayloadStore::kLargest, payload));
  if (!is_sound_rate(params)) return std::unexpected("a rate control without a rate");
  return {};
}

PrivateData to_private_data(const SessionParams& params) noexcept {
  return pack(PrivateKind::params, kParams, &params);
}

PrivateData to_private_data(const RemoteMemory& remote) noexcept {
  return pack(PrivateKind::memory, kMemory, &remote);
}

PrivateData to_private_data(const ServerStats& stats) noexcept {
  return pack(PrivateKind::stats, kStats, &stats);
}

Parsed<SessionParams> read_session_params(wire::Bytes bytes) {
  SessionParams params;
  if (const auto read = unpack(bytes, PrivateKind::params, kParams, &params); !read)
    return std::unexpected(read.error());
  if (const auto checked = check(params); !checked) return std::unexpected(checked.error());
  return params;
}

std::optional<RemoteMemory> read_remote_memory(wire::Bytes bytes) {
  RemoteMemory remote;
  if (!unpack(bytes, PrivateKind::memory, kMemory, &remote)) return std::nullopt;
  return remote;
}

std::optional<ServerStats> read_server_stats(wire::Bytes bytes) {
  ServerStats stats;
  if (!unpack(bytes, PrivateKind::stats, kStats, &stats)) return std::nullopt;
  return stats;
}

std::uint32_t MemoryLayout::kept_packets(const SessionParams& params, std::uint32_t mtu) noexcept {
  if (!params.selective_repeat) return 0;
  const std::uint64_t outstanding =
      std::uint64_t{params.depth} * transport::packets_of(params.size, mtu);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(outstanding, transport::QpConfig{}.reorder_packets));
}

std::uint64_t MemoryLayout::cost(const SessionParams& params, std::uint32_t mtu) noexcept {
  constexpr std::uint64_t kOrder = std::uint64_t{800} << 10;  // analysis::SequenceTracker's gaps
  const std::uint64_t queued = kReceiveCost + (params.echo || params.both ? kEchoCost : 0);
  return (params.computed ? 0 : region(params)) + kConnectionCost + params.depth * queued +
         kept_packets(params, mtu) * kKeptPacketCost + (params.lossy() ? kOrder : 0);
}

const FigureTable& SessionParams::of_messages() {
  static constexpr FigureTable kTable{"Messages of a connection.",
                                      std::span<const Figure>(kParams).first(kOfMessages)};
  return kTable;
}

const FigureTable& ServerStats::figures() {
  static constexpr FigureTable kTable{"What a responder counted.", kStats};
  return kTable;
}

}  // namespace lw::gen
