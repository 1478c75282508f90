// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/match_keys.h"

#include <algorithm>
#include <tuple>

namespace lw::dissect {
namespace {

void sort_keys(std::vector<MatchKey>& keys) {
  std::ranges::sort(keys, {}, [](const MatchKey& k) { return std::tuple(k.value, k.order); });
}

}  // namespace

Identity identity_key(const CaptureRecord& r) { return r.identity; }

Identity icrc_key(const CaptureRecord& r) {
  constexpr std::uint64_t kUnknown = std::uint64_t{1} << 31;  // no length is so large
  const bool known = r.icrc != 0;
  return std::uint64_t{known ? r.icrc : r.order} << 32 | r.length | (known ? 0 : kUnknown);
}

Identity place_key(const CaptureRecord& r) {
  return std::uint64_t{r.flow} << 32 | r.psn << 8 | r.opcode;
}

Identity packet_key(const CaptureRecord& r) {
  return (std::uint64_t{r.rest} << 32 | r.psn << 8 | r.opcode) ^ std::uint64_t{r.dest_qp} << 40;
}

std::vector<MatchKey> sorted_keys(Records records) {
  std::vector<MatchKey> keys;
  keys.reserve(records.size());
  for (const CaptureRecord& r : records) keys.push_back({identity_key(r), r.order});
  sort_keys(keys);
  return keys;
}

std::vector<MatchKey> sorted_keys(Records records, std::span<const std::uint32_t> orders,
                                  MatchKeyOf key_of) {
  std::vector<MatchKey> keys;
  keys.reserve(orders.size());
  for (const std::uint32_t order : orders) keys.push_back({key_of(records[order]), order});
  sort_keys(keys);
  return keys;
}

MatchKeys take_equal(MatchKeys& rest, const Identity& value) {
  std::size_t count = 0;
  while (count < rest.size() && rest[count].value == value) ++count;
  const MatchKeys group = rest.first(count);
  rest = rest.subspan(count);
  return group;
}

}  // namespace lw::dissect
