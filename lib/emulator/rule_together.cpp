// SPDX-License-Identifier: BSD-3-Clause
// rule.h's part for frames that came in together, under a rule that does no more than let them
// wait.
#include <algorithm>
#include <array>

#include "emulator/rule.h"

namespace lw::emulator {

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
    last_release_ = std::max(nominal, last_release_);
    std::ranges::fill(out, last_release_);
    return;
  }
  if (jitter_->wanders()) {
    std::ranges::fill(out, wander_together(nominal, now, out.size()));
  } else {
    draw_together(first, nominal, now, out);
  }
  stats_.count_waiting(out.size());
}

/// Where the delay wanders all that come at one time have the same.
Instant Rule::wander_together(Instant nominal, Instant now, std::size_t frames) noexcept {
  const double delay = jitter_->at(now);
  stats_.jitter.add(delay, frames);
  if (now >= stats_.wander.due()) look_at_wandering(now, delay);
  const Instant asked = std::max(nominal + whole_ns(delay), now);
  if (keep_order_ && asked < last_release_) {
    stats_.moved_for_order += frames;
    stats_.moved_ns += frames * static_cast<std::uint64_t>((last_release_ - asked).count());
    return last_release_;
  }
  last_release_ = std::max(last_release_, asked);
  return asked;
}

void Rule::draw_together(std::uint64_t first, Instant nominal, Instant now,
                         std::span<Instant> out) noexcept {
  std::array<double, kMostTogether> space;
  const auto drawn = std::span(space).first(out.size());
  jitter_->draw(first, drawn);
  stats_.jitter.add(drawn);
  for (std::size_t i = (16 - first % 16) % 16; i < drawn.size(); i += 16)
    ++stats_.fit[(*fit_)(drawn[i])];
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::max(nominal + whole_ns(drawn[i]), now);
  if (keep_order_) {
    put_in_order(out);
  } else {
    last_release_ = std::max(last_release_, *std::ranges::max_element(out));
  }
}

/// None leaves before those that came before it.
void Rule::put_in_order(std::span<Instant> releases) noexcept {
  Instant last = last_release_;
  std::uint64_t moved = 0;
  Duration by{};
  for (Instant& release : releases) {
    const Duration gap = release < last ? last - release : Duration{};
    moved += gap > Duration{} ? 1U : 0U;
    by += gap;
    release += gap;
    last = release;
  }
  stats_.moved_for_order += moved;
  stats_.moved_ns += static_cast<std::uint64_t>(by.count());
  last_release_ = last;
}

}  // namespace lw::emulator
