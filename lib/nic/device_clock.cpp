// SPDX-License-Identifier: BSD-3-Clause
#include "nic/device_clock.h"

namespace lw::nic {
namespace {

constexpr Duration kReadInterval = std::chrono::milliseconds(100);

}  // namespace

std::optional<DeviceClock::Reading> DeviceClock::read() const {
  const Instant before = steady_();
  const auto tick = device_();
  const Instant after = steady_();
  if (!tick) return std::nullopt;
  const Duration half = (after - before) / 2;
  return Reading{before + half, *tick, half};
}

bool DeviceClock::advance_to(const Reading& reading) noexcept {
  const auto ns = (reading.at - anchor_.at).count();
  const auto ticks = static_cast<std::int64_t>(reading.tick - anchor_.tick);
  if (ns <= 0 || ticks <= 0) return false;
  ticks_per_ns_ = static_cast<double>(ticks) / static_cast<double>(ns);
  anchor_ = reading;
  return true;
}

bool DeviceClock::start(Duration apart) {
  const auto first = read();
  if (!first) return false;
  anchor_ = *first;
  while (steady_() - first->at < apart) {
  }
  const auto second = read();
  return second && advance_to(*second);
}

void DeviceClock::follow(Instant now) {
  if (now - anchor_.at < kReadInterval) return;
  if (const auto reading = read()) advance_to(*reading);
}

}  // namespace lw::nic
