// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/figure.h"
#include "dissect/matching/matching.h"

namespace lw::dissect {

/// Frames of one direction that a point's capture does not hold, though they passed there, as far
/// as the frames show: they say nothing about the path and are not judged.
struct PointLack {
  enum class What : std::uint8_t {
    answers,  // all answers of a pair of addresses, of which it has the requests
    carrier,  // all frames of a VLAN or a tunnel, or all without one
    talk,     // all requests and answers between two hosts
    share,    // some of the frames: it samples, or loses what it captures
  };
  What what{};
  bool at_far = false;       // the point that lacks them
  bool goes_far = false;     // their direction; carrier and talk: of both
  std::string carrier = {};  // What::carrier: see HeaderForms::carrier_name()
  std::uint64_t frames = 0;  // that it lacks, as the other point has them
  std::uint64_t of = 0;      // frames of the direction that the other point has
  bool answered = false;     // carrier, share: their receivers answered them, so that they passed

  /// "far does not record VLAN 7: it has none of the 164 frames that near has, ...", with the names
  /// of the points.
  [[nodiscard]] std::string words(std::string_view near = "near",
                                  std::string_view far = "far") const;
  static const FigureTable& figures();
};
std::string_view name_of(PointLack::What what) noexcept;

/// What the points lack.
struct Lacking {
  std::vector<PointLack> lacks;
  std::vector<bool> flows;                           // that a point lacks, by flow
  std::vector<std::uint32_t> carrier_flows;          // those of a carrier that it lacks; sorted
  std::array<std::vector<std::uint32_t>, 2> orders;  // of other frames, at near, at far; sorted
  /// Requests at near, at far, as acknowledged_among() says; sorted. `certain`: they are lacking,
  /// and not of frames that were replayed.
  std::array<std::vector<std::uint32_t>, 2> acknowledged;
  std::array<bool, 2> certain = {};

  /// Whether a point lacks all frames of a flow; as it lacks its VLAN or tunnel.
  [[nodiscard]] bool has_flow(std::uint32_t flow) const {
    return flow < flows.size() && flows[flow];
  }
  [[nodiscard]] bool has_carrier_of(std::uint32_t flow) const {
    return std::ranges::binary_search(carrier_flows, flow);
  }
  /// Whether a frame without a match says nothing about the path.
  [[nodiscard]] bool has(const Unmatched& frame, const CaptureRecord& record) const {
    return hides(frame, record) || (certain[frame.at_far ? 1 : 0] && is_acknowledged(frame));
  }
  [[nodiscard]] bool is_acknowledged(const Unmatched& frame) const {
    return std::ranges::binary_search(acknowledged[frame.at_far ? 1 : 0], frame.order);
  }
  /// The same, but for requests that were acknowledged: an analysis of both directions finds them.
  [[nodiscard]] bool hides(const Unmatched& frame, const CaptureRecord& record) const {
    return has_flow(record.flow) ||
           std::ranges::binary_search(orders[frame.at_far ? 1 : 0], frame.order);
  }
};

/// Finds what the points lack. `outside`: frames that passed while the other point was not
/// captured.
///
/// A flow of at least kFewestLacking frames is lacking at the point that has none of it
/// - if it is of answers and the requests between its hosts are at both points;
/// - if requests and answers between its hosts, as many of each, are at the other point alone;
/// - if all its frames have a VLAN or a tunnel (or neither) of which the point has no frame, and no
///   frame of it was matched, while as many of others were.
/// A point lacks a share of the frames if kFewestLacking that came from its side are intact at the
/// other point alone, and it has others of their flows: no path makes frames. Then, of the frames
/// that went to it and that it lacks, requests of RC count as lost where a repetition begins with
/// them, as a sender repeats what was lost; what it repeats behind them may have passed. All
/// others, and answers, are not judged.
/// Of a point that lacks requests alone, those that their receiver acknowledged passed it. If they
/// are at least kFewestScattered and a tenth of all, without those in a row of kOutageFewest, it
/// lacks a share, as no RC connection lives with such a loss. Otherwise they are not judged if
/// their sender repeats others that are missing; if not, the frames may have been replayed: they
/// count as lost, and this is said.
Lacking find_lacking(Records near, Records far, const Matching& matching, const Names& names,
                     const std::function<bool(const Unmatched&)>& outside);
inline constexpr std::uint64_t kFewestLacking = 8, kFewestScattered = 32;

}  // namespace lw::dissect
