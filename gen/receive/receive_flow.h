// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

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

}  // namespace lw::gen
