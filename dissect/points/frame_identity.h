// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "roce/frame.h"

namespace lw::dissect {

/// Identity of a frame anywhere on its path: a hash of bytes that no router changes. MAC addresses,
/// tags, TTL, ECN and the other bytes that an ICRC leaves out are not hashed. Not safe against
/// frames that were made to collide.
using Identity = std::uint64_t;

/// The identity of a frame among its views at one point, by content: the first 64 bytes behind the
/// BTH count as far as they were captured. Nothing for fragments and for frames with a defect,
/// except a cut one.
std::optional<Identity> view_identity_of(const roce::Frame& frame) noexcept;

/// Hash of at most `most` captured bytes between BTH and ICRC, whatever the opcode says they are.
std::uint32_t body_hash_of(const roce::Frame& frame, std::size_t most) noexcept;

/// Whether the capture cut the frame.
bool is_cut(const roce::Frame& frame) noexcept;
/// Bytes behind the BTH that were captured, without the ICRC.
std::size_t captured_body_of(const roce::Frame& frame) noexcept;

/// What may differ between two views of one frame.
struct ViewForm {
  std::array<std::uint8_t, 12> macs{};  // destination, source; 0 without Ethernet
  std::uint32_t interface = 0;          // index of the interface, of Linux "cooked" captures
  std::uint16_t vlan = 0;               // the outer tag's control information
  std::uint8_t vlans = 0, hop_limit = 0, traffic_class = 0;

  friend bool operator==(const ViewForm&, const ViewForm&) = default;
};
/// `link_type` as of capture::Interface.
ViewForm view_form_of(const roce::Envelope& envelope, int link_type) noexcept;

/// The first property in which two forms differ, as words: "TTL", "VLAN tags", "MAC addresses",
/// "interface index", "traffic class"; empty for equal forms.
std::string_view difference_of(const ViewForm& a, const ViewForm& b) noexcept;

}  // namespace lw::dissect
