// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/delay_trend.h"

#include <algorithm>

namespace lw::gen {

void DelayTrend::add(Instant sent, Duration latency) noexcept {
  if (!first_) first_ = sent;
  const auto parts = static_cast<std::int64_t>(kParts);
  const std::int64_t part = std::clamp<std::int64_t>(
      (sent - *first_).count() / std::max<std::int64_t>(1, span_.count() / parts), 0, parts - 1);
  std::optional<Duration>& least = least_[static_cast<std::size_t>(part)];
  least = std::min(least.value_or(latency), latency);
}

std::optional<Duration> DelayTrend::growth() const noexcept {
  const bool known =
      std::ranges::all_of(least_, [](const auto& least) { return least.has_value(); });
  if (!known) return std::nullopt;
  return *least_.back() - *least_.front();
}

Duration DelayTrend::noise() const noexcept {
  constexpr auto kLast = static_cast<std::int64_t>(kParts - 1);
  Duration largest{};
  const Duration first = *least_.front(), growth = *least_.back() - first;
  for (std::size_t i = 1; i + 1 < kParts; ++i) {
    const Duration line = first + growth * static_cast<std::int64_t>(i) / kLast;
    const Duration off = *least_[i] - line;
    largest = std::max(largest, off < Duration{} ? -off : off);
  }
  return largest;
}

/// Kendall's S: pairs of tenths in rising order minus those in falling order.
int DelayTrend::rank_sum() const noexcept {
  int sum = 0;
  for (std::size_t i = 0; i < kParts; ++i)
    for (std::size_t j = i + 1; j < kParts; ++j) {
      if (*least_[j] > *least_[i]) ++sum;
      if (*least_[j] < *least_[i]) --sum;
    }
  return sum;
}

bool DelayTrend::grows() const noexcept {
  constexpr int kByChance = 27;
  const auto growth = this->growth();
  return growth && *growth > Duration{} && rank_sum() >= kByChance && *growth > 2 * noise();
}

}  // namespace lw::gen
