// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "core/time.h"
#include "emulator/queue/ring.h"
#include "emulator/stages/stage.h"
#include "emulator/stages/trace.h"
#include "wire/pfc.h"

namespace lw::emulator {

/// Priority-based flow control at an emulated queue (IEEE 802.1Qbb): whether it sends pause frames
/// to the sending side, and whether it obeys those of the receiving side.
struct PauseConfig {
  struct Thresholds {
    std::uint64_t xoff_bytes = 0, xon_bytes = 0;  // xon < xoff <= the buffer
    friend bool operator==(const Thresholds&, const Thresholds&) = default;
  };
  std::uint8_t priority = 3;            // priority of the frames in the queue, 0..7
  std::optional<Thresholds> emit = {};  // none: sends no pause frames
  double link_bps = 400e9;              // rate of the link that carries the emitted pause frames
  bool honour = true;
  friend bool operator==(const PauseConfig&, const PauseConfig&) = default;
};

/// Returns the length of a pause of `quanta` on a link.
inline Duration time_of_quanta(std::uint16_t quanta, double link_bps) noexcept {
  const double bits = static_cast<double>(quanta) * wire::kQuantumBits;
  return Duration{static_cast<Duration::rep>(bits * 1e9 / link_bps)};
}

/// Decides when a queue sends pause frames. It requests the longest pause when the buffer has
/// filled to xoff, repeats it after half that time until the buffer has emptied to xon, and then
/// ends it.
class PauseWatch {
 public:
  static constexpr std::uint16_t kLongest = 0xffff;

  explicit PauseWatch(const PauseConfig& config) noexcept
      : thresholds_(config.emit.value_or(PauseConfig::Thresholds{})),
        again_(time_of_quanta(kLongest, config.link_bps) / 2) {}

  /// Returns the quanta to request now, for a number of bytes in the buffer.
  [[nodiscard]] std::optional<std::uint16_t> look(std::uint64_t queued, Instant now) noexcept {
    const bool full = queued >= thresholds_.xoff_bytes, empty = queued <= thresholds_.xon_bytes;
    if (asked_ && empty) {
      asked_ = false;
      return 0;
    }
    if (asked_ ? now < next_ : !full) return std::nullopt;
    asked_ = true;
    next_ = now + again_;
    return kLongest;
  }
  [[nodiscard]] bool asked() const noexcept { return asked_; }
  /// Time of the next repetition, while a pause is requested.
  [[nodiscard]] Instant next() const noexcept { return next_; }

 private:
  PauseConfig::Thresholds thresholds_;
  Duration again_;
  bool asked_ = false;
  Instant next_{};
};

/// The time by which departures from a queue after `after` are delayed. Negative if a pause ends
/// early.
struct QueueShift {
  Instant after;
  Duration by{};
};

/// A link slower than the port, and the buffer in front of it.
struct BottleneckConfig {
  double rate_bps = 0;             // >= 1 kb/s
  std::uint64_t buffer_bytes = 0;  // frames without FCS and overhead, > 0
  // bytes on the wire that each frame takes besides its own
  std::uint32_t overhead = kLineOverhead;
  std::optional<PauseConfig> pfc = {};
  friend bool operator==(const BottleneckConfig&, const BottleneckConfig&) = default;
};

/// The emulated queue: frames leave one after the other at the link's rate, a frame that finds no
/// room is dropped (tail drop), and the delay follows from that. A frame is in the buffer until its
/// last bit has left. O(1) per frame; nothing is allocated after construction.
class Bottleneck {
 public:
  explicit Bottleneck(const BottleneckConfig& config)
      : buffer_(config.buffer_bytes),
        overhead_(config.overhead),
        ns_per_byte_(8e9 / config.rate_bps),
        inside_(most_inside(config)) {}

  /// Returns the memory that a queue allocates besides its own object, in bytes.
  static std::uint64_t bytes_needed(const BottleneckConfig& config) noexcept {
    return std::bit_ceil(most_inside(config)) * sizeof(Inside);
  }

  /// Bytes in the buffer. `now` never decreases.
  [[nodiscard]] std::uint64_t occupancy(Instant now) noexcept {
    for (; !inside_.empty() && inside_.front().departs <= now; inside_.pop())
      occupied_ -= inside_.front().bytes;
    return occupied_;
  }

