// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/equal_frames.h"

#include <optional>

#include "capture/record.h"

namespace lw::dissect {

DelayRange DelayRange::widened() const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
  if (!known() || least < -kMost || most > kMost) return *this;
  const std::int64_t slack = (most - least) / 4;
  return {least - slack, most + slack};
}

std::int64_t EqualFrames::delay(std::uint32_t sent, std::uint32_t came) const {
  return stamp_difference(came_[came], sent_[sent]);
}

/// Delays have one range, so the first frame that fits is always the best choice.
void EqualFrames::match_usual() {
  if (!usual_.known()) {
    for (std::uint32_t i = 0; i < sent_.size(); ++i) lost.push_back(i);
    for (std::uint32_t i = 0; i < came_.size(); ++i) late.push_back(i);
    return match_rest();
  }
  std::uint32_t next = 0;
  std::optional<std::uint32_t> last;  // index of the frame matched last
  for (std::uint32_t i = 0; i < came_.size(); ++i) {
    while (next < sent_.size() && delay(next, i) > usual_.most) lost.push_back(next++);
    if (next < sent_.size() && usual_.has(delay(next, i))) {
      matched.emplace_back(next, i);
      last = next++;
    } else {
      (last && usual_.has(delay(*last, i)) ? copies : late).push_back(i);
    }
  }
  while (next < sent_.size()) lost.push_back(next++);
}

void EqualFrames::match_rest() {
  const std::size_t both = std::min(lost.size(), late.size());
  for (std::size_t k = 0; k < both; ++k) matched.emplace_back(lost[k], late[k]);
  lost.erase(lost.begin(), lost.begin() + static_cast<long>(both));
  late.erase(late.begin(), late.begin() + static_cast<long>(both));
}

bool EqualFrames::is_certain(std::uint32_t sent, std::uint32_t came) const {
  if (lost.empty() && copies.empty() && late.empty()) return true;
  if (!usual_.known()) return false;
  const std::int64_t own = delay(sent, came);
  const auto possible = [&](std::uint32_t s, std::uint32_t c) {
    return s < sent_.size() && c < came_.size() && usual_.has(delay(s, c)) && delay(s, c) != own;
  };
  return usual_.has(own) && !possible(sent + 1, came) && !possible(sent - 1, came) &&
         !possible(sent, came + 1) && !possible(sent, came - 1);
}

}  // namespace lw::dissect
