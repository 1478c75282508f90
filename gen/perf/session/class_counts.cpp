// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/class_counts.h"

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::gen {
namespace {

constexpr std::array<std::string_view, 4> kEcnTexts = {"Not-ECT", "ECT(1)", "ECT(0)", "CE"};

}  // namespace

void ClassCounts::add(const roce::Frame& frame) noexcept {
  const roce::Envelope& envelope = frame.envelope;
  const auto kind = roce::class_kind(frame.bth->opcode.get(),
                                     frame.aeth != nullptr ? frame.aeth->syndrome.get() : 0);
  std::optional<std::uint8_t> priority;
  if (envelope.vlans[0] != nullptr) priority = envelope.vlans[0]->priority();
  add(ClassWay::received, kind, static_cast<std::uint8_t>(envelope.dscp() << 2 | envelope.ecn()),
      priority, frame.payload_length);
}

std::vector<ClassCount> ClassCounts::counts() const {
  std::vector<ClassCount> counts;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    if (cell.packets == 0) continue;
    const std::size_t priority = i % kPriorities, tos = i / kPriorities % kBytes;
    const std::size_t row = i / kPriorities / kBytes;
    counts.push_back({.way = static_cast<ClassWay>(row / roce::kClassKinds),
                      .kind = static_cast<roce::ClassKind>(row % roce::kClassKinds),
                      .dscp = static_cast<std::uint8_t>(tos >> 2),
                      .ecn = static_cast<std::uint8_t>(tos & 3),
                      .priority = {},
                      .packets = cell.packets,
                      .bytes = cell.bytes});
    if (priority != kNoTag) counts.back().priority = static_cast<std::uint8_t>(priority - 1);
  }
  return counts;
}

std::string class_lines(const std::vector<ClassCount>& counts) {
  std::string lines;
  for (const ClassCount& count : counts)
    lines += fmt::format("{} {}: {}, {} with DSCP {}, {}{}\n", name_of(count.way),
                         name_of(count.kind), format_count(count.packets, "packet"),
                         format_bytes(static_cast<double>(count.bytes)), count.dscp,
                         kEcnTexts[count.ecn],
                         count.priority ? fmt::format(", priority {}", *count.priority) : "");
  return lines;
}

const FigureTable& ClassCount::figures() {
  using Row = FigureOf<ClassCount>;
  static constexpr Figure kRows[] = {
      Row::of<&ClassCount::way>("way", "sent or received.").among(kClassWayNames),
      Row::of<&ClassCount::kind>("kind", "data, ack, nak or cnp.").among(roce::kClassKindNames),
      Row::of<&ClassCount::dscp>("dscp", "DSCP, 0 to 63."),
      Row::of<&ClassCount::ecn>("ecn", roce::kEcnMeaning),
      Row::of<&ClassCount::priority>("priority", "Priority of the VLAN tag; absent without a tag."),
      Row::of<&ClassCount::packets>("packets", "Packets.", Unit::frames),
      Row::of<&ClassCount::bytes>("bytes", "Their bytes of payload.", Unit::bytes)};
  static constexpr FigureTable kTable{"Packets of one kind and class.", kRows};
  return kTable;
}

}  // namespace lw::gen
