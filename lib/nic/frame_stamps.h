// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <rte_mbuf.h>

#include "nic/device_clock.h"

namespace lw::nic {

/// When frames arrived, by the stamps that a driver of DPDK writes into them (the dynamic field for
/// receive timestamps). One thread.
class FrameStamps {
 public:
  static constexpr std::size_t kMost = 64;  // frames of a burst whose stamps are kept

  /// Finds the field, or reserves it. Call it before the device starts. Nothing if buffers have no
  /// space left.
  static std::optional<FrameStamps> find() noexcept;

  /// The stamps are ticks of this clock, which is started. Without it they are microseconds of
  /// CLOCK_REALTIME, as those of DPDK's pcap driver.
  void count_in(DeviceClock clock) { clock_ = std::move(clock); }

  /// Reads the stamps of frames that were just received. A frame without a stamp arrives now.
  void read(std::span<rte_mbuf* const> frames) noexcept;
  /// Those of the last read(): CLOCK_REALTIME, ns; of at most kMost frames.
  [[nodiscard]] std::span<const std::int64_t> last() const noexcept {
    return std::span(stamps_).first(count_);
  }
  /// How far off a stamp may be.
  [[nodiscard]] Duration uncertainty() const noexcept {
    return clock_ ? clock_->uncertainty() : std::chrono::microseconds(1);
  }

 private:
  FrameStamps(int field, std::uint64_t flag) noexcept : field_(field), flag_(flag) {}

  int field_;           // offset in buffers
  std::uint64_t flag_;  // of frames that have a stamp
  std::optional<DeviceClock> clock_;
  std::array<std::int64_t, kMost> stamps_{};
  std::size_t count_ = 0;
};

}  // namespace lw::nic