  /// Bytes in the buffer; leaves the state unchanged, for readers.
  [[nodiscard]] std::uint64_t occupancy_at(Instant now) const noexcept {
    std::uint64_t left = occupied_;
    for (std::size_t i = 0; i < inside_.size() && inside_[i].departs <= now; ++i)
      left -= inside_[i].bytes;
    return left;
  }

  /// Returns the time at which the frame's last bit leaves; nothing if the buffer has no room.
  [[nodiscard]] std::optional<Instant> enqueue(std::uint32_t bytes, Instant now) noexcept {
    const std::uint32_t held = on_the_line(bytes, 0);
    if (occupancy(now) + held > buffer_) return std::nullopt;
    if (now >= free_) {
      free_ = now;
      fraction_ = 0;
    }
    const Instant starts = free_;
    const double takes = on_the_line(bytes, overhead_) * ns_per_byte_ + fraction_;
    const auto whole = static_cast<Duration::rep>(takes);
    free_ += Duration{whole};
    fraction_ = takes - static_cast<double>(whole);
    // The first full nanosecond at which it has left.
    const Instant departs = free_ + Duration{fraction_ > 0 ? 1 : 0};
    occupied_ += held;
    inside_.push({starts, free_, departs, held});
    return departs;
  }

  /// Pauses the queue: no frame begins to leave before `until`; a frame that has begun is
  /// completed. An `until` in the past ends an earlier pause. `now` never decreases. O(frames in
  /// the buffer).
  QueueShift pause(Instant now, Instant until) noexcept {
    static_cast<void>(occupancy(now));
    const bool sending = !inside_.empty() && inside_.front().starts <= now;
    const Instant resumes = std::max(until, sending ? inside_.front().ends : now);
    const std::size_t first = sending ? 1 : 0;
    if (inside_.size() == first) {
      if (free_ != resumes) fraction_ = 0;
      free_ = resumes;
      return {now, {}};
    }
    const QueueShift shift{sending ? inside_.front().departs : now,
                           resumes - inside_[first].starts};
    for (std::size_t i = first; i < inside_.size(); ++i) {
      Inside& waiting = inside_[i];
      waiting.starts += shift.by;
      waiting.ends += shift.by;
      waiting.departs += shift.by;
    }
    free_ += shift.by;
    return shift;
  }
  /// Time at which the next frame has left. Requires occupancy() > 0.
  [[nodiscard]] Instant next_departure() const noexcept { return inside_.front().departs; }

  /// Sets a new rate, used from the next frame on (for a trace).
  void set_rate(double rate_bps) noexcept { ns_per_byte_ = 8e9 / rate_bps; }

 private:
  struct Inside {
    Instant starts, ends, departs;  // rounded to ns: begun by, ended after, gone at
    std::uint32_t bytes = 0;
  };
  static std::size_t most_inside(const BottleneckConfig& config) noexcept {
    return static_cast<std::size_t>(config.buffer_bytes / kSmallestOnLine + 1);
  }

  std::uint64_t buffer_;
  std::uint32_t overhead_;
  double ns_per_byte_;
  std::uint64_t occupied_ = 0;
  Ring<Inside> inside_;
  Instant free_{Duration::min()};  // the link is busy until this time,
  double fraction_ = 0;            // plus this fraction of a nanosecond
};

/// Counters of the emulated queue's departures. Frames directly after each other have the spacing
/// of the link's rate.
struct QueueStats {
  std::uint64_t frames = 0, busy_frames = 0, busy_bytes = 0, busy_ns = 0, busy_periods = 0;

  /// Adds a departure. Returns true if the frame left directly after another.
  bool add(std::uint32_t line_bytes, Instant now, Instant departs) noexcept {
    const bool behind_another = frames++ > 0 && last_ > now;
    if (behind_another) {
      if (!busy_) ++busy_periods;
      ++busy_frames;
      busy_bytes += line_bytes;
      busy_ns += static_cast<std::uint64_t>((departs - last_).count());
    }
    busy_ = behind_another;
    last_ = departs;
    return busy_;
  }
  /// Records a pause: it moves the departures of all waiting frames. If none waits, the next frame
  /// does not leave directly after another.
  void put_off(Duration by) noexcept { last_ = by == Duration{} ? Instant{} : last_ + by; }

