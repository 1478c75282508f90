// SPDX-License-Identifier: BSD-3-Clause
#include "gen/replay/replay_view.h"

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "gen/report/live_flows.h"

namespace lw::gen {

ReplayView::ReplayView(std::string title, bool live)
    : title_(std::move(title)),
      view_({.mode = live ? report::LiveMode::full : report::LiveMode::none}) {}

void ReplayView::start(Instant now) {
  start_ = now;
  last_ = {.at = now};
  view_.start(now);
}

void ReplayView::show(Instant now, const ReplayReport& report, const ReplayCounters& source) {
  view_.show(now, model(report, source, now - start_, last_));
  last_ = {now, report.frames, report.wire_bytes};
}

void ReplayView::finish(const ReplayReport& report) {
  if (!view_.shows()) return;
  report::LiveModel last = model(report, report.source, report.elapsed, {.at = start_});
  last.status += ", ended";
  view_.finish(std::move(last));
}

report::LiveModel ReplayView::model(const ReplayReport& report, const ReplayCounters& source,
                                    Duration elapsed, const Sent& before) {
  const double seconds = static_cast<double>((start_ + elapsed - before.at).count()) * 1e-9;
  const auto per_second = [&](std::uint64_t now, std::uint64_t then) {
    return seconds > 0 ? static_cast<double>(now - then) / seconds : 0;
  };
  const double bps = 8 * per_second(report.wire_bytes, before.wire_bytes);
  const std::string rate = rate_text(bps, per_second(report.frames, before.frames));
  trend_.add(bps);
  const std::string time = fmt::format("{:.0f} s", static_cast<double>(elapsed.count()) * 1e-9);
  const std::string bytes = format_bytes(static_cast<double>(report.bytes));
  return {
      .title = title_,
      .status = time,
      .colour = report.not_sent > 0 ? Colour::red : Colour::green,
      .verdict_text = fmt::format("{} not sent", counted(report.not_sent, "frame")),
      .sections =
          {{.columns = {{""}, {""}},
            .rows = {{"sent", fmt::format("{}, {}", counted(report.frames, "frame"), bytes)},
                     {"rate on the wire", rate + "  " + trend_.text(report::LiveView::unicode())},
                     {"largest delay", format_duration(report.latest)},
                     {"read", fmt::format("{} of the capture", counted(source.read, "frame"))}}}},
      .line = fmt::format("{}; sent {}, {}, {}, {} not sent", time, counted(report.frames, "frame"),
                          bytes, rate, report.not_sent)};
}

}  // namespace lw::gen
