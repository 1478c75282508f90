// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "analysis/findings/facts.h"
#include "wire/psn.h"

namespace lw::analysis {

/// Learns how a sender answers NAKs "PSN sequence error": what it sends after the packet that a NAK
/// names shows whether it goes back or repeats this packet only.
///
/// A packet that comes late after its NAK looks as if it were repeated alone. So a few senders that
/// seem to repeat single packets go back: kWeight votes for this are worth one for going back.
class RecoveryVotes {
 public:
  /// A NAK names `psn`.
  void add_nak(std::uint32_t psn, Instant stamp) noexcept {
    named_ = psn;
    stamp_ = stamp;
  }
  /// Whether a NAK waits for its answer. Otherwise add() has no effect.
  [[nodiscard]] bool is_open() const noexcept { return named_ || run_; }
  /// Adds a request with `psn`. `before`: PSN of the request before it. `end`: one past the highest
  /// PSN sent before it.
  void add(std::uint32_t psn, std::uint32_t before, std::uint32_t end, Instant stamp) noexcept {
    if (run_) follow(psn, stamp);
    if (!named_ || wire::Psn{before} + 1 == wire::Psn{psn}) return;  // a recovery before the NAK
    const auto below = wire::Psn::distance(wire::Psn{psn}, wire::Psn{*named_});
    if (below < 0 || below > kFar || wire::Psn::distance(wire::Psn{psn}, wire::Psn{end}) <= 1)
      return;
    run_ = Run{.first = psn, .next = psn + 1, .end = end, .named = below == 0, .asked = stamp_};
    run_->reaction = stamp_difference(stamp, stamp_);
    named_.reset();
  }

  [[nodiscard]] RecoveryScheme scheme() const noexcept {
    if (selective_.count + go_back_n_.count == 0) return RecoveryScheme::unknown;
    return selective_.count > kWeight * go_back_n_.count ? RecoveryScheme::selective
                                                         : RecoveryScheme::go_back_n;
  }
  /// Shortest time from a NAK to the packet that it names, sent by scheme(); nothing: not seen.
  [[nodiscard]] std::optional<Duration> least_reaction() const noexcept {
    if (scheme() == RecoveryScheme::go_back_n) return go_back_n_.least;
    return selective_.least;
  }

 private:
  /// Packets that were repeated after a NAK, from the one that it names, or an earlier one.
  struct Run {
    std::uint32_t first = 0, next = 0;  // next: one past its newest PSN
    std::uint32_t end = 0;              // one past the highest PSN sent before
    std::uint32_t packets = 1;
    bool named = false;   // first is the packet that the NAK names
    Instant asked = {};   // when the NAK came
    Duration reaction{};  // from then to its first packet
  };
  struct Votes {
    std::uint32_t count = 0;
    std::optional<Duration> least = {};  // reaction

    void add(const Run& run) noexcept {
      ++count;
      if (run.named) least = std::min(least.value_or(run.reaction), run.reaction);
    }
  };

  static constexpr std::uint32_t kWeight = 4;
  static constexpr std::int32_t kFar = 1024;  // packets that a sender goes back at most

  /// Adds a request to run_, or ends it.
  void follow(std::uint32_t psn, Instant stamp) noexcept {
    constexpr std::uint32_t kMany = 3;  // a selective sender rarely loses as many in a row
    const wire::Psn sent{psn}, end{run_->end};
    if (psn == run_->first) {
      // What came before was late; behind others, this one is.
      if (run_->packets == 1) run_->reaction = stamp_difference(stamp, run_->asked);
      return;
    }
    const bool is_new = wire::Psn::distance(end, sent) >= 0;
    if (!is_new && wire::Psn::distance(wire::Psn{run_->next}, sent) >= 0) {
      run_->next = psn + 1;
      ++run_->packets;
      return;
    }
    const bool up_to_end = run_->packets > 1 && wire::Psn{run_->next} == end;
    if (up_to_end || run_->packets >= kMany)
      go_back_n_.add(*run_);
    else if (is_new && run_->packets == 1 && run_->named)
      selective_.add(*run_);
    run_.reset();
  }

  std::optional<std::uint32_t> named_;
  Instant stamp_;  // of the NAK
  std::optional<Run> run_;
  Votes go_back_n_, selective_;
};

}  // namespace lw::analysis
