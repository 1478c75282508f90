// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/summary/summary_figures.h"

#include <optional>
#include <span>
#include <utility>

#include "capture/record.h"
#include "roce/describe.h"

namespace lw::dissect {
namespace {

struct OpcodeRow {
  std::uint8_t opcode = 0;
  Count count = {};

  static const FigureTable& figures() {
    using Row = FigureOf<OpcodeRow>;
    static constexpr Figure kRows[] = {
        Row::of<&OpcodeRow::opcode>("opcode", "Opcode of the BTH."),
        Row::of<[](const OpcodeRow& row) { return roce::opcode_text(row.opcode); }>("name",
                                                                                    "Name."),
        Row::rows_of<&OpcodeRow::count>()};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

struct QpRow {
  const Overview::QpKey& key;
  const QpTraffic& traffic;

  static const FigureTable& figures() {
    using Row = FigureOf<QpRow>;
    static constexpr Figure kRows[] = {
        Row::of<[](const QpRow& row) { return std::get<0>(row.key); }>("source", "Source address."),
        Row::of<[](const QpRow& row) { return std::get<1>(row.key); }>("destination",
                                                                       "Destination address."),
        Row::of<[](const QpRow& row) { return std::get<2>(row.key); }>("destqp",
                                                                       "Destination QP number."),
        Row::of<[](const QpRow& row) { return row.traffic.first_psn; }>("first_psn", "First PSN."),
        Row::of<[](const QpRow& row) { return row.traffic.last_psn; }>("last_psn", "Last PSN."),
        Row::rows_of<[](const QpRow& row) -> const Count& { return row.traffic; }>()};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

struct PairRow {
  const Overview::AddressPair& pair;
  const Count& count;

  static const FigureTable& figures() {
    using Row = FigureOf<PairRow>;
    static constexpr Figure kRows[] = {
        Row::of<[](const PairRow& row) { return row.pair.first; }>("source", "Source address."),
        Row::of<[](const PairRow& row) { return row.pair.second; }>("destination",
                                                                    "Destination address."),
        Row::rows_of<[](const PairRow& row) -> const Count& { return row.count; }>()};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

struct OthersRow {
  const OtherFlows& others;

  static const FigureTable& figures() {
    using Row = FigureOf<OthersRow>;
    static constexpr Figure kRows[] = {
        Row::rows_of<[](const OthersRow& row) -> const Count& { return row.others; }>(),
        Row::of<[](const OthersRow& row) { return row.others.flows; }>("flows",
                                                                       "Number of rows left out.")};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

/// The flows of each kind beyond --max-flows.
struct Beyond {
  const Overview& overview;

  template <OtherFlows Overview::* kOthers>
  [[nodiscard]] std::optional<OthersRow> one() const {
    if ((overview.*kOthers).flows == 0) return std::nullopt;
    return OthersRow{overview.*kOthers};
  }
  static const FigureTable& figures() {
    using Row = FigureOf<Beyond>;
    static constexpr Figure kRows[] = {
        Row::of<&Beyond::one<&Overview::other_qps>>("qps", "QPs beyond the limit."),
        Row::of<&Beyond::one<&Overview::other_pairs>>("addresses", "Pairs of addresses beyond it."),
        Row::of<&Beyond::one<&Overview::other_vlans>>("vlans", "VLANs beyond it.")};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

template <class Row>
std::vector<Row> rows_of(const auto& map) {
  std::vector<Row> rows;
  for (const auto& [key, value] : map) rows.push_back({key, value});
  return rows;
}

using Counts = std::vector<std::pair<std::string, Count>>;

Counts vlans(const Summary& summary) {
  Counts counts;
  for (const auto& [name, count] : summary.overview.vlans) counts.emplace_back(name, count);
  return counts;
}

Counts codepoints(const Summary& summary) {
  Counts counts;
  for (const auto& [codepoint, count] : summary.overview.ecn)
    counts.emplace_back(ecn_name(codepoint), count);
  return counts;
}

const std::string* only_file(const Summary& summary) {
  return summary.files.size() == 1 ? &summary.files.front() : nullptr;
}

std::span<const std::string> several_files(const Summary& summary) {
  return summary.files.size() == 1 ? std::span<const std::string>() : summary.files;
}

std::int64_t stamp_of(const std::optional<Instant>& stamp) { return stamp ? to_ns(*stamp) : 0; }

std::optional<Beyond> beyond(const Summary& summary) {
  const Overview& o = summary.overview;
  if (o.other_qps.flows + o.other_pairs.flows + o.other_vlans.flows == 0) return std::nullopt;
  return Beyond{o};
}

using SummaryFigure = FigureOf<Summary>;

/// The row of a member of the overview.
template <auto kMember>
constexpr Figure overview_row(std::string_view name, std::string_view meaning,
                              Unit unit = Unit::none) {
  return SummaryFigure::of<[](const Summary& summary) -> const auto& {
    return summary.overview.*kMember;
  }>(name, meaning, unit);
}

}  // namespace

const FigureTable& Count::figures() {
  using Row = FigureOf<Count>;
  static constexpr Figure kRows[] = {
      Row::of<&Count::frames>("frames", "Number of frames.", Unit::frames),
      Row::of<&Count::bytes>("bytes", "Their bytes, without FCS.", Unit::bytes)};
  static constexpr FigureTable kTable{"Frames and their bytes.", kRows};
  return kTable;
}

Duration Summary::span() const {
  return overview.first ? capture::stamp_difference(*overview.last, *overview.first) : Duration{};
}

const FigureTable& Summary::figures() {
  static constexpr Figure kRows[] = {
      SummaryFigure::of<only_file>("file", "The capture, if one was given."),
      SummaryFigure::of<several_files>("files", "The captures, if several were given.").if_any(),
      SummaryFigure::rows_of<[](const Summary& s) -> const Count& { return s.overview.all; }>(),
      overview_row<&Overview::roce>("roce", "RoCE frames."),
      overview_row<&Overview::cut>("roce_cut", "RoCE frames that the capture truncated.",
                                   Unit::frames),
      overview_row<&Overview::fragments>("roce_fragments", "IP fragments of RoCE.", Unit::frames),
      SummaryFigure::of<[](const Summary& s) { return stamp_of(s.overview.first); }>(
          "first_ns", "Time stamp of the first frame, since 1970.", Unit::ns),
      SummaryFigure::of<[](const Summary& s) { return stamp_of(s.overview.last); }>(
          "last_ns", "Time stamp of the last frame, since 1970.", Unit::ns),
      SummaryFigure::of<&Summary::span>("span_ns", "Time between them.", Unit::ns),
      overview_row<&Overview::kinds>("kinds", "Frames by kind of packet."),
      SummaryFigure::of<[](const Summary& s) { return rows_of<OpcodeRow>(s.overview.opcodes); }>(
          "opcodes", "Frames by opcode."),
      SummaryFigure::of<[](const Summary& s) { return rows_of<QpRow>(s.overview.qps); }>(
          "qps", "Frames by destination QP."),
      SummaryFigure::of<[](const Summary& s) { return rows_of<PairRow>(s.overview.pairs); }>(
          "addresses", "Frames by pair of addresses."),
      SummaryFigure::of<vlans>("vlans", "Frames by VLAN."),
      SummaryFigure::of<codepoints>("ecn", "Frames by ECN codepoint."),
      overview_row<&Overview::others>("not_roce", "Other frames by protocol."),
      overview_row<&Overview::tunnels>("tunnels", "Frames by tunnel."),
      overview_row<&Overview::unopened_tunnels>("unopened_tunnels",
                                                "Frames by tunnel that is not opened."),
      SummaryFigure::of<beyond>("others", "Rows beyond --max-flows.")};
  static constexpr FigureTable kTable{"What a capture contains.", kRows};
  return kTable;
}

}  // namespace lw::dissect
