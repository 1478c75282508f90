// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lw {
struct FigureTable;
}

namespace lw::emulator {

/// Most classes of one queue.
inline constexpr std::size_t kMostQueueClasses = 64;
inline constexpr std::uint32_t kLargestWeight = 1000;

/// When a class is served: `weight` counts among classes of the same priority.
struct ServiceOrder {
  std::uint32_t priority = 0;  // 0..63; the highest is served first, as with IEEE 802.1Q
  std::uint32_t weight = 1;    // 1..kLargestWeight
  friend bool operator==(const ServiceOrder&, const ServiceOrder&) = default;
  static const FigureTable& figures();
};

/// Chooses the class of a queue that sends next: strict priority, and deficit round robin
/// (Shreedhar and Varghese, 1996) among classes of one priority.
///
/// The classes of a priority take turns, in the order of their numbers. A turn adds the class's
/// quantum to its credit: its weight, divided by the greatest common divisor of the priority's
/// weights, times `quantum` bytes. The class sends as long as its credit covers its first frame,
/// and pays for each frame. A class that has nothing to send when it could loses its credit, and
/// the turn passes on. A class that is alone in its priority needs no credit. One thread; nothing
/// is allocated.
class ClassScheduler {
 public:
  /// Sets the classes and restarts all turns without credit. `quantum`: 64..65536 bytes.
  void configure(std::span<const ServiceOrder> classes, std::uint32_t quantum) noexcept;

  /// Returns the class that sends next, which pays for its frame; nothing if none can send.
  /// `ready(c)`: whether class c has a frame that may be sent; `cost(c)`: its bytes on the link.
  template <class Ready, class Cost>
  [[nodiscard]] std::optional<std::uint32_t> next(Ready ready, Cost cost) noexcept {
    for (std::size_t i = 0; i < levels_; ++i) {
      Level& level = level_[i];
      if (level.end - level.first == 1) {  // nobody to take turns with
        if (ready(order_[level.first])) return order_[level.first];
        continue;
      }
      bool any = false;
      for (std::size_t m = level.first; m < level.end && !any; ++m) any = ready(order_[m]);
      if (any) return next_of(level, ready, cost);
    }
    return std::nullopt;
  }

 private:
  struct Level {  // the classes of one priority: order_[first..end)
    std::uint8_t first = 0, end = 0;
    std::uint8_t turn = 0;  // index in order_
  };

  template <class Ready, class Cost>
  std::uint32_t next_of(Level& level, Ready ready, Cost cost) noexcept {
    for (;;) {
      const std::uint32_t c = order_[level.turn];
      if (ready(c)) {
        const std::uint64_t price = cost(c);
        if (price <= credit_[c]) {
          credit_[c] -= price;
          return c;
        }
      } else {
        credit_[c] = 0;
      }
      if (++level.turn == level.end) level.turn = level.first;
      credit_[order_[level.turn]] += quantum_[order_[level.turn]];
    }
  }

  std::size_t levels_ = 0;
  std::array<Level, kMostQueueClasses> level_{};         // highest priority first
  std::array<std::uint8_t, kMostQueueClasses> order_{};  // classes by priority, then by number
  std::array<std::uint64_t, kMostQueueClasses> credit_{}, quantum_{};  // bytes, by class
};

}  // namespace lw::emulator
