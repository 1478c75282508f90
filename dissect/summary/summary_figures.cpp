// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/summary/summary_figures.h"

#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "capture/record.h"
#include "roce/describe.h"

namespace lw::dissect {
namespace {

const FigureTable& opcode_figures() {
  using Entry = std::ranges::range_value_t<decltype(Overview::opcodes)>;
  using Row = FigureOf<Entry>;
  static constexpr Figure kRows[] = {
      Row::of<&Entry::first>("opcode", "Opcode of the BTH."),
      Row::of<[](const Entry& e) { return roce::opcode_text(e.first); }>("name", "Name."),
      Row::rows_of<&Entry::second>()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& qp_figures() {
  using Entry = std::ranges::range_value_t<decltype(Overview::qps)>;
  using Row = FigureOf<Entry>;
  static constexpr Figure kRows[] = {
      Row::of<[](const Entry& e) { return std::get<0>(e.first); }>("source", "Source address."),
      Row::of<[](const Entry& e) { return std::get<1>(e.first); }>("destination",
                                                                   "Destination address."),
      Row::of<[](const Entry& e) { return std::get<2>(e.first); }>("destqp",
                                                                   "Destination QP number."),
      Row::of<[](const Entry& e) { return e.second.first_psn; }>("first_psn", "First PSN."),
      Row::of<[](const Entry& e) { return e.second.last_psn; }>("last_psn", "Last PSN."),
      Row::rows_of<[](const Entry& e) -> const Count& { return e.second; }>()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& pair_figures() {
  using Entry = std::ranges::range_value_t<decltype(Overview::pairs)>;
  using Row = FigureOf<Entry>;
  static constexpr Figure kRows[] = {
      Row::of<[](const Entry& e) { return e.first.first; }>("source", "Source address."),
      Row::of<[](const Entry& e) { return e.first.second; }>("destination", "Destination address."),
      Row::rows_of<[](const Entry& e) -> const Count& { return e.second; }>()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& other_flows() {
  using Row = FigureOf<OtherFlows>;
  static constexpr Figure kRows[] = {
      Row::rows_of<[](const OtherFlows& others) -> const Count& { return others; }>(),
      Row::of<&OtherFlows::flows>("flows", "Number of rows left out.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

/// Null if there are none.
template <OtherFlows Overview::* kOthers>
const OtherFlows* others_of(const Overview& overview) {
  return (overview.*kOthers).flows == 0 ? nullptr : &(overview.*kOthers);
}

/// The flows of each kind beyond --max-flows.
const FigureTable& others_figures() {
  using Row = FigureOf<Overview>;
  static constexpr Figure kRows[] = {
      Row::with_table<others_of<&Overview::other_qps>, other_flows>("qps", "QPs beyond the limit."),
      Row::with_table<others_of<&Overview::other_pairs>, other_flows>(
          "addresses", "Pairs of addresses beyond it."),
      Row::with_table<others_of<&Overview::other_vlans>, other_flows>("vlans", "VLANs beyond it.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
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

const Overview* with_others(const Summary& summary) {
  const Overview& o = summary.overview;
  return o.other_qps.flows + o.other_pairs.flows + o.other_vlans.flows == 0 ? nullptr : &o;
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

/// The row of a map of the overview, whose elements have a table.
template <auto kMember, const FigureTable& (*table)()>
constexpr Figure overview_list(std::string_view name, std::string_view meaning) {
  return SummaryFigure::list_with_table<
      [](const Summary& summary) -> const auto& { return summary.overview.*kMember; }, table>(
      name, meaning);
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
      overview_list<&Overview::opcodes, opcode_figures>("opcodes", "Frames by opcode."),
      overview_list<&Overview::qps, qp_figures>("qps", "Frames by destination QP."),
      overview_list<&Overview::pairs, pair_figures>("addresses", "Frames by pair of addresses."),
      SummaryFigure::of<vlans>("vlans", "Frames by VLAN."),
      SummaryFigure::of<codepoints>("ecn", "Frames by ECN codepoint."),
      overview_row<&Overview::others>("not_roce", "Other frames by protocol."),
      overview_row<&Overview::tunnels>("tunnels", "Frames by tunnel."),
      overview_row<&Overview::unopened_tunnels>("unopened_tunnels",
                                                "Frames by tunnel that is not opened."),
      SummaryFigure::with_table<with_others, others_figures>("others", "Rows beyond --max-flows.")};
  static constexpr FigureTable kTable{"What a capture contains.", kRows};
  return kTable;
}

}  // namespace lw::dissect
