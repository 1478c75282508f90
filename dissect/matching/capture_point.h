// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "dissect/fields/frame_source.h"
#include "dissect/fields/recent_map.h"
#include "dissect/matching/capture_records.h"
#include "dissect/points/capture_points.h"
#include "dissect/points/identity_rule.h"
#include "roce/frame.h"

namespace lw::dissect {

/// Numbers flows from 0: address pair and destination QP, without the role. Both capture points
/// share it. If there are more than `most` flows, the least recently seen are forgotten.
class FlowNames {
 public:
  explicit FlowNames(std::size_t most = kMostFlows) : indices_(most) {}

  std::uint32_t index_of(roce::FlowKey key);
  /// Whether the flow of each number was forgotten.
  [[nodiscard]] const std::vector<bool>& forgotten() const noexcept { return forgotten_; }
  /// The destination QP of a number, also of a forgotten flow.
  [[nodiscard]] std::uint32_t dest_qp(std::uint32_t number) const { return dest_qps_[number]; }

  struct Index {
    std::uint32_t value = 0;
  };
  /// The flows that are remembered: key and Index.
  [[nodiscard]] const RecentMap<roce::FlowKey, Index>& remembered() const noexcept {
    return indices_;
  }
  /// The key of each number, without the role; empty for a forgotten flow.
  [[nodiscard]] std::vector<roce::FlowKey> keys() const;

 private:
  RecentMap<roce::FlowKey, Index> indices_;
  std::vector<bool> forgotten_;
  std::vector<std::uint32_t> dest_qps_;
  std::optional<std::pair<roce::FlowKey, std::uint32_t>> last_;
};

/// Header fields of a frame under Wireshark's names, and their values as Wireshark prints them.
using FieldTexts = std::vector<std::pair<std::string_view, std::string>>;

/// All fields that a frame has, with its ICRC, in the order of the headers.
FieldTexts header_texts(const CapturedFrame& captured);

/// Numbers the combinations of header fields that equipment of a path rewrites (MAC addresses,
/// VLAN, DSCP, ECN, TTL, flow label, BTH byte 4) and tunnels from 1. At most kMost combinations are
/// distinguished; all further ones have number 0.
class HeaderForms {
 public:
  static constexpr std::size_t kMost = 10'000;

  /// `frame` is the parsed frame of `captured`.
  std::uint16_t index_of(const CapturedFrame& captured, const roce::Frame& frame);
  /// The fields of a combination, in the order of the headers; none for 0.
  [[nodiscard]] const FieldTexts& fields(std::uint32_t index) const { return fields_[index]; }
  /// What carries the frames of a combination, as a number: 0 for combination 0.
  [[nodiscard]] std::uint16_t carrier(std::uint32_t index) const { return carriers_[index]; }
  /// "VLAN 7", "VXLAN 5001", "VXLAN 5001, VLAN 7", "frames without VLAN and tunnel".
  [[nodiscard]] const std::string& carrier_name(std::uint16_t carrier) const {
    return carrier_names_[carrier];
  }

 private:
  using Bytes = std::array<std::uint8_t, 32>;
  static Bytes bytes_of(const CapturedFrame& captured, const roce::Frame& frame) noexcept;

  std::map<Bytes, std::uint16_t> indices_;
  std::vector<FieldTexts> fields_ = {{}};
  std::vector<std::uint16_t> carriers_ = {0};      // by combination
  std::vector<std::string> carrier_names_ = {{}};  // by number
  std::pair<Bytes, std::uint16_t> last_ = {};
};

/// Numbers that both capture points share.
struct Names {
  explicit Names(std::size_t most_flows = kMostFlows) : flows(most_flows) {}
  FlowNames flows;
  HeaderForms forms;
};

/// The RoCE frames of a capture.
struct CapturePoint {
  std::string file;
  std::uint64_t frames = 0, roce = 0;
  std::uint64_t unidentified = 0;   // RoCE frames without an identity: cut, or fragments
  std::uint64_t further_views = 0;  // frames that the point had seen: left out
  std::uint64_t cut = 0;            // frames without an ICRC, which the capture cut off
  std::uint64_t bad_icrcs = 0;
  /// Smallest captured payload of the frames with a cut payload, in bytes.
  std::size_t least_payload = IdentityRule::kWhole;
  /// Fewest captured bytes behind the BTH of the frames with cut extension headers.
  std::size_t least_body = IdentityRule::kWhole;
  CaptureRecords records;
  std::vector<CapturePointInfo> points;  // that its interfaces are, and what decided it
  std::set<std::string> unknown;         // names of --points that it lacks
  std::optional<Error> damage;           // why reading stopped before the end of the file
  std::optional<Instant> begin;          // the stamp of the file's first frame, of any kind

  /// The earliest stamp of its records; without any, that of the file's first frame.
  [[nodiscard]] Instant first_stamp() const;
};

/// Adds the record of a frame, if it is one of RoCE with an identity. Error: the point has
/// kMostRecords.
Result<void> add_record(CapturePoint& point, const CapturedFrame& captured, Names& names,
                        const IdentityRule& rule);

/// Reads a whole capture, or the interfaces that `place` names (see place_of()). Errors: the file
/// can't be opened, or lacks such an interface. `points`: as of CapturePoints::decide(); names that
/// the capture lacks are in CapturePoint::unknown.
Result<CapturePoint> read_point(const std::string& place, const std::string& filter, Names& names,
                                const IdentityRule& rule = {}, const FrameReading& reading = {},
                                const std::string& points = {});

/// The resolution of stamps in ns: the largest power of ten, up to 1 ms, that divides nearly all.
std::int64_t resolution_of(Records records);

/// Returns the rule that distinguishes the frames of all points: by content if a capture cut
/// frames, or if most ICRCs of one are bad, because the frames were not captured as they were sent.
IdentityRule rule_for(std::span<const CapturePoint> points) noexcept;
IdentityRule rule_for(const CapturePoint& near, const CapturePoint& far) noexcept;

}  // namespace lw::dissect
