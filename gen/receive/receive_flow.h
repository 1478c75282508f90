// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gen/receive/psn_stream.h"
#include "gen/receive/sequence_tracker.h"
#include "roce/frame.h"
#include "wire/signature.h"

namespace lw::gen {

/// Identity of a stream. Signed frames are identified by the signature's flow id and the addresses,
/// independent of the QP; others by roce::FlowKey and, for datagrams, the source QP.
struct StreamKey {
  roce::FlowKey key;  // of signed frames: the addresses, and the flow id as dest_qp
  std::uint32_t source_qp = 0;
  bool is_signed = false;

  friend bool operator==(const StreamKey&, const StreamKey&) = default;
};

/// Interarrival jitter in ns. (RFC 3550, 6.4.1)
class Jitter {
 public:
  /// Adds a frame. `transit_ns` is its arrival time minus its send time; a constant offset between
  /// the two clocks has no effect.
  void add(std::int64_t transit_ns) noexcept {
    if (last_) jitter_ += (std::abs(static_cast<double>(transit_ns - *last_)) - jitter_) / 16;
    last_ = transit_ns;
  }
  [[nodiscard]] double ns() const noexcept { return jitter_; }

 private:
  std::optional<std::int64_t> last_;
  double jitter_ = 0;
};

/// State of a stream of signed frames.
struct SignedPart {
  SequenceTracker tracker;
  std::uint64_t newest_send_time = 0;
  std::uint64_t first_sequence = 0;
  Histogram latency;  // ns; negative values (clocks differ) count as 0, minimum() shows them
  Jitter jitter;
};

/// Counters and state of one received stream.
struct ReceiveFlow {
  StreamKey stream;
  std::uint8_t opcode = 0;  // of the first frame
  std::uint64_t frames = 0, bytes = 0;
  std::uint64_t ce_marks = 0;
  std::uint64_t icrc_checked = 0, bad_icrc = 0;  // a bad frame counts only here
  std::uint64_t acks = 0, sequence_naks = 0, rnr_naks = 0, other_naks = 0;
  Instant first{}, last{};
  OrderCounts order;
  std::unique_ptr<SignedPart> signature;  // null for unsigned frames
  std::unique_ptr<PsnStream> psns;        // null for signed frames
};

/// Hash table of streams: open addressing, at most half full, so a successful look-up usually
/// touches one slot and the flow. Doubles when it is half full. Doesn't own the flows.
class FlowTable {
 public:
  FlowTable() : slots_(kFirstSlots) {}

  static std::uint64_t hash_of(const StreamKey& stream) noexcept {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    const std::uint64_t rest = std::uint64_t{stream.source_qp} << 1 | (stream.is_signed ? 1u : 0u);
    return (roce::FlowKeyHash{}(stream.key) ^ rest) * kGolden;
  }

  /// Returns the flow of `stream`, or null. `hash` is hash_of(stream).
  [[nodiscard]] ReceiveFlow* find(std::uint64_t hash, const StreamKey& stream) const noexcept {
    for (std::size_t at = home_of(hash);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.flow == nullptr) return nullptr;
      if (slot.hash == hash && slot.flow->stream == stream) return slot.flow;
    }
  }

  /// Adds a flow whose stream is not in the table. The flow must not move.
  void add(std::uint64_t hash, ReceiveFlow& flow) {
    if (2 * ++count_ > slots_.size()) grow();
    place({hash, &flow});
  }

 private:
  static constexpr std::size_t kFirstSlots = 256;
  struct Slot {
    std::uint64_t hash = 0;
    ReceiveFlow* flow = nullptr;
  };

  /// The upper bits of a multiplicative hash are the best mixed.
  [[nodiscard]] std::size_t home_of(std::uint64_t hash) const noexcept {
    return hash >> (64 - std::countr_zero(slots_.size()));
  }

  void place(const Slot& slot) {
    std::size_t at = home_of(slot.hash);
    while (slots_[at].flow != nullptr) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.flow != nullptr) place(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace lw::gen
