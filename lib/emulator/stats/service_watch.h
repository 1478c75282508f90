// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "emulator/queue/shared_queue.h"
#include "emulator/stats/queue_stats.h"

namespace lw::emulator {

/// What left a queue of several classes, for its audit.
struct ServiceStats {
  QueueStats link;             // of all classes
  std::uint64_t overtook = 0;  // frames that left while a class of higher priority could have sent
  std::uint64_t shared = 0;    // frames that left while another class of their priority could send
  // Largest difference of two such classes, in bytes on the link per unit of weight, since both
  // could send.
  double widest = 0;
  std::uint64_t largest = 0;     // largest frame, in bytes on the link
  std::uint64_t peak_bytes = 0;  // most bytes in all classes
};

/// Watches what comes into a queue of several classes, and what leaves it: it has its own counts,
/// and asks the queue nothing. One thread.
class ServiceWatch {
 public:
  explicit ServiceWatch(const SharedQueueConfig& config) noexcept;

  void came(std::uint32_t cls, std::uint32_t bytes, Instant now) noexcept {
    if (waiting_[cls]++ == 0) since_[cls] = now;
    not_empty_ |= bit(cls);
    bytes_ += bytes;
    stats_.peak_bytes = std::max(stats_.peak_bytes, bytes_);
  }
  /// A frame that came in at `came` has left. `follows`: directly after another.
  void left(std::uint32_t cls, const Bottleneck::Frame& frame, Instant came, bool follows) noexcept;
  void pause(std::uint32_t cls, Instant until) noexcept { paused_until_[cls] = until; }
  /// Continues with the frames that `old` has seen come and not leave.
  void take_over(const ServiceWatch& old) noexcept;

  [[nodiscard]] const ServiceStats& stats() const noexcept { return stats_; }

 private:
  using Classes = std::uint64_t;  // a bit a class
  static constexpr Classes bit(std::uint32_t cls) noexcept { return Classes{1} << cls; }
  [[nodiscard]] bool overtakes(std::uint32_t cls, Instant starts) const noexcept;
  void judge_share(std::uint32_t cls, std::uint64_t on_link) noexcept;

  LineCost cost_;
  std::array<ServiceOrder, kMostQueueClasses> orders_{};
  std::array<Classes, kMostQueueClasses> higher_{}, equal_{};  // by class
  std::array<std::uint64_t, kMostQueueClasses> waiting_{};
  std::array<Instant, kMostQueueClasses> since_{};  // when the class had no frames last
  std::array<Instant, kMostQueueClasses> paused_until_{};
  std::array<double, kMostQueueClasses> service_{};  // bytes per unit of weight in this span
  std::array<Classes, kMostQueueClasses> span_{};    // classes of a span, by their first class
  Classes not_empty_ = 0;                            // classes with frames
  Classes ready_ = 0;  // classes that could send when the last frame had left
  std::uint64_t bytes_ = 0;
  ServiceStats stats_;
};

}  // namespace lw::emulator
