// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"
#include "wire/pfc.h"

namespace lw {
struct FigureTable;
}

namespace lw::emulator {

/// When a queue sends pause frames, by the bytes in it.
struct PauseThresholds {
  std::uint64_t xoff_bytes = 0, xon_bytes = 0;  // xon < xoff <= the buffer
  friend bool operator==(const PauseThresholds&, const PauseThresholds&) = default;
  static const FigureTable& figures();
};

/// Priority-based flow control at an emulated queue (IEEE 802.1Qbb): whether it sends pause frames
/// to the sending side, and whether it obeys those of the receiving side.
struct PauseConfig {
  std::uint8_t priority = 3;                 // priority of the frames in the queue, 0..7
  std::optional<PauseThresholds> emit = {};  // none: sends no pause frames
  double link_bps = 400e9;  // rate of the link that carries the emitted pause frames
  bool honour = true;
  friend bool operator==(const PauseConfig&, const PauseConfig&) = default;
  static const FigureTable& figures();
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
      : thresholds_(config.emit.value_or(PauseThresholds{})),
        again_(time_of_quanta(kLongest, config.link_bps) / 2) {}

  /// Returns the quanta to request now, for a number of bytes in the buffer.
  [[nodiscard]] std::optional<std::uint16_t> quanta_due(std::uint64_t queued,
                                                        Instant now) noexcept {
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
  PauseThresholds thresholds_;
  Duration again_;
  bool asked_ = false;
  Instant next_{};
};

}  // namespace lw::emulator
