// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/extraction/ranges.h"

#include <algorithm>
#include <iterator>

namespace lw::analysis {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t next(std::uint64_t number) noexcept {
  return number == kMost ? kMost : number + 1;
}

}  // namespace

void subtract(const Range& range, const Range& taken, std::vector<Range>& out) {
  if (taken.last < range.first || taken.first > range.last) {
    out.push_back(range);
    return;
  }
  if (taken.first > range.first) out.push_back({range.first, taken.first - 1});
  if (taken.last < range.last) out.push_back({taken.last + 1, range.last});
}

Ranges::Map::const_iterator Ranges::reaching(std::uint64_t number) const {
  const auto behind = parts_.upper_bound(number);
  if (behind == parts_.begin()) return behind;
  const auto before = std::prev(behind);
  return next(before->second.last) >= number ? before : behind;
}

bool Ranges::touches(const Range& range) const {
  const auto at = reaching(range.first);
  return at != parts_.end() && at->first <= next(range.last);
}

void Ranges::add(const Range& range, std::uint64_t frame) {
  const auto found = reaching(range.first);
  auto at = parts_.erase(found, found);  // no longer const
  if (at == parts_.end() || at->first > next(range.last)) {
    parts_.emplace_hint(at, range.first, Part{range.last, frame, frame, 1});
    return;
  }
  Part joined = at->second;
  joined.last = std::max(joined.last, range.last);
  joined.first_frame = std::min(joined.first_frame, frame);
  joined.last_frame = std::max(joined.last_frame, frame);
  ++joined.additions;
  auto behind = std::next(at);
  for (; behind != parts_.end() && behind->first <= next(joined.last);
       behind = parts_.erase(behind)) {
    joined.last = std::max(joined.last, behind->second.last);
    joined.first_frame = std::min(joined.first_frame, behind->second.first_frame);
    joined.last_frame = std::max(joined.last_frame, behind->second.last_frame);
    joined.additions += behind->second.additions;
  }
  if (at->first <= range.first) {
    at->second = joined;
    return;
  }
  const auto hint = parts_.erase(at);
  parts_.emplace_hint(hint, range.first, joined);
}

void Ranges::remove(const Range& range) {
  const auto found = reaching(range.first);
  auto at = parts_.erase(found, found);
  if (at != parts_.end() && at->second.last < range.first) ++at;
  while (at != parts_.end() && at->first <= range.last) {
    const std::uint64_t first = at->first;
    const Part part = at->second;
    at = parts_.erase(at);
    if (first < range.first) {
      Part left = part;
      left.last = range.first - 1;
      parts_.emplace(first, left);
    }
    if (part.last > range.last) parts_.emplace(range.last + 1, part);
  }
}

std::vector<Range> Ranges::missing_in(const Range& range) const {
  std::vector<Range> missing;
  std::uint64_t from = range.first;
  for (auto at = reaching(range.first); at != parts_.end() && at->first <= range.last; ++at) {
    if (at->second.last < from) continue;
    if (at->first > from) missing.push_back({from, at->first - 1});
    if (at->second.last >= range.last) return missing;
    from = at->second.last + 1;
  }
  missing.push_back({from, range.last});
  return missing;
}

std::vector<Range> Ranges::missing_of(const Ranges& other) const {
  std::vector<Range> missing;
  for (const auto& [first, part] : other.parts_) {
    const auto some = missing_in({first, part.last});
    missing.insert(missing.end(), some.begin(), some.end());
  }
  return missing;
}

std::uint64_t Ranges::count() const noexcept {
  std::uint64_t all = 0;
  for (const auto& [first, part] : parts_) all += Range{first, part.last}.length();
  return all;
}

}  // namespace lw::analysis
