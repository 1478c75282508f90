// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/session_params.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "gen/limits.h"
#include "transport/packet.h"
#include "transport/payload_store.h"
#include "wire/big_endian.h"

namespace lw::gen {

namespace {

using transport::RateControl;
using wire::Be16, wire::Be32, wire::Be64, wire::Be8;
using wire::Operation, wire::Transport;

constexpr std::uint32_t kMagic = 0x4c575046;  // LWPF
constexpr std::uint8_t kVersion = 2;
enum class Kind : std::uint8_t { params = 1, remote = 2, stats = 3 };

struct Head {
  Be32 magic{kMagic};
  Be8 version{kVersion};
  Be8 kind;
};
struct ParamsData {
  Head head{.kind = Be8{static_cast<std::uint8_t>(Kind::params)}};
  Be8 operation, flags;
  Be32 size, slots, depth;
  Be64 va;
  Be32 r_key;
  Be8 rate_control, transport;
  Be16 packet_payload;
  Be64 rate_bps;
};
struct MemoryData {
  Head head{.kind = Be8{static_cast<std::uint8_t>(Kind::remote)}};
  Be16 reserved;
  Be64 va;
  Be32 r_key;
};
struct StatsData {
  Head head{.kind = Be8{static_cast<std::uint8_t>(Kind::stats)}};
  Be16 reserved;
  Be64 checked, wrong, duplicates, out_of_sequence, cnps, dropped;
};
constexpr std::uint8_t kImmediate = 1, kEcho = 2, kSelective = 4, kReadBack = 8;
constexpr std::uint8_t kBoth = 64;
constexpr unsigned kVerifyShift = 4, kVerifyMask = 3;  // two bits of the flags

template <class Data>
PrivateData to_bytes(const Data& data) noexcept {
  static_assert(sizeof(Data) <= std::tuple_size_v<PrivateData>);
  PrivateData bytes{};
  std::memcpy(bytes.data(), &data, sizeof data);
  return bytes;
}

template <class Data>
const Data* view_of(wire::Bytes bytes) noexcept {
  const auto* data = wire::view<Data>(bytes);
  return data != nullptr && data->head == Data{}.head ? data : nullptr;
}

bool operator==(const Head& a, const Head& b) noexcept {
  return a.magic == b.magic && a.version == b.version && a.kind == b.kind;
}

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
  return params.rate_control == RateControl::none ||
         (params.rate_control <= RateControl::dcqcn && params.rate_bps > 0);
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
  struct Bounded {
    const char* name;
    std::uint64_t value, most;
  };
  for (const auto& [name, value, most] :
       {Bounded{"size", params.size, kMostMessage}, Bounded{"slots", params.slots, kMostSlots},
        Bounded{"depth", params.depth, kMostDepth}}) {
    if (value == 0 || value > most)
      return std::unexpected(fmt::format("{}: expected 1 to {}, found {}", name, most, value));
  }
  if (!is_ours(params.operation) || !is_carried(params))
    return std::unexpected("this transport has no such operation, size or echo");
  if (params.both && (params.lossy() || params.echo))
    return std::unexpected("both ways goes with RC");
  if (params.verify > Verify::none) return std::unexpected("an unknown way to verify");
  const std::uint32_t payload = params.packet_payload;
  if (payload != 0 && (payload < kLeastPacketPayload || payload > kMostPacketPayload))
    return std::unexpected(fmt::format("payload of a packet: expected {} to {} B, found {}",
                                       kLeastPacketPayload, kMostPacketPayload, payload));
  if (params.selective_repeat && payload > transport::PayloadStore::kLargest)
    return std::unexpected(fmt::format("selective repeat keeps packets of up to {} B, not {}",
                                       transport::PayloadStore::kLargest, payload));
  if (!is_sound_rate(params)) return std::unexpected("a rate control without a rate");
  return {};
}

PrivateData to_private_data(const SessionParams& params) noexcept {
  ParamsData data;
  data.operation.set(static_cast<std::uint8_t>(params.operation));
  data.flags.set(static_cast<std::uint8_t>(
      (params.immediate ? kImmediate : 0) | (params.echo ? kEcho : 0) |
      (params.read_back ? kReadBack : 0) | (params.selective_repeat ? kSelective : 0) |
      (params.both ? kBoth : 0) | static_cast<unsigned>(params.verify) << kVerifyShift));
  data.size.set(params.size);
  data.slots.set(params.slots);
  data.depth.set(params.depth);
  data.va.set(params.va);
  data.r_key.set(params.r_key);
  data.rate_control.set(static_cast<std::uint8_t>(params.rate_control));
  data.transport.set(static_cast<std::uint8_t>(params.transport));
  data.packet_payload.set(params.packet_payload);
  data.rate_bps.set(params.rate_bps);
  return to_bytes(data);
}

PrivateData to_private_data(const RemoteMemory& remote) noexcept {
  MemoryData data;
  data.va.set(remote.va);
  data.r_key.set(remote.r_key);
  return to_bytes(data);
}

PrivateData to_private_data(const ServerStats& stats) noexcept {
  StatsData data;
  data.checked.set(stats.checked);
  data.wrong.set(stats.wrong);
  data.duplicates.set(stats.duplicates);
  data.out_of_sequence.set(stats.out_of_sequence);
  data.cnps.set(stats.cnps);
  data.dropped.set(stats.dropped);
  return to_bytes(data);
}

Parsed<SessionParams> read_session_params(wire::Bytes bytes) {
  const auto* data = view_of<ParamsData>(bytes);
  if (data == nullptr)
    return std::unexpected("only roce-gen perf of the same version is served here");
  const SessionParams params{
      .transport = static_cast<Transport>(data->transport.get()),
      .operation = static_cast<Operation>(data->operation.get()),
      .immediate = (data->flags.get() & kImmediate) != 0,
      .echo = (data->flags.get() & kEcho) != 0,
      .both = (data->flags.get() & kBoth) != 0,
      .read_back = (data->flags.get() & kReadBack) != 0,
      .size = data->size.get(),
      .slots = data->slots.get(),
      .depth = data->depth.get(),
      .va = data->va.get(),
      .r_key = data->r_key.get(),
      .rate_control = static_cast<RateControl>(data->rate_control.get()),
      .rate_bps = data->rate_bps.get(),
      .selective_repeat = (data->flags.get() & kSelective) != 0,
      .verify = static_cast<Verify>(data->flags.get() >> kVerifyShift & kVerifyMask),
      .packet_payload = data->packet_payload.get()};
  if (auto checked = check(params); !checked) return std::unexpected(checked.error());
  return params;
}

std::optional<RemoteMemory> read_remote_memory(wire::Bytes bytes) noexcept {
  const auto* data = view_of<MemoryData>(bytes);
  if (data == nullptr) return std::nullopt;
  return RemoteMemory{.va = data->va.get(), .r_key = data->r_key.get()};
}

std::optional<ServerStats> read_server_stats(wire::Bytes bytes) noexcept {
  const auto* data = view_of<StatsData>(bytes);
  if (data == nullptr) return std::nullopt;
  return ServerStats{.checked = data->checked.get(),
                     .wrong = data->wrong.get(),
                     .duplicates = data->duplicates.get(),
                     .out_of_sequence = data->out_of_sequence.get(),
                     .cnps = data->cnps.get(),
                     .dropped = data->dropped.get()};
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

const FigureTable& ServerStats::figures() {
  using Row = FigureOf<ServerStats>;
  static constexpr Figure kRows[] = {
      Row::of<&ServerStats::checked>("checked", "Messages whose bytes were compared."),
      Row::of<&ServerStats::wrong>("wrong", "Messages with other bytes than were sent."),
      Row::of<&ServerStats::duplicates>("duplicates", "Packets that came again."),
      Row::of<&ServerStats::out_of_sequence>("out_of_sequence", "Packets out of sequence."),
      Row::of<&ServerStats::cnps>("cnps", "Congestion notifications sent."),
      Row::of<&ServerStats::dropped>("dropped",
                                     "Packets dropped as a part of their message was missing.")};
  static constexpr FigureTable kTable{"What a responder counted.", kRows};
  return kTable;
}

}  // namespace lw::gen
