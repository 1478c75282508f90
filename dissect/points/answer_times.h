// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lw::dissect {

/// Stamps of some requests, or of some answers, between two addresses, by PSN. A PSN that comes
/// several times says nothing: several QPs use it, or its packet was retransmitted.
class PsnStamps {
 public:
  void add(std::uint32_t psn, std::int64_t stamp_ns) { all_.emplace_back(psn, stamp_ns); }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// Call once, before answer_times().
  void finish();

  /// Times in ns from each request to the answer with its PSN, in the order of the PSNs; < 0: the
  /// answer has an earlier stamp, which two clocks show.
  friend std::vector<std::int64_t> answer_times(const PsnStamps& requests,
                                                const PsnStamps& answers);

 private:
  std::vector<std::pair<std::uint32_t, std::int64_t>> all_;
};
/// Fewer times show nothing.
inline constexpr std::size_t kFewestAnswers = 8;

}  // namespace lw::dissect
