// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "gen/receive/flow_counts.h"
#include "gen/receive/psn_stream.h"
#include "gen/receive/sequence_tracker.h"
#include "roce/frame.h"
#include "wire/signature.h"

namespace lw::gen {

/// Whose frames these are. Signed ones are told apart by the signature's flow id and the
/// addresses, whatever QP they go to; others by roce::FlowKey, and by the source QP where a
/// datagram names one.
struct StreamKey {
  roce::FlowKey key;  // of signed frames: the addresses, the flow id in dest_qp's place
  std::uint32_t source_qp = 0;
  bool is_signed = false;

  friend bool operator==(const StreamKey&, const StreamKey&) = default;
};

/// Interarrival jitter in ns. (RFC 3550, 6.4.1)
class Jitter {
 public:
  /// How long a frame was under way, arrival less send time: differences alone count.
  void add(std::int64_t transit_ns) noexcept {
    if (last_) jitter_ += (std::abs(static_cast<double>(transit_ns - *last_)) - jitter_) / 16;
    last_ = transit_ns;
  }
  [[nodiscard]] double ns() const noexcept { return jitter_; }

 private:
  std::optional<std::int64_t> last_;
  double jitter_ = 0;
};

/// What signatures add.
struct SignedPart {
  SequenceTracker tracker;
  std::uint64_t newest_send_time = 0;
  std::uint64_t first_sequence = 0;
  Histogram latency;  // ns; negative ones (clocks apart) stand at 0, and in its minimum()
  Jitter jitter;
};

/// All that is known of one stream of frames.
struct ReceiveFlow {
  StreamKey stream;
  std::uint8_t opcode = 0;  // of its first frame
  std::uint64_t frames = 0, bytes = 0;
  std::uint64_t ce_marks = 0;
  std::uint64_t icrc_checked = 0, bad_icrc = 0;  // a bad frame counts here and in nothing else
  std::uint64_t acks = 0, sequence_naks = 0, rnr_naks = 0, other_naks = 0;
  Instant first{}, last{};
  OrderCounts order;
  std::unique_ptr<SignedPart> signature;  // null for other people's frames
  std::unique_ptr<PsnStream> psns;        // null for signed ones
};

}  // namespace lw::gen
