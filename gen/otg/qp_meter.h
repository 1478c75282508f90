// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/time.h"
#include "gen/otg/stamps.h"
#include "gen/perf/session/endpoint.h"
#include "nic/stamp_clock.h"
#include "transport/memory.h"

namespace lw::gen::otg {

/// Kinds of packets that a QP's counters tell apart.
enum class CountedKind : std::uint8_t {
  transfer,  // SEND and WRITE requests
  fetch,     // READ requests
  response,  // READ responses
  ack,
  nak,
  cnp,
};
inline constexpr std::size_t kPacketKinds = 6;

struct PacketCount {
  std::uint64_t frames = 0, bytes = 0;  // bytes of frames, without FCS
  double bps = 0;                       // mean of the last kRateInterval
};

/// Counts the packets of one QP, and is the memory of its region: the payload of each packet that
/// leaves begins with a signature (wire/signature.h), if it is long enough; the signatures of those
/// that arrive give their latency where both ends have the same clock. All other bytes are zeros,
/// and none are stored. One thread.
class QpMeter final : public PacketWatch, public transport::MemoryContent {
 public:
  static constexpr Duration kRateInterval = std::chrono::milliseconds(500);

  /// `flow`: number in the signatures. `clock` outlives it.
  QpMeter(std::uint32_t flow, const nic::StampClock& clock) : flow_(flow), clock_(clock) {}

  void sent(const transport::Packet& packet, std::size_t bytes) noexcept override;
  void received(const transport::Packet& packet, std::size_t bytes) noexcept override;
  void read(std::uint64_t va, std::span<std::byte> out) noexcept override;
  void write(std::uint64_t va, std::span<const std::byte> bytes) override;

  /// Sets all counters to 0.
  void clear() noexcept;
  /// Measures rates, when an interval is over.
  void sample(Instant now) noexcept;

  [[nodiscard]] const PacketCount& sent(CountedKind kind) const noexcept {
    return sent_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const PacketCount& received(CountedKind kind) const noexcept {
    return received_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::uint64_t marked() const noexcept { return marked_; }
  [[nodiscard]] const LatencyOfPackets& latency() const noexcept { return latency_; }
  /// When the first and the last packet with data arrived; nothing before the first.
  [[nodiscard]] const std::optional<Instant>& first() const noexcept { return first_; }
  [[nodiscard]] Instant last() const noexcept { return last_; }

 private:
  using Counts = std::array<PacketCount, kPacketKinds>;
  static void count(Counts& counts, CountedKind kind, std::size_t bytes) noexcept {
    PacketCount& at = counts[static_cast<std::size_t>(kind)];
    ++at.frames;
    at.bytes += bytes;
  }

  std::uint32_t flow_;
  const nic::StampClock& clock_;
  Counts sent_, received_, sampled_sent_, sampled_received_;
  std::uint64_t marked_ = 0;  // received with ECN CE
  std::uint64_t sequence_ = 0;
  LatencyOfPackets latency_;
  std::optional<Instant> first_;
  Instant last_{}, sampled_{};
};

}  // namespace lw::gen::otg
