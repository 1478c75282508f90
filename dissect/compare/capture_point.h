// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "dissect/fields/recent_map.h"
#include "roce/frame.h"

namespace lw::dissect {

/// Identity of a frame anywhere on its path: a 128-bit hash of encapsulation, addresses,
/// destination QP, PSN, opcode, length and ICRC. All bytes that an ICRC covers count; fields that a
/// router may change (TTL, ECN, VLAN, MAC) don't.
using Identity = std::array<std::uint64_t, 2>;

/// Nothing for frames that aren't RoCE, fragments, and frames whose ICRC wasn't captured.
std::optional<Identity> identity_of(const roce::Envelope& envelope) noexcept;

/// A RoCE frame seen at a capture point.
struct CaptureRecord {
  Identity identity;
  std::int64_t stamp_ns;
  std::uint32_t order;    // index among the point's records
  std::uint32_t flow;     // index into FlowNames
  std::uint32_t dest_qp;  // 24 bits
  std::uint32_t psn;      // 24 bits
  std::uint8_t opcode;
  bool bad_icrc;
};

/// Numbers flows from 0: address pair and destination QP, without the role. Shared by both capture
/// points. Of more flows than `most` the least recently seen are forgotten.
class FlowNames {
 public:
  explicit FlowNames(std::size_t most = kMostFlows) : indices_(most) {}

  std::uint32_t index_of(roce::FlowKey key);
  /// Whether the flow of each number was forgotten.
  [[nodiscard]] const std::vector<bool>& forgotten() const noexcept { return forgotten_; }

  struct Index {
    std::uint32_t value = 0;
  };
  /// The flows that are remembered: key and Index.
  [[nodiscard]] const RecentMap<roce::FlowKey, Index>& remembered() const noexcept {
    return indices_;
  }

 private:
  RecentMap<roce::FlowKey, Index> indices_;
  std::vector<bool> forgotten_;
  std::optional<std::pair<roce::FlowKey, std::uint32_t>> last_;
};

/// The RoCE frames of a capture.
struct CapturePoint {
  std::string file;
  std::uint64_t frames = 0, roce = 0;
  std::uint64_t unidentified = 0;  // RoCE frames without an identity: cut, or fragments
  std::vector<CaptureRecord> records;
  std::optional<Error> damage;  // why reading stopped before the end of the file
};

/// Reads a whole capture, or the interfaces of it that `place` names (see place_of()). An error
/// means that it couldn't be opened, or lacks such an interface.
Result<CapturePoint> read_point(const std::string& place, const std::string& filter,
                                FlowNames& flows);

}  // namespace lw::dissect
