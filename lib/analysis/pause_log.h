// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "analysis/anomaly.h"
#include "wire/address.h"
#include "wire/pfc.h"

namespace lw::analysis {

/// Pause frames of a capture: PFC by priority (IEEE 802.1Qbb), and of the whole link (802.3x).
///
/// The time paused runs from a pause to its end, for each port that sends pauses. A pause that the
/// port neither ends nor renews within kLongest has run out at an unknown time, as the capture does
/// not tell the speed of the link: it counts up to its last renewal.
class PauseLog {
 public:
  /// 65,535 quanta of 512 bits at 1 Gb/s.
  static constexpr Duration kLongest{33'553'920};
  static constexpr std::size_t kMostPorts = 256;  // others count without times

  /// Adds a frame of priority flow control.
  void add(std::uint64_t number, Instant stamp, const wire::MacAddress& port,
           const wire::PfcFields& fields);
  /// Adds a frame that pauses the whole link for `quanta`; 0 ends the pause.
  void add_link(std::uint64_t number, Instant stamp, const wire::MacAddress& port,
                std::uint16_t quanta);

  /// Frames that asked for silence of each priority, and of the whole link.
  [[nodiscard]] const std::array<std::uint64_t, wire::kPriorities>& of_priority() const noexcept {
    return frames_;
  }
  [[nodiscard]] std::uint64_t of_link() const noexcept { return link_frames_; }
  /// The time for which the port that paused it longest stopped a priority, or the link.
  [[nodiscard]] Duration paused(std::size_t priority) const noexcept { return longest_[priority]; }
  [[nodiscard]] Duration link_paused() const noexcept { return longest_[kLink]; }
  /// All pauses as one anomaly; nothing: none came.
  [[nodiscard]] std::optional<Anomaly> summary() const;

 private:
  static constexpr std::size_t kLink = wire::kPriorities;
  struct Pause {
    std::optional<Instant> since, renewed;  // nothing: not paused
    Duration before{};                      // of the pauses that ended
  };
  void note(std::uint64_t number, Instant stamp);
  void set(std::size_t what, Instant stamp, const wire::MacAddress& port, std::uint16_t quanta);

  std::array<std::uint64_t, wire::kPriorities> frames_{};
  std::uint64_t link_frames_ = 0;
  std::array<Duration, wire::kPriorities + 1> longest_{};
  std::map<std::array<std::byte, 6>, std::array<Pause, wire::kPriorities + 1>> ports_;
  std::optional<Anomaly> first_;
};

}  // namespace lw::analysis
