// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"
#include "wire/pfc.h"

namespace lw::emulator {

/// Priority-based flow control at an emulated queue (IEEE 802.1Qbb): what it says to those before
/// it, and whether it listens to those behind it.
struct PauseConfig {
  struct Thresholds {
    std::uint64_t xoff_bytes = 0, xon_bytes = 0;  // xon < xoff <= the buffer
    friend bool operator==(const Thresholds&, const Thresholds&) = default;
  };
  std::uint8_t priority = 3;            // whose frames wait in the queue, 0..7
  std::optional<Thresholds> emit = {};  // none: it doesn't ask for silence
  double link_bps = 400e9;              // of the link that what is emitted goes out by
  bool honour = true;
  friend bool operator==(const PauseConfig&, const PauseConfig&) = default;
};

/// How long so many quanta are on a link.
inline Duration time_of_quanta(std::uint16_t quanta, double link_bps) noexcept {
  const double bits = static_cast<double>(quanta) * wire::kQuantumBits;
  return Duration{static_cast<Duration::rep>(bits * 1e9 / link_bps)};
}

/// Says when a queue asks for silence: as long as possible once it has filled up to xoff, again
/// halfway through for as long as it hasn't emptied down to xon, and then for no more of it.
class PauseWatch {
 public:
  static constexpr std::uint16_t kLongest = 0xffff;

  explicit PauseWatch(const PauseConfig& config) noexcept
      : thresholds_(config.emit.value_or(PauseConfig::Thresholds{})),
        again_(time_of_quanta(kLongest, config.link_bps) / 2) {}

  /// The quanta to ask for now, by the bytes in the buffer.
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
  /// When it asks again, while it has asked.
  [[nodiscard]] Instant next() const noexcept { return next_; }

 private:
  PauseConfig::Thresholds thresholds_;
  Duration again_;
  bool asked_ = false;
  Instant next_{};
};

/// What departures from a queue are put off by: those after `after`. Negative where a pause ends
/// before it was to.
struct QueueShift {
  Instant after;
  Duration by{};
};

}  // namespace lw::emulator
