// SPDX-License-Identifier: BSD-3-Clause
#include "core/last_steps.h"

#include <array>
#include <atomic>

namespace lw {
namespace {

std::array<std::atomic<LastStep>, 8> last_steps{};

}  // namespace

void add_last_step(LastStep step) noexcept {
  for (auto& place : last_steps) {
    LastStep held = nullptr;
    if (place.compare_exchange_strong(held, step) || held == step) return;
  }
}

void take_last_steps() noexcept {
  for (const auto& place : last_steps)
    if (const LastStep step = place.load()) step();
}

}  // namespace lw
