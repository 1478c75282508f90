// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/points/answer_times.h"

#include <algorithm>

#include "core/time.h"

namespace lw::dissect {

void PsnStamps::finish() {
  std::ranges::sort(all_);
  std::vector<std::pair<std::uint32_t, std::int64_t>> once;
  for (std::size_t i = 0, end = 0; i < all_.size(); i = end) {
    while (end < all_.size() && all_[end].first == all_[i].first) ++end;
    if (end == i + 1) once.push_back(all_[i]);
  }
  all_ = std::move(once);
}

std::vector<std::int64_t> answer_times(const PsnStamps& requests, const PsnStamps& answers) {
  std::vector<std::int64_t> times;
  auto answer = answers.all_.begin();
  for (const auto& [psn, stamp] : requests.all_) {
    while (answer != answers.all_.end() && answer->first < psn) ++answer;
    if (answer == answers.all_.end()) break;
    if (answer->first == psn) times.push_back(stamp_difference(answer->second, stamp));
  }
  return times;
}

}  // namespace lw::dissect
