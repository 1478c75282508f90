// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <utility>

#include "core/time.h"
#include "gen/endpoint/device.h"

namespace lw::gen::endpoint {

/// Finds out that a client is silent. A device tells its program nothing of READs, atomics and
/// plain WRITEs, but counts packets: a counter that changes is a sign as well as a message is. Time
/// is a parameter.
class IdleWatch {
 public:
  /// `limit`: longest time without a sign; 0: none. `sees_messages`: the caller notes each message.
  /// `read` returns the device's counters.
  IdleWatch(Duration limit, bool sees_messages, std::function<Counters()> read, Instant now)
      : limit_(limit),
        sees_messages_(sees_messages),
        read_(std::move(read)),
        sign_(now),
        look_at_(now),
        counters_(limit > Duration{} ? read_() : Counters{}) {}

  void note_sign(Instant now) noexcept { sign_ = now; }
  /// Returns true if there was no sign for the limit. False without any source of signs.
  [[nodiscard]] bool expired(Instant now) {
    if (limit_ == Duration{}) return false;
    if (now >= look_at_) read_counters(now);
    const bool has_signs = sees_messages_ || !counters_.empty();
    return has_signs && now - sign_ > limit_;
  }

 private:
  void read_counters(Instant now) {
    look_at_ = now + limit_ / 8;
    Counters found = read_();
    if (found != counters_) sign_ = now;
    counters_ = std::move(found);
  }

  Duration limit_;
  bool sees_messages_;
  std::function<Counters()> read_;
  Instant sign_, look_at_;
  Counters counters_;
};

}  // namespace lw::gen::endpoint
