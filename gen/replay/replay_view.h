// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "gen/replay/replay.h"
#include "report/live_view.h"

namespace lw::gen {

/// The live view of a replay.
class ReplayView {
 public:
  /// Shows nothing unless `live`. Create it before the ports are opened.
  ReplayView(std::string title, bool live);
  ReplayView(const ReplayView&) = delete;
  ReplayView& operator=(const ReplayView&) = delete;

  void start(Instant now);
  [[nodiscard]] bool due(Instant now) const noexcept { return view_.due(now); }
  /// Shows what was sent so far; `source` is what was read.
  void show(Instant now, const ReplayReport& report, const ReplayCounters& source);
  /// Shows the last figures and ends the view.
  void finish(const ReplayReport& report);

 private:
  /// What was sent, and when.
  struct Sent {
    Instant at{};
    std::uint64_t frames = 0, wire_bytes = 0;
  };
  report::LiveModel model(const ReplayReport& report, const ReplayCounters& source,
                          Duration elapsed, const Sent& before);

  std::string title_;
  report::LiveView view_;
  report::Sparkline trend_;
  Instant start_{};
  Sent last_;
};

}  // namespace lw::gen
