// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/queue/class_scheduler.h"

#include <algorithm>
#include <numeric>

namespace lw::emulator {

void ClassScheduler::configure(std::span<const ServiceOrder> classes,
                               std::uint32_t quantum) noexcept {
  const auto order = std::span(order_).first(classes.size());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::uint8_t c) { return classes[c].priority; });
  credit_ = {};
  levels_ = 0;
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    std::uint32_t divisor = 0;
    for (; end < order.size() && classes[order[end]].priority == classes[order[first]].priority;
         ++end)
      divisor = std::gcd(divisor, classes[order[end]].weight);
    for (std::size_t i = first; i < end; ++i)
      quantum_[order[i]] = std::uint64_t{classes[order[i]].weight / divisor} * quantum;
    // The turn passes on before the first choice, to the first class.
    const auto last = static_cast<std::uint8_t>(end - 1);
    level_[levels_++] = {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(end), last};
  }
}

}  // namespace lw::emulator
