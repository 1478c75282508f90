// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "dissect/fields/frame_source.h"

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
  std::uint32_t order;  // index among the point's records
  std::uint32_t flow;   // index into FlowNames
  bool bad_icrc;
};

/// Numbers ordered address pairs from 0; shared by both capture points.
class FlowNames {
 public:
  std::uint32_t index_of(const std::string& source, const std::string& destination);
  [[nodiscard]] std::size_t size() const noexcept { return indices_.size(); }

 private:
  std::map<std::pair<std::string, std::string>, std::uint32_t> indices_;
};

/// The RoCE frames of a capture.
struct CapturePoint {
  std::string file;
  std::uint64_t frames = 0, roce = 0;
  std::uint64_t unidentified = 0;  // RoCE frames without an identity: cut, or fragments
  std::vector<CaptureRecord> records;
  std::optional<Error> damage;  // why reading stopped before the end of the file
};

/// Reads a whole capture. An error means that it couldn't be opened.
Result<CapturePoint> read_point(const std::string& path, const std::string& filter,
                                FlowNames& flows);

}  // namespace lw::dissect
