// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/anomaly.h"
#include "core/time.h"

namespace lw::analysis {

/// An anomaly as it was seen, and what its finding depends on. A time is nothing if what it is
/// measured from was not seen.
struct Fact {
  Anomaly seen;                         // its cause is what the packets before it suggest
  std::optional<Duration> sent_before = {};  // of a packet that comes again: since it was sent last
  std::optional<Duration> asked_before = {};  // since the NAK or the missing response that asked for it
  std::optional<Duration> answered_before = {};  // since the answer that acknowledged it
  std::optional<Duration> answered_after = {};   // until the first answer to it, from its repetition on
  bool acknowledged = false;  // an answer acknowledged it before
  bool discarded = false;     // under go-back-N its receiver may have discarded it behind a hole
};

/// How a sender repeats packets after a NAK.
enum class RecoveryScheme : std::uint8_t { unknown, go_back_n, selective };

/// What the whole capture shows about the requests of one direction and their answers.
struct ConnectionFacts {
  bool answered = false;               // answers were captured
  bool requested = false;              // requests were captured
  std::optional<Duration> least_rtt = {};   // from a packet sent once to its answer, at this point
  std::optional<Duration> least_reaction = {};  // from a NAK to the recovery that it caused
  RecoveryScheme scheme = RecoveryScheme::unknown;
  bool ip_numbers_rise = false;        // its sender counts up its IP identifications
};

/// What the capture shows about itself.
struct CaptureFacts {
  std::uint64_t packets = 0;  // PSNs that an answer acknowledges
  std::uint64_t missing = 0;  // of these: the capture lacks them

  /// Whether the capture lacks frames that the network carried: more than 0.1 %, and not by an odd
  /// chance. Then nothing follows from the absence of a frame.
  [[nodiscard]] bool is_incomplete() const noexcept {
    constexpr std::uint64_t kFew = 2, kShare = 1000;
    return missing > kFew && missing * kShare > packets;
  }
};

}  // namespace lw::analysis
