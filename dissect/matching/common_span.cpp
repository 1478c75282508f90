// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/common_span.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "core/time.h"

namespace lw::dissect {
namespace {

constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

// Spans are computed up to this, 73 years: stamps that somebody made up may be further apart.
constexpr Duration kLongest{std::int64_t{1} << 61};

Duration limited(std::int64_t ns) noexcept { return std::clamp(Duration{ns}, -kLongest, kLongest); }

/// a + b, limited to what a stamp can be.
std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return b > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

CommonSpan::Ends CommonSpan::ends_of(Records records) noexcept {
  const auto [first, last] = span_of(records);
  return {first, last};
}

CommonSpan::CommonSpan(Records near, Records far, const Matching& matching)
    : near_(ends_of(near)), far_(ends_of(far)) {
  matched_.fill({Ends{kLast, kFirst}, Ends{kLast, kFirst}});
  std::array<std::size_t, 2> counts{};
  for (const Match& m : matching.matches) {
    const std::size_t way = m.goes_far ? 1 : 0;
    ++counts[way];
    note_matched(way, near.stamp_ns(m.near), far.stamp_ns(m.far));
  }
  const auto note_end = [&](std::size_t end, auto&& matches) {
    std::array<std::size_t, 2> seen{};
    for (const Match& m : matches) {
      const std::size_t way = m.goes_far ? 1 : 0;
      if (seen[way] == kAtEnd) continue;
      const std::int64_t by = stamp_difference(far.stamp_ns(m.far), near.stamp_ns(m.near));
      Range& range = differences_[way][end];
      range = seen[way]++ == 0 ? Range{by, by}
                               : Range{std::min(range.least, by), std::max(range.most, by)};
      if (seen[0] == std::min(counts[0], kAtEnd) && seen[1] == std::min(counts[1], kAtEnd)) return;
    }
  };
  note_end(0, matching.matches);
  note_end(1, matching.matches | std::views::reverse);
  known_ = counts[0] + counts[1] > 0;
  // A direction without matches: its delay is unknown, and taken for at most that of the other.
  for (const std::size_t way : {0U, 1U})
    if (counts[way] == 0)
      for (const std::size_t end : {0U, 1U}) {
        const Range& other = differences_[1 - way][end];
        const std::int64_t negated = stamp_difference(0, other.most);
        differences_[way][end] = {std::min(other.least, negated), std::max(other.most, negated)};
      }
  const auto offset = [&](std::size_t end) {
    if (counts[0] == 0) return differences_[1][end].least;
    if (counts[1] == 0) return differences_[0][end].most;
    return differences_[1][end].least / 2 + differences_[0][end].most / 2;
  };
  begins_later_ = limited(sum(stamp_difference(near_.first, far_.first), offset(0)));
  ends_later_ = limited(sum(stamp_difference(near_.last, far_.last), offset(1)));
}

void CommonSpan::note_matched(std::size_t way, std::int64_t near_ns, std::int64_t far_ns) noexcept {
  auto& [near, far] = matched_[way];
  near = {std::min(near.first, near_ns), std::max(near.last, near_ns)};
  far = {std::min(far.first, far_ns), std::max(far.last, far_ns)};
}

bool CommonSpan::is_outside(const CaptureRecord& frame, bool at_far, bool goes_far) const noexcept {
  if (!known_) return false;
  const Ends& matched = matched_[goes_far ? 1 : 0][at_far ? 1 : 0];
  if (matched.first <= frame.stamp_ns && frame.stamp_ns <= matched.last) return false;
  const auto& [begin, end] = differences_[goes_far ? 1 : 0];
  if (at_far) {
    return stamp_difference(frame.stamp_ns, begin.most) < near_.first ||
           stamp_difference(frame.stamp_ns, end.least) > near_.last;
  }
  return sum(frame.stamp_ns, begin.least) < far_.first || sum(frame.stamp_ns, end.most) > far_.last;
}

Duration CommonSpan::length() const noexcept {
  const Duration whole = limited(stamp_difference(near_.last, near_.first));
  const Duration cut = std::max(-begins_later_, Duration{}) + std::max(ends_later_, Duration{});
  return std::max(whole - cut, Duration{});
}

}  // namespace lw::dissect
