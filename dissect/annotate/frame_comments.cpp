// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/annotate/frame_comments.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/printable.h"
#include "dissect/sessions/display_filter.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

using analysis::Anomaly;

/// "longwire: retransmission, connection 10.0.0.1 QP 0x11 to 10.0.0.2 QP 0x12: PSN 5, ...".
std::string finding_text(const Anomaly& anomaly, const analysis::Analyst& analyst) {
  const std::string name = fmt::format("longwire: {}", analysis::name_of(anomaly.kind));
  if (anomaly.session == 0)
    return fmt::format("{}: {} to frame {}: {}", name, counted(anomaly.packets, "frame"),
                       anomaly.last_frame, anomaly.detail);
  const Ends ends = ends_of(analyst, analyst.sessions()[anomaly.session - 1], anomaly.direction);
  return fmt::format("{}, connection {}, {} to {}: {} [{}]", name, anomaly.session, ends.from,
                     ends.to, anomaly_words(anomaly), analysis::name_of(anomaly.certainty));
}

void add_finding(std::vector<capture::FrameComment>& comments, const Anomaly& anomaly,
                 const analysis::Analyst& analyst) {
  comments.push_back(
      {anomaly.frame, fmt::format("{}\nDisplay filter: {}", visible(finding_text(anomaly, analyst)),
                                  display_filter(anomaly, analyst))});
  const auto refer = [&](std::uint64_t frame, std::string_view how) {
    if (frame != 0 && frame != anomaly.frame)
      comments.push_back({frame, fmt::format("longwire: {} the {} at frame {}", how,
                                             analysis::name_of(anomaly.kind), anomaly.frame)});
  };
  refer(anomaly.last_frame, "last frame of");
  if (anomaly.related_frame != anomaly.last_frame) refer(anomaly.related_frame, "explains");
}

}  // namespace

std::vector<capture::FrameComment> frame_comments(const Evidence& evidence) {
  std::vector<capture::FrameComment> comments;
  for (const Anomaly& anomaly : evidence.anomalies)
    add_finding(comments, anomaly, evidence.analyst);
  std::ranges::stable_sort(comments, {}, &capture::FrameComment::frame);
  return comments;
}

}  // namespace lw::dissect
