// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/pause_log.h"

#include <algorithm>

#include <fmt/format.h>

namespace lw::analysis {

void PauseLog::add(std::uint64_t number, Instant stamp, const wire::MacAddress& port,
                   const wire::PfcFields& fields) {
  bool stops = false;
  for (std::size_t priority = 0; priority < wire::kPriorities; ++priority) {
    if (!fields.quanta[priority]) continue;
    set(priority, stamp, port, *fields.quanta[priority]);
    if (*fields.quanta[priority] == 0) continue;
    ++frames_[priority];
    stops = true;
  }
  if (stops) note(number, stamp);
}

void PauseLog::add_link(std::uint64_t number, Instant stamp, const wire::MacAddress& port,
                        std::uint16_t quanta) {
  set(kLink, stamp, port, quanta);
  if (quanta == 0) return;
  ++link_frames_;
  note(number, stamp);
}

void PauseLog::note(std::uint64_t number, Instant stamp) {
  if (!first_)
    first_ = Anomaly{.kind = AnomalyKind::pause, .frame = number, .stamp = stamp, .packets = 0};
  ++first_->packets;
  first_->last_frame = number;
  first_->duration = stamp_difference(stamp, first_->stamp);
}

void PauseLog::set(std::size_t what, Instant stamp, const wire::MacAddress& port,
                   std::uint16_t quanta) {
  if (ports_.size() >= kMostPorts && !ports_.contains(port.bytes)) return;
  Pause& pause = ports_[port.bytes][what];
  if (pause.since && stamp_difference(stamp, *pause.renewed) > kLongest) {
    pause.before += std::max(Duration{}, stamp_difference(*pause.renewed, *pause.since));
    pause.since = std::nullopt;
  }
  Duration now{};
  if (pause.since) now = std::max(Duration{}, stamp_difference(stamp, *pause.since));
  longest_[what] = std::max(longest_[what], pause.before + now);
  if (quanta > 0) {
    if (!pause.since) pause.since = stamp;
    pause.renewed = stamp;
  } else if (pause.since) {
    pause.before += now;
    pause.since = std::nullopt;
  }
}

std::optional<Anomaly> PauseLog::summary() const {
  if (!first_) return std::nullopt;
  Anomaly found = *first_;
  if (link_frames_ > 0) found.detail = fmt::format("{} of the whole link (802.3x)", link_frames_);
  for (std::size_t priority = 0; priority < wire::kPriorities; ++priority) {
    if (frames_[priority] == 0) continue;
    found.detail += fmt::format("{}{} of priority {}", found.detail.empty() ? "" : ", ",
                                frames_[priority], priority);
  }
  return found;
}

}  // namespace lw::analysis
