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
class RecoveryVotes {
 public:
  /// A NAK names `psn`.
  void add_nak(std::uint32_t psn, Instant stamp) noexcept {
    named_ = psn;
    stamp_ = stamp;
  }
  /// Whether a NAK waits for its answer. Otherwise add() has no effect.
  [[nodiscard]] bool is_open() const noexcept { return named_ || repeated_; }
  /// Adds a request with `psn`. `end`: one past the highest PSN sent before it.
  void add(std::uint32_t psn, std::uint32_t end, Instant stamp) noexcept {
    const wire::Psn sent{psn};
    if (repeated_) {
      const bool goes_back = sent == wire::Psn{*repeated_} + 1;
      const bool is_new = wire::Psn::distance(wire::Psn{end}, sent) >= 0;
      if (goes_back || is_new) (goes_back ? go_back_n_ : selective_).add(reaction_);
      repeated_.reset();
    }
    if (named_ == psn && wire::Psn::distance(sent, wire::Psn{end}) > 1) {
      repeated_ = psn;
      reaction_ = stamp_difference(stamp, stamp_);
      named_.reset();
    }
  }

  [[nodiscard]] RecoveryScheme scheme() const noexcept {
    if (selective_.count == go_back_n_.count) return RecoveryScheme::unknown;
    return selective_.count > go_back_n_.count ? RecoveryScheme::selective
                                               : RecoveryScheme::go_back_n;
  }
  /// Shortest time from a NAK to the packet that it names, sent by scheme(); nothing: not seen. A
  /// packet that comes late after the NAK votes for the other scheme, too soon.
  [[nodiscard]] std::optional<Duration> least_reaction() const noexcept {
    if (scheme() == RecoveryScheme::go_back_n) return go_back_n_.least;
    if (scheme() == RecoveryScheme::selective) return selective_.least;
    return std::min(go_back_n_.least, selective_.least);
  }

 private:
  struct Votes {
    std::uint32_t count = 0;
    std::optional<Duration> least = {};  // reaction

    void add(Duration reaction) noexcept {
      ++count;
      least = std::min(least.value_or(reaction), reaction);
    }
  };

  std::optional<std::uint32_t> named_, repeated_;
  Instant stamp_;        // of the NAK
  Duration reaction_{};  // of repeated_
  Votes go_back_n_, selective_;
};

}  // namespace lw::analysis
