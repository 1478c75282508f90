// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/figure.h"
#include "core/question.h"
#include "core/time.h"

/// What this machine itself did to frames: its ports, rings, pools, sockets and threads. It is no
/// effect of the path that a program measures or emulates.
namespace lw {

/// Times for which a polling thread stood still.
struct Stalls {
  static constexpr Duration kShortest = std::chrono::milliseconds(1);

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
  void start(Instant now) noexcept { start_ = last_ = now; }
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

/// Frames that this machine lost in one place.
struct OwnLoss {
  std::string place;  // "port west"
  std::string how;    // "before it received them"
  std::uint64_t lost = 0;
  std::uint64_t frames = 0;  // that came there, lost ones included
  std::optional<Duration> first = {}, last = {};  // since the start, by samples
  std::string remedy = {};

  [[nodiscard]] double share() const noexcept {
    return frames == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(frames);
  }
  static const FigureTable& figures();
};

/// What this machine lost and delayed in a run.
struct Machine {
  std::vector<OwnLoss> losses = {};  // one for each place that may lose frames
  Stalls stalls = {};
  Duration elapsed{};  // of the run

  /// Adds another machine, or what the same one did in another part of the run.
  void add(const Machine& other);
  [[nodiscard]] std::uint64_t lost() const noexcept;
  /// The share in the place that lost most of its frames.
  [[nodiscard]] double share() const noexcept;
  [[nodiscard]] double stalled_share() const noexcept;
  static const FigureTable& figures();
};

/// Largest share of the frames that this machine may lose and the results still be of use.
inline constexpr double kMostOwnLoss = 1e-4;

/// The questions of every command with ports. `machine` and `stall`.
inline constexpr Question kMachineQuestions[] = {
    {.name = "machine",
     .meaning = "share of the frames that our own ports, rings, pools, sockets or threads lost",
     .unit = Expectation::Unit::share,
     .asked = "at most 0.01 % of the frames, and a tenth of the loss asked for, are lost by this "
              "machine",
     .limit = "<= 0.01%",
     .where = "port and pool counters"},
    {.name = "stall",
     .meaning = "longest time for which a thread of ours stood still",
     .unit = Expectation::Unit::time,
     .asked = "no thread of ours stands still for more than 100 ms",
     .limit = "<= 100ms",
     .where = "own clock",
     .noted = true}};

/// Adds what the machine did; about losses only if it has places that count them. `who`: "this box", "this machine". `asked_loss`: the share of the
/// frames that the path was asked to lose; none: nobody asked for a loss.
void observe(Judge& judge, const Machine& machine, std::string_view who,
             std::optional<double> asked_loss = {});

/// The expectations of --strict-machine, as far as the command has the questions.
std::vector<Expectation> strict_machine(std::span<const Question> questions);

}  // namespace lw
