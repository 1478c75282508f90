// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/sequence_tracker.h"
#include "config/flow/profile.h"
#include "core/figure.h"
#include "gen/limits.h"
#include "gen/receive/asked.h"
#include "gen/receive/stream_key.h"
#include "roce/envelope.h"
#include "roce/frame.h"
#include "wire/signature.h"

namespace lw::gen {

/// Returns the signature at the start of the payload, or null. `info`: of the BTH's opcode.
const wire::Signature* signature_of(const roce::Envelope& envelope, const wire::Bth& bth,
                                    const wire::OpcodeInfo& info) noexcept;

/// Interarrival jitter in ns. (RFC 3550, 6.4.1)
class JitterEstimate {
 public:
  JitterEstimate() = default;
  /// A jitter that another process has measured.
  explicit JitterEstimate(double ns) noexcept : jitter_(ns) {}
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

/// Transit times that wait to be counted, in one cache line. Histogram and jitter have many cache
/// lines, so they are updated for several frames at a time. The first time is stored completely,
/// the others as differences to it.
class alignas(64) WaitingTransits {
 public:
  /// Adds a time. Returns false if there is no room, or `ns` is too far from the first time.
  bool add(std::int64_t ns) noexcept {
    if (count_ == 0) first_ = ns;
    const std::int64_t more = ns - first_;
    if (count_ == more_.size() || !std::in_range<std::int32_t>(more)) return false;
    more_[count_++] = static_cast<std::int32_t>(more);
    return true;
  }
  /// True if there is room for at most one more time.
  [[nodiscard]] bool nearly_full() const noexcept { return count_ + 1 >= more_.size(); }
  /// Calls `count` with each time, in the order in which they were added, and removes them.
  template <class Count>
  void take_all(Count count) noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) count(first_ + more_[i]);
    count_ = 0;
  }

 private:
  std::int64_t first_ = 0;
  std::uint32_t count_ = 0;
  std::array<std::int32_t, 13> more_;
};

/// Data of a stream of signed frames, besides its order. Each run of the sender has its own
/// sequence numbers.
struct SignedPart {
  JitterEstimate jitter;
  Histogram latency;  // ns; negative values (clocks differ) count as 0, minimum() shows them
  std::uint8_t clock = wire::ClockId::kUnknown;  // of the newest frame
  std::uint8_t version = 0;                      // of the signatures
  std::uint64_t left_out =
      0;                    // frames whose arrival time is of no clock to compare, or far too late
  Duration clock_bound{0};  // by which the clocks of the two ends may differ; 0: not known to
  struct EarlierRun {
    std::uint16_t run;
    analysis::SequenceTracker tracker;
  };
  std::vector<EarlierRun> earlier;  // their frames may still arrive; the newest is the last
  /// Sequence numbers of damaged frames of the newest run, as far as they were ahead of all good
  /// frames. A damaged frame's number is likely but not certain to be right.
  std::vector<std::uint64_t> damaged;
};

/// Counters and state of one received stream. The members for a signed frame in order come first,
/// in three cache lines.
struct alignas(64) ReceiveFlow {
  StreamKey stream;
  std::uint8_t opcode = 0;                // of the first frame; 0 if only payloads are known
  std::uint16_t run = 0;                  // of the signatures: the tracker's
  std::uint16_t rank = 0;                 // of the process that received it, in a common run
  std::unique_ptr<SignedPart> signature;  // null for unsigned frames
  std::uint64_t frames = 0;
  WaitingTransits waiting;            // not yet counted in `signature`
  analysis::SequenceTracker tracker;  // of signed frames
  std::uint64_t bytes = 0;
  Instant last{};
  std::uint64_t icrc_checked = 0;

  analysis::OrderCounts order;
  std::uint64_t ce_marks = 0;
  std::unique_ptr<analysis::PsnStream> psns;  // null for signed frames
  std::unique_ptr<NotAsAsked> not_as_asked;   // null unless frames differ from a known profile's
  std::uint64_t bad_icrc = 0;                 // a bad frame counts only here
  std::uint64_t acks = 0, sequence_naks = 0, rnr_naks = 0, other_naks = 0;
  Instant first{};

  /// Prefetches the members that a frame in order needs.
  void fetch() const noexcept {
    for (const std::size_t line : {0, 64, 128})
      __builtin_prefetch(reinterpret_cast<const std::byte*>(this) + line, 1);
  }
  /// Prefetches the members that counting the waiting times needs.
  void fetch_latencies() const noexcept {
    for (const std::size_t line : {0, 64, 128, 448, 512})
      __builtin_prefetch(reinterpret_cast<const std::byte*>(signature.get()) + line, 1);
  }
};

