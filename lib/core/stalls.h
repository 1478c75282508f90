// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"

namespace lw {

/// Times for which a polling thread stood still.
struct Stalls {
  static constexpr Duration kShortest = std::chrono::milliseconds(1);

  bool watched = false;     // by a StallWatch
  std::uint64_t count = 0;  // of at least kShortest
  Duration total{};
  Duration longest{};
  Duration longest_at{};  // its begin, since the start of the run

  /// Adds the stalls of a thread that ran beside.
  void add(const Stalls& other) noexcept;
};

/// Finds the stalls of a thread that polls.
class StallWatch {
 public:
  /// The run starts.
  void start(Instant now) noexcept {
    start_ = last_ = now;
    stalls_.watched = true;
  }
  /// The thread will sleep for at most `longest`.
  void sleeps(Duration longest) noexcept { last_ += longest; }
  /// Called at each poll.
  void poll(Instant now) noexcept {
    if (now - last_ >= Stalls::kShortest) [[unlikely]]
      note(now);
    last_ = now;
  }
  [[nodiscard]] const Stalls& stalls() const noexcept { return stalls_; }

 private:
  void note(Instant now) noexcept;

  Instant start_{}, last_{};
  Stalls stalls_;
};

/// When a counter of losses rose, by samples.
struct LossTimes {
  std::uint64_t lost = 0;
  std::optional<Duration> first = {}, last = {};  // since the start of the run

  /// The counter's value at `now`, since the start.
  void sample(std::uint64_t value, Duration now) noexcept {
    if (value > lost) {
      first = first.value_or(sampled_);
      last = now;
      lost = value;
    }
    sampled_ = now;
  }

 private:
  Duration sampled_{};
};

}  // namespace lw
