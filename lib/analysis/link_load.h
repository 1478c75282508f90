// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>

#include "analysis/packet.h"
#include "core/time.h"

namespace lw::analysis {

/// How busy the link to one host is, as packets to it show at one capture point: those of all
/// connections together. Nothing here knows the link's rate: the highest that a few packets in a
/// row came at is the least that it can be.
class LinkLoad {
 public:
  /// Adds a packet of the host with index `source`, of `length` bytes from the first of its
  /// Ethernet header on, without its FCS.
  void add(std::uint32_t source, Instant stamp, std::uint32_t length) {
    constexpr std::uint32_t kOverhead = 24;  // FCS, preamble and gap between frames, in bytes
    if (short_.frames == kFew) most_ = std::max(most_, short_.end(stamp));
    if (long_.frames == kMany) end_window(stamp);
    short_.add(stamp, length + kOverhead);
    long_.add(stamp, length + kOverhead);
    several_ = several_ || (long_.frames > 1 && source != source_);
    source_ = source;
  }
  /// The highest rate of 16 packets in a row, in b/s; 0: there were fewer.
  [[nodiscard]] double most() const noexcept { return most_; }
  /// Number of packets in rows of 64, of several hosts, that came at three quarters of `rate` b/s
  /// or more.
  [[nodiscard]] std::uint64_t busy_packets(double rate) const noexcept {
    std::uint64_t windows = 0;
    for (std::size_t i = slot_of(kBusy * rate); windows_ && i < kSlots; ++i)
      windows += (*windows_)[i];
    return windows * kMany;
  }

 private:
  static constexpr std::uint32_t kFew = 16, kMany = 64;
  static constexpr double kBusy = 0.75;  // of the link's rate
  static constexpr std::size_t kOctave = 8, kSlots = 48 * kOctave;

  struct Window {
    std::uint32_t frames = 0;
    std::uint64_t bytes = 0;
    Instant first = {};

    void add(Instant stamp, std::uint32_t length) noexcept {
      if (frames++ == 0) first = stamp;
      bytes += length;
    }
    /// Begins anew. Returns the rate up to `stamp`, that of the packet behind the window, in b/s.
    double end(Instant stamp) noexcept {
      const Duration time = stamp_difference(stamp, first);
      const double rate = time > Duration{}
                              ? static_cast<double>(bytes) * 8e9 / static_cast<double>(time.count())
                              : 0;
      *this = {};
      return rate;
    }
  };

  static std::size_t slot_of(double rate) noexcept {
    if (rate < 1) return 0;
    return std::min(kSlots - 1, static_cast<std::size_t>(kOctave * std::log2(rate)));
  }
  void end_window(Instant stamp) {
    const double rate = long_.end(stamp);
    if (several_) {
      if (!windows_) windows_ = std::make_unique<std::array<std::uint32_t, kSlots>>();
      ++(*windows_)[slot_of(rate)];
    }
    several_ = false;
  }

  Window short_, long_;
  double most_ = 0;
  std::uint32_t source_ = 0;
  bool several_ = false;                                        // hosts, in the long window
  std::unique_ptr<std::array<std::uint32_t, kSlots>> windows_;  // of several hosts, by rate
};

}  // namespace lw::analysis
