// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "dissect/frame_source.h"

namespace lw::dissect {

/// What makes a frame that frame wherever on its path it is seen: encapsulation, addresses,
/// destination QP, PSN, opcode, length and ICRC, hashed to 128 bits. So everything that an ICRC
/// covers counts, and what a router may change (TTL, ECN, VLAN, MAC) doesn't.
using Identity = std::array<std::uint64_t, 2>;

/// Nothing for frames that aren't RoCE, are fragments, or whose ICRC wasn't captured.
std::optional<Identity> identity_of(const roce::Envelope& envelope) noexcept;

/// A frame at a capture point.
struct Sighting {
  Identity identity;
  std::int64_t stamp_ns;
  std::uint32_t order;  // among the point's sightings, from 0
  std::uint32_t flow;   // index into FlowNames
  bool bad_icrc;
};

/// Ordered address pairs, numbered as they come; shared by the points that are compared.
class FlowNames {
 public:
  std::uint32_t index_of(const std::string& source, const std::string& destination);
  [[nodiscard]] std::size_t size() const noexcept { return indices_.size(); }

 private:
  std::map<std::pair<std::string, std::string>, std::uint32_t> indices_;
};

/// All that a capture point saw.
struct CapturePoint {
  std::string file;
  std::uint64_t frames = 0, roce = 0;
  std::uint64_t unidentified = 0;  // RoCE frames without an identity: cut, or fragments
  std::vector<Sighting> sightings;
  std::optional<Error> damage;  // what stopped the reading, after all that could be read
};

/// Reads a whole capture. An error only where not even reading could begin.
Result<CapturePoint> read_point(const std::string& path, const std::string& filter,
                                FlowNames& flows);

}  // namespace lw::dissect