/// Hash table of streams: open addressing, at most half full, so a successful look-up usually
/// touches one slot and the flow. Doubles when it is half full. Doesn't own the flows.
class FlowTable {
 public:
  FlowTable() : slots_(kFirstSlots) {}

  /// Returns the flow of `stream`, or null. `hash` is
  /// StreamKeyHash{}(stream).
  [[nodiscard]] ReceiveFlow* find(std::uint64_t hash, const StreamKey& stream) const noexcept {
    for (std::size_t at = home_of(hash);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.flow == nullptr) return nullptr;
      if (slot.hash == hash && slot.flow->stream == stream) return slot.flow;
    }
  }

  /// Prefetches the slot of a stream; guess() then finds its flow by the hash only.
  void fetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&slots_[home_of(hash)]); }
  /// Returns the flow in the first slot of a search for this hash; null if it has another hash.
  [[nodiscard]] ReceiveFlow* guess(std::uint64_t hash) const noexcept {
    const Slot& slot = slots_[home_of(hash)];
    return slot.hash == hash ? slot.flow : nullptr;
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

  /// Returns the first slot: the upper bits, because they are the best mixed of a multiplicative
  /// hash.
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

/// Returns the name of a clock, "CLOCK_TAI", from its number in a signature.
std::string clock_name(std::uint8_t clock);

struct MeasureOptions {
  /// Check the ICRC of one frame in `icrc_every`; 1: of all frames; 0: of none. Unless it is 0,
  /// frames that are unexpected in their stream are checked too: a flipped bit must not look like a
  /// loss or start a new stream.
  std::uint32_t icrc_every = 1;
  /// Signed streams may have started earlier: they count from the first sequence number seen.
  /// Otherwise they count from 0, where every sender begins.
  bool join = false;
  /// Number of the clock of the arrival times, as in signatures (wire::ClockId); 0: a capture's.
  std::uint8_t clock = wire::ClockId::kUnknown;
  /// Memory of the latency histograms of all streams, in bytes. A latency that needs more is not
  /// counted: the send times are the sender's, and any number may come.
  std::uint64_t most_latency_memory = kMostLatencyMemory;
};

/// Counters of all frames together.
struct MeasureTotals {
  std::uint64_t frames = 0, bytes = 0;
  std::uint64_t roce = 0;
  std::uint64_t malformed = 0;                   // RoCE frames whose stream can't be determined
  std::uint64_t icrc_checked = 0, bad_icrc = 0;  // streams included
  std::uint64_t crowded_out = 0;                 // frames of streams beyond kMostFlows
  std::uint64_t latencies_not_counted = 0;       // beyond most_latency_memory

  static const FigureTable& figures();
};

/// Measures all received streams: loss, order, latency and jitter of each, at a constant cost per
/// frame. Reads no clock and uses no device. Allocates when a stream is first seen, and when it
/// first has a gap (SequenceTracker). One thread.
///
/// ./dev bench receive measures the cost of a frame.
class Measurement {
 public:
  static constexpr std::size_t kMostFlows = std::size_t{1} << 20;

  explicit Measurement(const MeasureOptions& options) : options_(options) {}
  Measurement(Measurement&&) = default;
  Measurement& operator=(Measurement&&) = delete;  // flows_ would outlive its memory for a moment

  /// Measures a frame that arrived at `now`. `send_clock`: `now` is of the clock that stamps the
  /// signatures; if false, latency is not measured.
  void count_frame(wire::Bytes bytes, Instant now, bool send_clock = true) {
    count_frame(roce::open_envelope(bytes), now, send_clock);
  }
  void count_frame(const roce::Envelope& envelope, Instant now, bool send_clock = true) {
    count_frame(envelope, now, send_clock, nullptr);
  }
  /// Measures frames that arrived together, in order. With many streams it first prefetches the
  /// data for each frame, so that cache misses of different frames overlap.
  void count_frames(std::span<const wire::Bytes> burst, Instant now, bool send_clock = true);
  /// Measures a signed packet of which a device has delivered only the payload, of `bytes`. `ends`
  /// has the addresses, as in roce::flow_key().
  void count_payload(const roce::FlowKey& ends, const wire::SignatureFields& signature,
                     std::size_t bytes, Instant now, bool send_clock);

  /// Counts values that wait for a stream's next frame. Call it before the counters are read; more
  /// frames may follow.
  void finalize();
  /// Counts the latencies that wait, so that flows() can be read while frames arrive.
  void count_latencies() noexcept;

  /// Flows in order of their first frames. Up to 13 latencies of each wait to be counted: see
  /// count_latencies().
  [[nodiscard]] const std::pmr::deque<ReceiveFlow>& flows() const noexcept { return flows_; }
  [[nodiscard]] const MeasureTotals& totals() const noexcept { return totals_; }
  /// Adds a flow, or the totals, of another process that measured for this run. No frame of these
  /// flows may follow. `rank`: see ReceiveFlow.
  void adopt(ReceiveFlow flow) { flows_.push_back(std::move(flow)); }
  void adopt(const MeasureTotals& totals) noexcept;
  /// Sets by how much the clocks of a flow's two ends may differ.
  void set_clock_bound(std::size_t flow, Duration bound) noexcept {
    if (flows_[flow].signature) flows_[flow].signature->clock_bound = bound;
  }
  /// Compares frames with what a profile fixes. A signed frame of one of its flows that came with
  /// other addresses counts in that flow. No effect if no ICRC is checked: then damage may be what
  /// differs. `asked` outlives the measurement.
  void compare_with(const AskedFrames& asked) noexcept {
    if (options_.icrc_every != 0) asked_ = &asked;
  }
  [[nodiscard]] bool compares() const noexcept { return asked_ != nullptr; }
  /// Sets the clock of the arrival times, before the first frame.
  void set_clock(std::uint8_t clock) noexcept { options_.clock = clock; }
  /// Returns the reason why a flow's latencies are not valid: its send times are of another clock
  /// than the arrival times, a latency is negative, or all are above a minute with steady clocks,
  /// which is too long for a path. Empty if they are valid or there are none.
  [[nodiscard]] std::string latency_doubt(const ReceiveFlow& flow) const;

 private:
  enum class Trust : std::uint8_t { unknown, good, bad };
  /// The frame being measured.
  struct Incoming {
    const roce::Envelope& envelope;
    std::uint8_t opcode;
    Instant now;
    bool send_clock;
    ReceiveFlow* guess;  // its flow if the stream is the same; may be null
    Trust trust = Trust::unknown;
    const wire::SignatureFields* signature = nullptr;  // of a signed frame
  };
  static constexpr std::size_t kAhead = 32;  // frames of a burst that are looked up together

  void count_frame(const roce::Envelope& envelope, Instant now, bool send_clock,
                   ReceiveFlow* guess);

  void fetch(std::span<const roce::Envelope> burst, std::span<ReceiveFlow*> guesses) const noexcept;
  void count_signed(Incoming& in, const StreamKey& stream, const wire::SignatureFields& signature);
  analysis::SequenceTracker& tracker_of(ReceiveFlow& flow, const wire::SignatureFields& signature);
  void count_plain(Incoming& in);
  void count_arrival(ReceiveFlow& flow, const Incoming& in) noexcept;
  bool has_other_ends(Incoming& in, StreamKey& stream);
  void count_not_as_asked(ReceiveFlow& flow, Incoming& in, const NotAsAsked& counts);
  void count_waiting(ReceiveFlow& flow) noexcept;
  ReceiveFlow* find_or_add(Incoming& in, const StreamKey& stream);
  void check(Incoming& in);
  /// Checks the ICRC if the sampling skipped it. Returns false if the ICRC is bad.
  bool trusted(Incoming& in) {
    if (in.trust == Trust::unknown && options_.icrc_every != 0) check(in);
    return in.trust != Trust::bad;
  }
  bool refuse_bad(ReceiveFlow* flow, const Incoming& in);

  MeasureOptions options_;
  const AskedFrames* asked_ = nullptr;  // null: not known
  MeasureTotals totals_;
  std::uint64_t latency_memory_ = 0;  // bytes
  std::uint32_t until_check_ = 1;
  FlowTable table_;
  // Memory of flows_ only, so that flows are contiguous. Other memory that a stream's first frames
  // allocate would otherwise put each flow in a page of its own.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_ =
      std::make_unique<std::pmr::monotonic_buffer_resource>(std::size_t{1} << 16);
  std::pmr::deque<ReceiveFlow> flows_{memory_.get()};
};

}  // namespace lw::gen
