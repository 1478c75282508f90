// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "gen/receive/receive_flow.h"
#include "roce/envelope.h"

namespace lw::gen {

struct MeasureOptions {
  /// Check the ICRC of one frame in `icrc_every`; 1: of all; 0: of none. Unless it is 0, frames
  /// that their stream doesn't expect are checked too: a flipped bit must not look like a loss or
  /// start a new stream.
  std::uint32_t icrc_every = 1;
  /// Signed streams may have started earlier: they count from the first sequence number seen.
  /// Otherwise they count from 0, where every sender begins.
  bool join = false;
};

/// Counters of all frames together.
struct MeasureTotals {
  std::uint64_t frames = 0, bytes = 0;
  std::uint64_t roce = 0;
  std::uint64_t malformed = 0;                   // RoCE frames whose stream can't be determined
  std::uint64_t icrc_checked = 0, bad_icrc = 0;  // streams included
  std::uint64_t crowded_out = 0;                 // frames of streams beyond kMostFlows
};

/// Measures all received streams: loss, order, latency and jitter of each, at a constant cost per
/// frame. Reads no clock and uses no device. Allocates when a stream is first seen, and when it
/// first has a gap (SequenceTracker). One thread.
///
/// Measured (bench_receive, one 2.6 GHz core, 1024 B frames in the cache): 13.3 M signed frames/s
/// of 64 flows with 1 ICRC in 64; 10.8 M/s by PSN.
class Measurement {
 public:
  static constexpr std::size_t kMostFlows = std::size_t{1} << 20;

  explicit Measurement(const MeasureOptions& options) : options_(options) {}

  /// Measures a frame that arrived at `now`. `send_clock`: `now` is of the clock that stamps the
  /// signatures; if false, latency is not measured.
  void take(wire::Bytes bytes, Instant now, bool send_clock = true) {
    take(roce::open_envelope(bytes), now, send_clock);
  }
  void take(const roce::Envelope& envelope, Instant now, bool send_clock = true);

  /// Counts what waited for a stream's next frame. Call it before reading the counters; more
  /// frames may follow.
  void finalize();

  /// In the order of their first frames.
  [[nodiscard]] const std::deque<ReceiveFlow>& flows() const noexcept { return flows_; }
  [[nodiscard]] const MeasureTotals& totals() const noexcept { return totals_; }

 private:
  enum class Trust : std::uint8_t { unknown, good, bad };
  /// The frame being measured.
  struct Incoming {
    const roce::Envelope& envelope;
    const wire::Bth* bth;
    const wire::OpcodeInfo* info;
    Instant now;
    bool send_clock;
    Trust trust = Trust::unknown;
  };

  void take_signed(Incoming& in, const wire::SignatureFields& signature);
  void take_plain(Incoming& in);
  void count_arrival(ReceiveFlow& flow, const Incoming& in) noexcept;
  ReceiveFlow* find_or_add(Incoming& in, const StreamKey& stream);
  void check(Incoming& in);
  /// Checks the ICRC if the sampling skipped it. False: the ICRC is bad.
  bool trusted(Incoming& in) {
    if (in.trust == Trust::unknown && options_.icrc_every != 0) check(in);
    return in.trust != Trust::bad;
  }
  bool refuse_bad(ReceiveFlow* flow, const Incoming& in) noexcept;

  MeasureOptions options_;
  MeasureTotals totals_;
  std::uint32_t until_check_ = 1;
  FlowTable table_;
  std::deque<ReceiveFlow> flows_;
};

}  // namespace lw::gen
