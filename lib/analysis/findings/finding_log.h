// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/findings/facts.h"

namespace lw::analysis {

/// Facts of all connections, until the end of the capture.
class FindingLog {
 public:
  /// Facts beyond this are counted, not kept.
  static constexpr std::size_t kMost = 300'000;

  FindingLog() = default;
  FindingLog(const FindingLog&) = delete;  // streams refer to it
  FindingLog& operator=(const FindingLog&) = delete;

  void add(Fact fact) {
    if (facts_.size() < kMost)
      facts_.push_back(std::move(fact));
    else
      ++beyond_;
  }
  void add(Anomaly seen) { add(Fact{.seen = std::move(seen)}); }

  /// The facts, in the order of add().
  [[nodiscard]] std::vector<Fact>& facts() noexcept { return facts_; }
  /// Adds what the facts show about the capture.
  void add_to(CaptureFacts& capture) const noexcept;
  /// Marks the facts that others explain. Call it once, when all are there.
  void mark();
  /// The places of the facts, those of one direction of a session together, in the order of add().
  [[nodiscard]] std::vector<std::uint32_t> by_connection() const;
  /// Number of facts that were not kept.
  [[nodiscard]] std::uint64_t beyond() const noexcept { return beyond_; }

 private:
  /// Marks the retransmissions for responses that came after all.
  void mark_late_responses();
  /// Marks the requests with a bad ICRC that were acknowledged, and not sent again: the receiver
  /// has got them, and only the capture has damaged ones.
  void mark_frames_damaged_here();
  /// Marks the gaps whose packets passed with wrong ICRCs: the path has damaged them.
  void mark_damaged_gaps();
  /// Marks the gaps whose packets passed without their data: a switch has trimmed them.
  void mark_trimmed_gaps();
  /// Marks what recoveries skipped, and a later one repeats: it was not acknowledged before.
  void mark_gaps_sent_again();
  /// Marks gaps of a first round trip whose packets were sent before the capture began.
  void mark_passed_gaps();
  /// Marks late packets behind which a recovery begins: what overtook them was discarded.
  void mark_overtaken();

  void mark_gaps_of(AnomalyKind kind, bool Fact::* mark);

  std::vector<Fact> facts_;
  std::uint64_t beyond_ = 0;
};

}  // namespace lw::analysis
