// SPDX-License-Identifier: BSD-3-Clause
#include "gen/search/delay_trend.h"

#include <algorithm>
#include <array>

namespace lw::gen {
namespace {

/// Latencies of the parts that are not disturbed, without the steps that disturbed ones cause.
std::vector<std::optional<Duration>> joined(std::span<const PartDelay> parts) {
  std::vector<std::optional<Duration>> line;
  std::optional<Duration> last;
  Duration step{};  // of all disturbed parts so far
  bool behind_disturbed = false;
  for (const PartDelay& part : parts) {
    if (part.disturbed) {
      behind_disturbed = true;
      continue;
    }
    if (part.least) {
      if (behind_disturbed && last) step = *part.least - *last;
      behind_disturbed = false;
      last = *part.least - step;
      line.push_back(last);
    } else {
      line.emplace_back();
    }
  }
  return line;
}

}  // namespace

DelayTrend::DelayTrend(std::span<const PartDelay> parts) {
  const auto line = joined(parts);
  if (line.size() < kTenths || 2 * line.size() <= parts.size()) return;
  std::array<std::optional<Duration>, kTenths> least;
  for (std::size_t i = 0; i < line.size(); ++i)
    if (line[i]) {
      auto& tenth = least[i * kTenths / line.size()];
      tenth = std::min(tenth.value_or(*line[i]), *line[i]);
    }
  if (!std::ranges::all_of(least, [](const auto& tenth) { return tenth.has_value(); })) return;
  const auto whole = static_cast<std::int64_t>(parts.size());
  const auto seen = static_cast<std::int64_t>(line.size());
  for (const auto& tenth : least) tenths_.push_back((*tenth - *least[0]) * whole / seen);
}

std::optional<Duration> DelayTrend::growth() const noexcept {
  if (tenths_.empty()) return std::nullopt;
  return tenths_.back() - tenths_.front();
}

Duration DelayTrend::noise() const noexcept {
  constexpr auto kLast = static_cast<std::int64_t>(kTenths - 1);
  Duration largest{};
  const Duration first = tenths_.front(), growth = tenths_.back() - first;
  for (std::size_t i = 1; i + 1 < kTenths; ++i) {
    const Duration line = first + growth * static_cast<std::int64_t>(i) / kLast;
    const Duration off = tenths_[i] - line;
    largest = std::max(largest, off < Duration{} ? -off : off);
  }
  return largest;
}

/// Kendall's S: pairs of tenths in rising order minus those in falling order.
int DelayTrend::rank_sum() const noexcept {
  int sum = 0;
  for (std::size_t i = 0; i < kTenths; ++i)
    for (std::size_t j = i + 1; j < kTenths; ++j) {
      if (tenths_[j] > tenths_[i]) ++sum;
      if (tenths_[j] < tenths_[i]) --sum;
    }
  return sum;
}

bool DelayTrend::grows() const noexcept {
  constexpr int kByChance = 27;
  const auto growth = this->growth();
  return growth && *growth > Duration{} && rank_sum() >= kByChance && *growth > 2 * noise();
}

}  // namespace lw::gen
