// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.h"
#include "transport/queue_pair.h"

namespace lw::perf {

/// Counters of a run since its start, of all QPs together.
struct IntervalTotals {
  std::uint64_t messages = 0, bytes = 0;  // completed, both ways; bytes of payload
  std::uint64_t packets = 0;              // sent
  std::uint64_t retransmitted = 0;        // of these
  std::uint64_t losses = 0;               // signs of a loss: NAKs of sequence, gaps, timeouts
  Duration round_trips{};                 // sum of the QPs' smoothed ones
  std::int64_t measured = 0;              // QPs that have one

  /// Adds what a QP has sent.
  void add(const transport::QueuePair& pair) noexcept;
  /// Mean of the QPs' smoothed round trips; 0: none is measured.
  [[nodiscard]] Duration round_trip() const noexcept {
    return measured > 0 ? round_trips / measured : Duration{};
  }
};

/// Latencies of the messages of one interval.
class LatencyWindow {
 public:
  void add(Duration latency) noexcept {
    least_ = count_ == 0 ? latency : std::min(least_, latency);
    most_ = std::max(most_, latency);
    sum_ += latency;
    ++count_;
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] Duration least() const noexcept { return least_; }
  [[nodiscard]] Duration most() const noexcept { return most_; }
  /// 0 without a message.
  [[nodiscard]] Duration mean() const noexcept {
    return count_ == 0 ? Duration{} : sum_ / static_cast<std::int64_t>(count_);
  }

 private:
  std::uint64_t count_ = 0;
  Duration least_{}, most_{}, sum_{};
};

}  // namespace lw::perf
