// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "roce/frame.h"

namespace lw::dissect {

/// Hash of the bytes of a frame that are equal in all its views: addresses, IP identification, UDP
/// source port, BTH without its byte 4, extension headers, length, and the first 64 bytes of the
/// payload. What a hop or a mirror changes is left out: MAC addresses, tags, TTL, traffic class,
/// ICRC. Not safe against frames that were made to collide.
using ViewIdentity = std::uint64_t;

/// Nothing for fragments and for frames with a defect, except a cut payload.
std::optional<ViewIdentity> view_identity_of(const roce::Frame& frame) noexcept;

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
