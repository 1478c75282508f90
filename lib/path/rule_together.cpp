// SPDX-License-Identifier: BSD-3-Clause
// rule.h's part for frames that came in together, under a rule that does no more than let them
// wait.
#include <algorithm>
#include <array>
#include <cmath>

#include "path/rule.h"

namespace lw::path {

Decision Rule::waiting() const noexcept {
  Decision decision;
  decision.rule = index_;
  decision.action = Action::queue;
  decision.stage = Stage::delay;
  if (jitter_) decision.act(Stage::delay);
  decision.line = lines_.usual;
  return decision;
}

void Rule::releases(std::uint64_t first, Instant now, std::span<Instant> out) noexcept {
  const Instant nominal = now + delay_.value_or(Duration{});
  if (!jitter_) {
    std::ranges::fill(out, std::max(nominal, last_release_));
    return;
  }
  std::array<double, kMostTogether> space;
  const auto drawn = std::span(space).first(out.size());
  jitter_->together(first, now, drawn);
  stats_.jitter.add(drawn);
  if (jitter_->wanders()) {
    if (now >= stats_.wander.due()) look_at_wandering(now, drawn[0]);
  } else {
    for (std::size_t i = (16 - first % 16) % 16; i < drawn.size(); i += 16)
      ++stats_.fit[(*fit_)(drawn[i])];
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] =
        std::max(nominal + Duration{static_cast<Duration::rep>(std::floor(drawn[i] + 0.5))}, now);
  if (keep_order_) put_in_order(out);
  last_release_ = std::max(last_release_, *std::ranges::max_element(out));
  stats_.count_waiting(out.size());
}

/// None leaves before those that came before it.
void Rule::put_in_order(std::span<Instant> releases) noexcept {
  Instant last = last_release_;
  for (Instant& release : releases) {
    if (release < last) {
      ++stats_.moved_for_order;
      stats_.moved_ns += static_cast<std::uint64_t>((last - release).count());
      release = last;
    }
    last = release;
  }
}

}  // namespace lw::path
