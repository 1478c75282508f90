// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "dissect/fields/fields.h"

namespace lw::dissect {

struct Count {
  std::uint64_t frames = 0,
                bytes = 0;  // bytes as on the wire, from the link header
};

/// Traffic from one address to one destination QP.
struct QpTraffic : Count {
  std::uint32_t first_psn = 0, last_psn = 0;
};

/// Totals of a capture, for `summary`. Grows with the number of flows, not of frames.
class Overview {
 public:
  void add(const Dissection& dissection);

  using AddressPair = std::pair<std::string, std::string>;            // source, destination
  using QpKey = std::tuple<std::string, std::string, std::uint32_t>;  // and destination QP

  Count all, roce;
  std::uint64_t cut = 0, fragments = 0;  // incomplete RoCE frames
  std::optional<Instant> first, last;    // earliest and latest stamp
  std::map<std::uint8_t, Count> opcodes;
  std::map<AddressPair, Count> pairs;  // of RoCE frames
  std::map<QpKey, QpTraffic> qps;
  std::map<std::string, Count> vlans;   // "100", "100.200": outer.inner
  std::map<std::uint8_t, Count> ecn;    // of RoCE frames
  std::map<std::string, Count> others;  // frames that aren't RoCE, by protocol

 private:
  void add_roce(const roce::Envelope& envelope, const Dissection& dissection);
};

/// "Not-ECT", "ECT(1)", "ECT(0)", "CE". (RFC 3168, 5)
std::string_view ecn_name(std::uint8_t codepoint) noexcept;

}  // namespace lw::dissect
