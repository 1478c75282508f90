// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/match_state.h"

namespace lw::dissect {

std::vector<std::int64_t> stamps_of(MatchKeys keys, Records records) {
  std::vector<std::int64_t> stamps;
  for (const MatchKey& key : keys) stamps.push_back(records.stamp_ns(key.order));
  return stamps;
}

void MatchState::match_alike(MatchKeys sent, MatchKeys came, bool goes_far, bool changed,
                             const DelayRange& delays) {
  EqualFrames found(stamps_of(sent, senders(goes_far)), stamps_of(came, receivers(goes_far)),
                    delays);
  found.match_usual();
  if (!changed) found.match_rest();
  for (const auto& [s, c] : found.matched)
    result.matches.push_back(match_of(goes_far ? sent[s].order : came[c].order,
                                      goes_far ? came[c].order : sent[s].order, goes_far,
                                      found.is_certain(s, c), changed));
  for (const std::uint32_t s : found.lost)
    result.unmatched.push_back({sent[s].order, !goes_far, goes_far, false});
  for (const std::uint32_t c : found.late) {
    // A copy, unless it is another frame that became equal to this one.
    if (!changed) late_copies[goes_far ? 1 : 0].insert(came[c].order);
    result.unmatched.push_back({came[c].order, goes_far, goes_far, false});
  }
  for (const std::uint32_t c : found.copies)
    result.unmatched.push_back({came[c].order, goes_far, goes_far, true});
}

}  // namespace lw::dissect
