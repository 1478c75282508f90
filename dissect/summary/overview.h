// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "dissect/fields/fields.h"
#include "dissect/fields/recent_map.h"

namespace lw {
struct FigureTable;
}

namespace lw::dissect {

struct Count {
  std::uint64_t frames = 0,
                bytes = 0;  // bytes as on the wire, from the link header

  static const FigureTable& figures();
};

/// Traffic from one address to one destination QP.
struct QpTraffic : Count {
  std::uint32_t first_psn = 0, last_psn = 0;
};

/// Flows that were removed to make room for others.
struct OtherFlows : Count {
  std::uint64_t flows = 0;
  void add(const Count& count);
};

/// Totals of a capture, for `summary`. Memory grows with the number of flows, up to `most_flows` of
/// each kind: address pairs, QPs, VLANs.
class Overview {
 public:
  explicit Overview(std::size_t most_flows = kMostFlows)
      : pairs(most_flows), qps(most_flows), vlans(most_flows) {}

  void add(const Dissection& dissection);

  using AddressPair = std::pair<std::string, std::string>;            // source, destination
  using QpKey = std::tuple<std::string, std::string, std::uint32_t>;  // and destination QP

  Count all, roce;
  std::uint64_t cut = 0, fragments = 0;     // incomplete RoCE frames
  std::optional<Instant> first, last;       // earliest and latest stamp
  std::map<std::string_view, Count> kinds;  // of RoCE frames, by kind_of()
  std::map<std::uint8_t, Count> opcodes;
  RecentMap<AddressPair, Count> pairs;  // of RoCE frames
  RecentMap<QpKey, QpTraffic> qps;
  RecentMap<std::string, Count> vlans;  // "100", "100.200": outer.inner
  OtherFlows other_pairs, other_qps, other_vlans;
  std::map<std::uint8_t, Count> ecn;                       // of RoCE frames
  std::map<std::string, Count> others;                     // frames that aren't RoCE, by protocol
  std::map<std::string, Count> tunnels, unopened_tunnels;  // frames in them, by names

 private:
  void add_roce(const roce::Envelope& envelope, const Dissection& dissection);
};

/// "requests", "responses" (of READs and atomics), "ACKs", "NAKs", "RNR NAKs", "CNPs", or
/// "reserved" for an opcode or syndrome that does not exist.
std::string_view kind_of(const roce::Frame& frame) noexcept;
/// "Not-ECT", "ECT(1)", "ECT(0)", "CE". (RFC 3168, 5)
std::string_view ecn_name(std::uint8_t codepoint) noexcept;

}  // namespace lw::dissect
