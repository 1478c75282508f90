// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dissect/matching/capture_point.h"
#include "dissect/matching/directions.h"

namespace lw::dissect {

/// A comparison key of a frame, and the frame.
struct MatchKey {
  Identity value;
  std::uint32_t order;
};
using MatchKeys = std::span<const MatchKey>;
using MatchKeyOf = Identity (*)(const CaptureRecord&, const FlowNames&);

/// Key of equal frames.
Identity identity_key(const CaptureRecord& record, const FlowNames& flows);
/// Key of damaged frames: the path leaves the ICRC as it is. Without an ICRC, order is used.
Identity icrc_key(const CaptureRecord& record, const FlowNames& flows);
/// Key of changed frames: flow, PSN and opcode.
Identity place_key(const CaptureRecord& record, const FlowNames& flows);
/// Key of frames with rewritten addresses or ports: the packet from the BTH on.
Identity packet_key(const CaptureRecord& record, const FlowNames& flows);

/// The keys of the records with these orders, by value and order.
std::vector<MatchKey> sorted_keys(Records records, std::span<const std::uint32_t> orders,
                                  MatchKeyOf key_of, const FlowNames& flows);
/// The identities of one of `parts` (a power of two) ranges of them, by value and order: a part at
/// a time takes a part of the memory.
std::vector<MatchKey> sorted_identities(Records records, std::uint64_t part, std::uint64_t parts);

/// Removes the keys with this value from the front, and returns them.
MatchKeys take_equal(MatchKeys& rest, const Identity& value);

/// Calls `visit` with the keys of each value in both lists.
template <class Visit>
void for_each_group(MatchKeys a, MatchKeys b, Visit visit) {
  while (!a.empty() || !b.empty()) {
    const bool take_a = b.empty() || (!a.empty() && a[0].value <= b[0].value);
    const Identity value = take_a ? a[0].value : b[0].value;
    const MatchKeys group = take_equal(a, value);
    visit(group, take_equal(b, value));
  }
}

}  // namespace lw::dissect
