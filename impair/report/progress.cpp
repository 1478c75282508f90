// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/progress.h"

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::impair {

Progress::Progress(Instant start)
    : display_(
          {.terminal_interval = std::chrono::seconds(1), .other_interval = std::chrono::seconds(5)},
          start),
      start_(start),
      last_(start) {}

void Progress::show(Instant now, const PortForwarder& forwarder) {
  const double seconds = static_cast<double>((now - last_).count()) * 1e-9;
  display_.show(
      now,
      fmt::format("{:>4} s  east {}; west {}\n", (now - start_) / std::chrono::seconds(1),
                  describe(forwarder.link(emulator::Direction::west_to_east), east_, seconds),
                  describe(forwarder.link(emulator::Direction::east_to_west), west_, seconds)));
  last_ = now;
}

std::string Progress::describe(const PortForwarder::Link& link, Seen& seen, double seconds) {
  const emulator::Amount sent = link.counters().sent.get();
  const emulator::Amount lost = link.counters().dropped_by_rule.get();
  const double frames = static_cast<double>(sent.frames - seen.frames) / seconds;
  const double bits = static_cast<double>(sent.bytes - seen.bytes) * 8 / seconds;
  seen = {sent.frames, sent.bytes};
  return fmt::format("{:.0f} frames/s {} ({} inside, {} dropped by rule)", frames,
                     bits > 0 ? format_bit_rate(bits) : "idle",
                     link.counters().account({}).remainder().frames, lost.frames);
}

}  // namespace lw::impair
