// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/qp_class.h"

namespace lw::gen {

QpClass qp_class_of(const roce::ClassOfTraffic& traffic) noexcept {
  const auto& data = traffic.kinds.front();
  const roce::ClassMarks marks = traffic.marks().front();
  QpClass path{.service_level = marks.priority};
  if (data.dscp || data.ecn)
    path.traffic_class = static_cast<std::uint8_t>(marks.dscp << 2 | marks.ecn);
  path.hop_limit = traffic.hop_limit.value_or(path.hop_limit);
  path.flow_label = traffic.flow_label.value_or(0);
  path.p_key = traffic.p_key.value_or(path.p_key);
  return path;
}

roce::ClassOfTraffic class_of(const QpClass& asked) noexcept {
  constexpr std::uint8_t kEct0 = 2, kCe = 3;
  const auto ecn = static_cast<std::uint8_t>(asked.traffic_class & 3);
  roce::ClassOfTraffic traffic;
  for (std::size_t i = 0; i < roce::kClassKinds && asked.traffic_class != 0; ++i) {
    if (static_cast<roce::ClassKind>(i) == roce::ClassKind::cnp) continue;
    traffic.kinds[i].dscp = static_cast<std::uint8_t>(asked.traffic_class >> 2);
    traffic.kinds[i].ecn = ecn == kCe ? kEct0 : ecn;
  }
  if (asked.hop_limit > 1) traffic.hop_limit = asked.hop_limit;
  if (asked.flow_label != 0) traffic.flow_label = asked.flow_label;
  if (asked.p_key != wire::kDefaultPKey) traffic.p_key = asked.p_key;
  return traffic;
}

const FigureTable& QpClass::figures() {
  using Row = FigureOf<QpClass>;
  static constexpr Figure kRows[] = {
      Row::of<&QpClass::traffic_class>("traffic_class", "DSCP and ECN; 0: not set.")
          .from(0, 255)
          .if_any(),
      Row::of<&QpClass::hop_limit>("hop_limit", "Hop limit, or time to live.").from(1, 255),
      Row::of<&QpClass::service_level>("service_level", "Service level.").from(0, 7).if_any(),
      Row::of<&QpClass::flow_label>("flow_label", "Flow label; 0: not set.")
          .from(0, 0xfffff)
          .if_any(),
      Row::of<&QpClass::p_key>("p_key", "Partition.").from(1, 0xffff)};
  static constexpr FigureTable kTable{"Class of a QP's packets.", kRows};
  return kTable;
}

}  // namespace lw::gen
