// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "roce/frame.h"

namespace lw::dissect {

/// Identity of a frame anywhere on its path: a hash of bytes that no router changes. MAC addresses,
/// tags, TTL, ECN and the other bytes that an ICRC leaves out are not hashed. Not safe against frames
/// that were made to collide.
using Identity = std::uint64_t;

/// The parts of a frame that make its identity.
struct IdentityRule {
  static constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();

  /// True: by the ICRC: encapsulation, addresses, destination QP, PSN, opcode, length and ICRC, so
  /// that all bytes that the ICRC covers count. False: by content: addresses, IP identification,
  /// UDP source port, BTH, extension headers, length, and the first `payload` bytes of the payload.
  bool by_icrc = true;
  bool judges_icrcs = true;  // a bad ICRC means a damaged frame
  std::size_t payload = kWhole;
  /// Where a capture cut extension headers: this many bytes behind the BTH count, whatever they are,
  /// in place of extension headers and payload.
  std::size_t body = kWhole;
};

/// Nothing for frames that aren't RoCE, for fragments, and if the capture lacks bytes that count.
std::optional<Identity> identity_of(const roce::Frame& frame, const IdentityRule& rule) noexcept;

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
