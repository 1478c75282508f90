// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/packet.h"
#include "core/time.h"

namespace lw::analysis {

/// Packets in a row to one host.
struct LoadRow {
  Instant first = {};    // stamp of the first
  float rate = 0;        // b/s, up to the packet behind the row
  bool several = false;  // they are of several hosts
};

/// How busy the link to one host is, as packets to it show at one capture point: those of all
/// connections together. Nothing here knows the link's rate: the highest that a few packets in a
/// row came at is the least that it can be.
class LinkLoad {
 public:
  static constexpr double kBusy = 0.75;  // of the link's rate

  /// Adds a packet of the host with index `source`, of `length` bytes from the first of its
  /// Ethernet header on, without its FCS.
  /// `room`: rows that may still be kept, of all hosts.
  void add(std::uint32_t source, Instant stamp, std::uint32_t length, std::uint32_t& room) {
    constexpr std::uint32_t kOverhead = 24;  // FCS, preamble and gap between frames, in bytes
    if (few_.frames == kFew) end_few(stamp, room);
    if (few_.frames++ == 0) few_.first = stamp;
    few_.bytes += length + kOverhead;
    if (source != source_ && source_ != kNone) few_.several = true;
    source_ = source;
  }
  /// The highest rate of 16 packets in a row, in b/s; 0: there were fewer.
  [[nodiscard]] double most() const noexcept { return most_; }
  /// Number of packets in rows of 64, of several hosts, that came at three quarters of `rate` b/s
  /// or more.
  [[nodiscard]] std::uint64_t busy_packets(double rate) const noexcept {
    std::uint64_t rows = 0;
    for (std::size_t i = slot_of(kBusy * rate); rows_ && i < kSlots; ++i) rows += (*rows_)[i];
    return rows * kMany;
  }

  /// The rows of 16 packets, in the order of the capture, as far as there was room.
  [[nodiscard]] const std::vector<LoadRow>& rows() const noexcept { return past_; }
  /// The row of 16 packets with the highest rate of those around `stamp`: that which holds it, the
  /// one before and the one behind. Nothing: there is none.
  [[nodiscard]] std::optional<LoadRow> busiest_around(Instant stamp) const noexcept {
    const auto behind = std::ranges::upper_bound(past_, stamp, {}, &LoadRow::first);
    const auto begin = behind - std::min<std::ptrdiff_t>(2, behind - past_.begin());
    const auto end = behind + std::min<std::ptrdiff_t>(1, past_.end() - behind);
    if (begin == end) return std::nullopt;
    return *std::max_element(begin, end,
                             [](const LoadRow& a, const LoadRow& b) { return a.rate < b.rate; });
  }

 private:
  static constexpr std::uint32_t kFew = 16, kMany = 64;
  static constexpr std::uint32_t kNone = ~0U;
  static constexpr std::size_t kOctave = 8, kSlots = 48 * kOctave;

  /// Packets in a row.
  struct Row {
    std::uint32_t frames = 0;
    std::uint64_t bytes = 0;
    Instant first = {};
    bool several = false;  // packets of several hosts

    /// In b/s, up to `stamp`, that of the packet behind the row.
    [[nodiscard]] double rate(Instant stamp) const noexcept {
      const Duration time = stamp_difference(stamp, first);
      return time > Duration{}
                 ? static_cast<double>(bytes) * 8e9 / static_cast<double>(time.count())
                 : 0;
    }
  };

  static std::size_t slot_of(double rate) noexcept {
    if (rate < 1) return 0;
    return std::min(kSlots - 1, static_cast<std::size_t>(kOctave * std::log2(rate)));
  }
  void end_few(Instant stamp, std::uint32_t& room) {
    const double rate = few_.rate(stamp);
    most_ = std::max(most_, rate);
    if (room > 0) {
      --room;
      past_.push_back({few_.first, static_cast<float>(rate), few_.several});
    }
    if (many_.frames == 0) many_.first = few_.first;
    many_.frames += few_.frames;
    many_.bytes += few_.bytes;
    many_.several = many_.several || few_.several;
    few_ = {};
    if (many_.frames == kMany) end_many(stamp);
  }
  void end_many(Instant stamp) {
    if (many_.several) {
      if (!rows_) rows_ = std::make_unique<std::array<std::uint32_t, kSlots>>();
      ++(*rows_)[slot_of(many_.rate(stamp))];
    }
    many_ = {};
    source_ = kNone;
  }

  Row few_, many_;
  double most_ = 0;
  std::uint32_t source_ = kNone;  // of the packet before, in the row of 64
  std::vector<LoadRow> past_;
  std::unique_ptr<std::array<std::uint32_t, kSlots>> rows_;  // of 64, of several hosts, by rate
};

}  // namespace lw::analysis
