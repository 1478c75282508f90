// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/match_keys.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace lw::dissect {
namespace {

void sort_keys(std::vector<MatchKey>& keys) {
  std::ranges::sort(keys, {}, [](const MatchKey& k) { return std::tuple(k.value, k.order); });
}

}  // namespace

Identity identity_key(const CaptureRecord& r, const FlowNames&) { return r.identity; }

Identity icrc_key(const CaptureRecord& r, const FlowNames&) {
  constexpr std::uint64_t kUnknown = std::uint64_t{1} << 31;  // no length is so large
  const bool known = r.icrc != 0;
  return std::uint64_t{known ? r.icrc : r.order} << 32 | r.length | (known ? 0 : kUnknown);
}

Identity place_key(const CaptureRecord& r, const FlowNames&) {
  return std::uint64_t{r.flow} << 32 | r.psn << 8 | r.opcode;
}

Identity packet_key(const CaptureRecord& r, const FlowNames& flows) {
  return (std::uint64_t{r.rest} << 48 | std::uint64_t{r.psn} << 8 | r.opcode) ^
         std::uint64_t{flows.dest_qp(r.flow)} << 24;
}

std::vector<MatchKey> sorted_keys(Records records, std::span<const std::uint32_t> orders,
                                  MatchKeyOf key_of, const FlowNames& flows) {
  std::vector<MatchKey> keys;
  keys.reserve(orders.size());
  for (const std::uint32_t order : orders) keys.push_back({key_of(records[order], flows), order});
  sort_keys(keys);
  return keys;
}

std::vector<MatchKey> sorted_identities(Records records, std::uint64_t part, std::uint64_t parts) {
  const int shift = 64 - std::countr_zero(parts);
  const auto is_in_part = [&](Identity value) { return parts == 1 || value >> shift == part; };
  std::vector<MatchKey> keys;
  keys.reserve(records.size() / parts + records.size() / (8 * parts));
  for (std::uint32_t order = 0; order < records.size(); ++order)
    if (const Identity value = records.identity(order); is_in_part(value))
      keys.push_back({value, order});
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
