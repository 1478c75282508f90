// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "path/direction.h"
#include "path/events/cm_learner.h"

namespace lw::path {

/// Connection set-up that was heard in one direction, on its way to the other: a request passes
/// one way and its reply the other. One thread puts, one takes; neither waits.
class CmChannel {
 public:
  /// Where the reader is 64 behind, the sighting is lost: a PSN is then learnt from the packets.
  void put(const CmSighting& sighting) noexcept {
    const auto at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) == ring_.size()) return;
    ring_[at % ring_.size()] = sighting;
    written_.store(at + 1, std::memory_order_release);
  }
  [[nodiscard]] std::optional<CmSighting> take() noexcept {
    const auto at = read_.load(std::memory_order_relaxed);
    if (at == written_.load(std::memory_order_acquire)) return std::nullopt;
    const CmSighting sighting = ring_[at % ring_.size()];
    read_.store(at + 1, std::memory_order_release);
    return sighting;
  }

 private:
  std::array<CmSighting, 64> ring_{};
  alignas(64) std::atomic<std::uint32_t> written_{0};
  alignas(64) std::atomic<std::uint32_t> read_{0};
};

/// What the two directions of a box tell each other.
class CmExchange {
 public:
  [[nodiscard]] CmChannel& from(Direction direction) noexcept {
    return direction == Direction::west_to_east ? from_west_ : from_east_;
  }
  [[nodiscard]] CmChannel& to(Direction direction) noexcept {
    return direction == Direction::west_to_east ? from_east_ : from_west_;
  }

 private:
  CmChannel from_west_, from_east_;
};

}  // namespace lw::path
