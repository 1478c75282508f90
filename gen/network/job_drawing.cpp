// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/job_drawing.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "report/svg_text.h"

namespace lw::gen {
namespace {

using sim::TimelineMessage;

constexpr double kTimelineWidth = 760, kTimelineNames = 90, kTimelineAxis = 24;

/// Where times and ranks are in a drawing.
struct TimelineScale {
  Instant from, to;
  double row = 0;  // height

  [[nodiscard]] double x(Instant at) const noexcept {
    const auto part = static_cast<double>((at - from).count());
    return kTimelineNames +
           (kTimelineWidth - kTimelineNames) * part / static_cast<double>((to - from).count());
  }
};

TimelineScale scale_of(const JobReport& job) {
  constexpr double kMostHeight = 600, kRow = 18;
  const auto ranks = static_cast<double>(job.config.ranks.size());
  TimelineScale scale{
      .from = Instant{} + job.config.start, .to = {}, .row = std::min(kRow, kMostHeight / ranks)};
  for (const TimelineMessage& each : job.result.timeline)
    scale.to = std::max(scale.to, each.arrived);
  return scale;
}

std::string timeline_bar(const TimelineScale& scale, std::uint32_t rank, Instant from, Instant to,
                         std::string_view colour, const std::string& title) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\" "
      "fill-opacity=\"0.7\"><title>{}</title></rect>",
      scale.x(from), kTimelineAxis + scale.row * rank, std::max(0.5, scale.x(to) - scale.x(from)),
      0.8 * scale.row, colour, report::svg_text(title));
}

/// From blue (the first step) to red (the last).
std::string colour_of(const JobReport& job, std::uint32_t step) {
  const auto steps = static_cast<double>(std::max<std::size_t>(2, job.result.steps.size()) - 1);
  const double hue = 220 - 220 * std::min(1.0, (step - 1) / steps);
  return fmt::format("hsl({:.0f},70%,48%)", hue);
}

std::string message_bar(const JobReport& job, const TimelineScale& scale,
                        const TimelineMessage& each) {
  const auto host = [&](std::uint32_t rank) { return job.topology.name(job.config.ranks[rank]); };
  return timeline_bar(scale, each.to, each.ready, each.arrived, colour_of(job, each.step),
                      fmt::format("step {}: {} to {}, {} to {}", each.step, host(each.from),
                                  host(each.to), format_duration(each.ready - scale.from),
                                  format_duration(each.arrived - scale.from)));
}

std::string timeline_axis(const TimelineScale& scale) {
  constexpr int kMarks = 4;
  std::string svg;
  for (int mark = 0; mark <= kMarks; ++mark) {
    const Instant at = scale.from + (scale.to - scale.from) * mark / kMarks;
    const char* const anchor = mark == kMarks ? "end" : "middle";
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"14\" text-anchor=\"{}\" fill=\"currentColor\">{}</text>",
        scale.x(at), anchor, format_duration(at - scale.from));
  }
  return svg;
}

std::string timeline_row(const JobReport& job, const TimelineScale& scale, std::uint32_t rank) {
  constexpr double kLeastRow = 11;  // lower rows have no names
  const std::string name = job.topology.name(job.config.ranks[rank]);
  const double alone = static_cast<double>(job.config.compute.count()) * (1 - job.config.overlap);
  std::string svg;
  if (scale.row >= kLeastRow)
    svg += fmt::format("<text x=\"0\" y=\"{:.1f}\" fill=\"currentColor\">{}</text>",
                       kTimelineAxis + scale.row * (rank + 0.7), report::svg_text(name));
  if (alone >= 1)
    svg += timeline_bar(scale, rank, scale.from,
                        scale.from + Duration{static_cast<std::int64_t>(alone)}, "#9ca3af",
                        name + " computes");
  return svg;
}

}  // namespace

std::string job_svg(const JobReport& job) {
  if (job.result.timeline.empty()) return {};
  const TimelineScale scale = scale_of(job);
  const auto ranks = static_cast<std::uint32_t>(job.config.ranks.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">",
      kTimelineWidth, kTimelineAxis + scale.row * ranks);
  svg += timeline_axis(scale) + "<g>";  // the page's own colour is that of rectangles outside of it
  for (std::uint32_t rank = 0; rank < ranks; ++rank) svg += timeline_row(job, scale, rank);
  for (const TimelineMessage& each : job.result.timeline) svg += message_bar(job, scale, each);
  return svg + "</g></svg>";
}

}  // namespace lw::gen
