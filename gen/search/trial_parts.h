// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/time.h"
#include "gen/search/delay_trend.h"

namespace lw::gen {

/// Frames of one flow in a trial.
struct FlowFrames {
  std::uint64_t due = 1;   // as the trial planned
  std::uint64_t sent = 0;  // at most `due`
};

/// What arrived of each part of a trial, and in which parts this machine stood still: a burst of
/// its own follows, and what a queue drops of it, or delays, tells nothing of the path. What the
/// other parts lose, or a latency that grows in them, is the path's. A part is an equal share of
/// the frames of each flow, in their order. One thread; reads no clock.
class TrialParts {
 public:
  static constexpr std::size_t kMost = 200;
  /// Who stood still.
  enum class By : std::uint8_t { sender, path };
  /// Whose standing still counts.
  struct Counted {
    bool sender = false, path = false;
  };
  struct Frames {
    std::uint64_t sent = 0, lost = 0;
  };
  struct Still {
    Duration total{}, longest{};

    void add(Duration time) noexcept {
      total += time;
      longest = std::max(longest, time);
    }
  };

  /// `frames`: of the trial; `span`: in which they are due, > 0.
  TrialParts(std::uint64_t frames, Duration span);

  /// The part of a flow's frame `number`, counted from 0, of `due`, 1 to 2^57.
  [[nodiscard]] std::size_t part_of(std::uint64_t number, std::uint64_t due) const noexcept;
  /// A frame arrived.
  void add(std::size_t part) noexcept { ++parts_[part].received; }
  void add_latency(std::size_t part, Duration latency) noexcept;
  /// Of all frames; nothing if none shows its latency.
  [[nodiscard]] std::optional<Duration> least_latency() const noexcept;
  /// Somebody stood still for `time`. `held`: part of the first frame that was late by it;
  /// `before`: time from when that was sent until the standing still began. The part behind the
  /// burst that follows counts as disturbed, too, as queues are fullest there.
  void stand_still(By by, std::size_t held, Duration before, Duration time) noexcept;

  /// Frames of the disturbed parts.
  [[nodiscard]] Frames disturbed(std::span<const FlowFrames> flows, Counted counted) const noexcept;
  /// At least half of the parts are: nothing is known of the rest.
  [[nodiscard]] bool mostly_disturbed(Counted counted) const noexcept;
  /// Some parts are, and of the others some lost frames, but fewer than one in twenty: no rate that
  /// is too high loses so, but a queue that is full of a burst does by each short delay.
  [[nodiscard]] bool loses_at_random(std::span<const FlowFrames> flows,
                                     Counted counted) const noexcept;
  /// Times in which somebody stood still. A queue grows by at most the longest one of each of those
  /// who did, as a queue that is longer misses nothing meanwhile.
  [[nodiscard]] Still still(Counted counted) const noexcept;
  /// Of the parts that are not disturbed; of all if most are.
  [[nodiscard]] DelayTrend trend(Counted counted) const;

 private:
  struct Part {
    std::uint64_t received = 0;
    std::optional<Duration> least;
    bool still_sender = false, still_path = false;

    [[nodiscard]] bool disturbed(Counted counted) const noexcept {
      return (counted.sender && still_sender) || (counted.path && still_path);
    }
  };
  [[nodiscard]] std::size_t later(std::size_t part, Duration time) const noexcept;
  void disturb(By by, std::size_t part, Duration time) noexcept;
  [[nodiscard]] Frames frames_in(std::size_t part,
                                 std::span<const FlowFrames> flows) const noexcept;

  std::vector<Part> parts_;
  Duration length_;  // of a part
  Still sender_, path_;
};

}  // namespace lw::gen
