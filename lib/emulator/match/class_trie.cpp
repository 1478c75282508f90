// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/match/class_trie.h"

#include <algorithm>
#include <optional>

namespace lw::emulator {
namespace {

constexpr std::size_t kFanOut = 256;

/// The value after this one, of `bytes` bytes; nothing after the last.
std::optional<FieldValue> next(FieldValue value, std::size_t bytes) noexcept {
  for (std::size_t i = bytes; i-- > 0;)
    if (++value[i] != 0) return value;
  return std::nullopt;
}

bool holds(const FieldWish& wish, const FieldValue& value) noexcept {
  const auto inside = [&](const FieldRange& r) { return r.first <= value && value <= r.last; };
  return wish.any || std::ranges::any_of(wish.ranges, inside);
}

}  // namespace

std::uint32_t RuleSets::add(const std::vector<std::uint64_t>& set) {
  for (std::size_t i = 0; i < size(); ++i)
    if (std::equal(set.begin(), set.end(), (*this)[i])) return static_cast<std::uint32_t>(i);
  bits_.insert(bits_.end(), set.begin(), set.end());
  return static_cast<std::uint32_t>(size() - 1);
}

ClassTrie::ClassTrie(std::size_t bytes, std::span<const FieldWish> wishes)
    : bytes_(bytes), sets_(std::max<std::size_t>(wishes.size(), 1)) {
  std::vector<std::uint64_t> indifferent(sets_.words());
  for (std::size_t rule = 0; rule < wishes.size(); ++rule)
    if (wishes[rule].any) indifferent[rule / 64] |= std::uint64_t{1} << rule % 64;
  without_ = sets_.add(indifferent);
  root_ = build(stretches(wishes), {}, 0);
}

/// Cut wherever a rule's range begins or has ended.
std::vector<ClassTrie::Stretch> ClassTrie::stretches(std::span<const FieldWish> wishes) {
  std::vector<FieldValue> cuts = {FieldValue{}};
  for (const FieldWish& wish : wishes)
    for (const FieldRange& range : wish.ranges) {
      cuts.push_back(range.first);
      if (const auto after = next(range.last, bytes_)) cuts.push_back(*after);
    }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Stretch> result;
  for (const FieldValue& cut : cuts) result.push_back({cut, set_at(cut, wishes)});
  return result;
}

std::uint32_t ClassTrie::set_at(const FieldValue& value, std::span<const FieldWish> wishes) {
  std::vector<std::uint64_t> set(sets_.words());
  for (std::size_t rule = 0; rule < wishes.size(); ++rule)
    if (holds(wishes[rule], value)) set[rule / 64] |= std::uint64_t{1} << rule % 64;
  return sets_.add(set);
}

/// The cell for all values that begin with the first `depth` bytes of `prefix`: `stretches` are
/// those that have a part in it, the first of them perhaps from before it.
std::uint32_t ClassTrie::build(std::span<const Stretch> stretches, FieldValue prefix,
                               std::size_t depth) {
  if (stretches.size() == 1) return stretches.front().set | kLeaf;
  const auto node = static_cast<std::uint32_t>(cells_.size());
  cells_.resize(cells_.size() + kFanOut);
  auto begin = stretches.begin();
  for (std::size_t byte = 0; byte < kFanOut; ++byte) {
    prefix[depth] = static_cast<std::uint8_t>(byte);
    const auto after = next(prefix, depth + 1);
    const auto before_it = [&](const Stretch& s) { return !after || s.first < *after; };
    const auto end = std::partition_point(begin, stretches.end(), before_it);
    const std::uint32_t cell = build({begin, end}, prefix, depth + 1);
    cells_[node + byte] = cell;
    // The last stretch goes on into the next byte, unless another begins right there.
    begin = end != stretches.end() && end->first == *after ? end : end - 1;
  }
  return node;
}

}  // namespace lw::emulator
