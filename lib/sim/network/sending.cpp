// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/sending.h"

#include <span>
#include <string_view>
#include <utility>

#include "core/limits.h"
#include "core/setting.h"

namespace lw::sim {
namespace {

constexpr std::uint32_t kMostQpsOfAPair = 4096;
constexpr double kMostMessagesOfAQp = 1e9, kMostSizes = 10'000, kMostLoad = 10;

constexpr std::pair<std::string_view, SendPattern> kPatterns[] = {
    {"incast", SendPattern::incast},
    {"permutation", SendPattern::permutation},
    {"all-to-all", SendPattern::all_to_all}};

using Row = FigureOf<Sending>;
constexpr Figure kSendingRows[] = {
    // of a [workload] only
    Row::of<&Sending::sizes>("size", "Sizes of the flows, with a load.").from(1, kMostSizes),
    Row::word<&Sending::pattern, kPatterns>("pattern", "Who sends to whom."),
    Row::of<&Sending::start_within>("start_within",
                                    "Each sender starts at a random time before this.", Unit::ns)
        .from(0, kLongestTimeNs),
    // of both
    Row::of<&Sending::qps>("qps", "QPs of each pair of hosts, whose send queues stay full.")
        .from(1, kMostQpsOfAPair),
    Row::of<&Sending::messages>("messages", "Messages of each QP; 0: until the end.")
        .from(1, kMostMessagesOfAQp)
        .if_any(),
    Row::of<&Sending::load>(
        "load",
        "In place of QPs: share of its link that each sender offers in flows of one message, which "
        "start at random (Poisson); 0: none.")
        .from(0, kMostLoad),
    // of a [[flow]] only
    Row::of<&Sending::size>("size", "Size of a message; 0: that of the run (`--size`).",
                            Unit::bytes)
        .from(1, kMostMessage)
        .if_any(),
    Row::of<&Sending::start>("start", "Time before which no sender starts.", Unit::ns)
        .from(0, kLongestTimeNs)};
constexpr std::span<const Figure> kAllRows = kSendingRows;
constexpr std::size_t kOfWorkloads = 6, kBeforeFlows = 3;

}  // namespace

const FigureTable& SizeShare::figures() {
  using Row = FigureOf<SizeShare>;
  static constexpr Figure kRows[] = {
      Row::of<&SizeShare::bytes>("bytes", "Size of a flow's message.", Unit::bytes)
          .from(1, kMostMessage),
      Row::of<&SizeShare::weight>("weight", "How often it is drawn, in proportion.")
          .from(1e-9, 1e9)};
  static constexpr FigureTable kTable{"A size of flows.", kRows};
  return kTable;
}

const FigureTable& Sending::workload_settings() {
  static constexpr FigureTable kTable{"What the hosts send.", kAllRows.first(kOfWorkloads)};
  return kTable;
}

const FigureTable& Sending::flow_settings() {
  static constexpr FigureTable kTable{"Flows between hosts.", kAllRows.subspan(kBeforeFlows)};
  return kTable;
}

const FigureTable& Sending::figures() {
  static constexpr FigureTable kTable{"What some hosts send.", kAllRows.subspan(1)};
  return kTable;
}

}  // namespace lw::sim
