// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "emulator/queue/line_queue.h"
#include "emulator/stats/queue_stats.h"

namespace lw::emulator {

/// What left a queue, for its audit.
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

/// Watches what comes into a queue, and what leaves it: it has its own counts, and asks the queue
/// nothing. One thread.
class ServiceWatch {
 public:
  explicit ServiceWatch(const LineQueueConfig& config) noexcept;

  void came(std::uint32_t cls, std::uint32_t bytes, Instant now) noexcept {
    came(cls, 1, bytes, now);
  }
  /// Frames that came together, of `bytes` in all.
  void came(std::uint32_t cls, std::uint64_t frames, std::uint64_t bytes, Instant now) noexcept {
    if (waiting_[cls] == 0) since_[cls] = now;
    waiting_[cls] += frames;
    not_empty_ |= bit(cls);
    bytes_ += bytes;
    stats_.peak_bytes = std::max(stats_.peak_bytes, bytes_);
  }
  /// A frame of `bytes` in the buffer, which came in at `came`, has left. Returns its bytes on the
  /// link if it was seen to leave directly after another, otherwise 0.
  std::uint64_t left(std::uint32_t cls, std::uint32_t bytes, const LineTimes& times,
                     Instant came) noexcept {
    const std::uint64_t on_link = cost_.of(bytes);
    const bool busy = stats_.link.add(on_link, came, times);
    if (several_) judge(cls, on_link, times);
    if (--waiting_[cls] == 0) not_empty_ &= ~bit(cls);
    bytes_ -= bytes;
    if (several_) find_ready(times.ends);
    return busy ? on_link : 0;
  }
  void pause(std::uint32_t cls, Instant until) noexcept { paused_until_[cls] = until; }
  /// Starts the counts anew. The frames inside are still known.
  void restart() noexcept { stats_ = {}; }
  /// Continues with the frames that `old` has seen come and not leave.
  void take_over(const ServiceWatch& old) noexcept;

  [[nodiscard]] const ServiceStats& stats() const noexcept { return stats_; }

 private:
  using Classes = std::uint64_t;  // a bit a class
  static constexpr Classes bit(std::uint32_t cls) noexcept { return Classes{1} << cls; }
  [[nodiscard]] bool overtakes(std::uint32_t cls, Instant starts) const noexcept;
  void judge(std::uint32_t cls, std::uint64_t on_link, const LineTimes& times) noexcept;
  void judge_share(std::uint32_t cls, std::uint64_t on_link) noexcept;
  void find_ready(Instant at) noexcept;

  bool several_;  // classes; `old` may have had more
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