 private:
  Instant last_{};
  bool busy_ = false;
};

/// Counters of priority flow control at the emulated queue.
struct PauseStats {
  std::uint64_t asked = 0, ended = 0;  // frames sent that request a pause, and that end one
  std::uint64_t heard = 0;             // frames received that request a pause or end one
  std::int64_t silent_ns = 0;          // total requested time

  void add(const PauseStats& other) noexcept {
    asked += other.asked;
    ended += other.ended;
    heard += other.heard;
    silent_ns += other.silent_ns;
  }
  friend bool operator==(const PauseStats&, const PauseStats&) = default;
  static const FigureTable& figures();
};

/// A rule's stage: a link slower than the port, and the buffer in front of it.
class Queue {
 public:
  static constexpr Stage kNumber = Stage::queue;
  static constexpr std::string_view kName = "queue";
  static constexpr bool kActsOnBatch = false;

  struct Settings {
    std::optional<BottleneckConfig> queue = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    QueueStats queue;
    PauseStats pauses;
    std::uint64_t tail_dropped = 0;  // dropped because the buffer was full
    std::uint64_t peak_queue_bytes = 0;
    void add(const Stats& other) noexcept {
      pauses.add(other.pauses);
      tail_dropped += other.tail_dropped;
      peak_queue_bytes = std::max(peak_queue_bytes, other.peak_queue_bytes);
    }
    static const FigureTable& figures();
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool varies(const RuleConfig& rule) noexcept { return present(rule); }
  Queue(const RuleConfig& rule, const StageSetup& setup);

  void begin(Passage& p, Stats& /*stats*/) noexcept { p.queue = &bottleneck_; }
  void apply(Passage& p, Stats& stats) noexcept {
    if (p.row) bottleneck_.set_rate(p.row->rate_bps.value_or(rate_bps_));
    const auto departs = bottleneck_.enqueue(p.bytes, p.now);
    if (!departs) {
      ++stats.tail_dropped;
      return p.decision.drop(kNumber);
    }
    stats.peak_queue_bytes = std::max(stats.peak_queue_bytes, bottleneck_.occupancy(p.now));
    const std::uint32_t on_line = on_the_line(p.bytes, overhead_);
    const bool busy = stats.queue.add(on_line, p.now, *departs);
    if (p.row && busy) p.row_stats->busy_bytes += on_line;
    p.at = *departs;
    p.decision.act(kNumber);
  }
  void inherit(Queue& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept;

  /// Applies a pause frame for the queue. Returns how departures move; nothing if the queue ignores
  /// the frame.
  std::optional<QueueShift> pause(const wire::PfcFields& asked, Instant now, Stats& stats) noexcept;
  /// Returns the pause to request now, in quanta; 0 ends an earlier one.
  std::optional<std::uint16_t> asks_for(Instant now) noexcept;
  /// Counts a pause that is sent.
  static void count_pause(std::uint16_t quanta, Stats& stats) noexcept {
    ++(quanta > 0 ? stats.pauses.asked : stats.pauses.ended);
  }
  /// Whether a pause was requested and not ended.
  [[nodiscard]] bool pausing() const noexcept { return watch_ && watch_->asked(); }
  /// Bytes in the buffer.
  [[nodiscard]] std::uint64_t bytes_at(Instant now) const noexcept {
    return bottleneck_.occupancy_at(now);
  }
  /// When asks_for() must be called again; Instant::max() while there is no pause.
  [[nodiscard]] Instant next_ask() const noexcept {
    if (!pausing()) return Instant::max();
    return std::min(watch_->next(), bottleneck_.next_departure());
  }
  [[nodiscard]] std::uint8_t priority() const noexcept { return pfc_ ? pfc_->priority : 0; }

  static void read(const StageKeys& rule, Settings& settings);
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static const FigureTable& figures();
  static void report(const RuleStats& stats, StageLines& lines);
  static void add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept;
  static std::uint64_t bytes_needed(const RuleConfig& rule) noexcept;

 private:
  Bottleneck bottleneck_;
  double rate_bps_;
  std::uint32_t overhead_;
  std::optional<PauseConfig> pfc_;
  std::optional<PauseWatch> watch_;
  Instant paused_until_{Duration::min()};
};

}  // namespace lw::emulator
