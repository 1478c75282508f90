// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "roce/envelope.h"
#include "wire/bth.h"
#include "wire/mad.h"
#include "wire/opcode.h"

namespace lw::roce {

enum class Problem : std::uint8_t {
  not_roce,         // a valid frame of another protocol
  fragment,         // a fragment of an IP packet
  cut,              // the capture holds less than was on the wire
  too_short,        // the frame's own lengths end before a header that it must have
  length_mismatch,  // IP and UDP lengths contradict each other
  reserved_opcode,  // no such opcode: what follows the BTH is unknown
};

/// Where and why parsing stopped: "reth at offset 54: cut (capture holds 60 of 90 bytes)".
struct ParseError {
  Problem problem{};
  std::string_view layer;  // as Wireshark names it: "ip", "udp", "bth", "reth", "icrc", ...
  std::size_t offset = 0;  // from the frame's start
};

std::string to_string(const ParseError& error);

/// A RoCE frame, read in place. The extension headers (frame.reth) are null where the opcode has
/// none or the bytes end before them. Everything lives as long as the bytes that were parsed.
struct Frame : wire::ExtensionSlots<wire::HeaderView> {
  Envelope envelope;
  const wire::Bth* bth = nullptr;          // never null
  const wire::OpcodeInfo* info = nullptr;  // null for a reserved opcode

  const wire::Mad* mad = nullptr;  // a UD SEND to QP 1

  Bytes payload;                     // the captured part, without pad
  std::size_t payload_length = 0;    // on the wire
  Bytes icrc;                        // 4 bytes; empty if cut
  std::optional<ParseError> defect;  // the first error after the BTH
};

/// The frame's defect as text, empty without one. A frame that was captured as long as it was on
/// the wire, and that is shorter than its IP packet, was cut on its way: "payload at offset 70:
/// trimmed (the frame ends here, 442 bytes before its IP packet)".
std::string defect_text(const Frame& frame);

/// Parses a whole frame. Returns an error only if there is no BTH. The first error after the BTH is
/// stored in `defect`, so that the readable part of cut and damaged frames is available.
std::expected<Frame, ParseError> parse(const Envelope& envelope) noexcept;
std::expected<Frame, ParseError> parse(Bytes bytes, std::size_t wire_length) noexcept;
inline std::expected<Frame, ParseError> parse(Bytes bytes) noexcept {
  return parse(bytes, bytes.size());
}

/// Whether two GIDs are equal. Compares two words: a comparison of arrays calls memcmp(), 8 % of
/// the time of `roce-dissect compare`.
inline bool equal_gids(const std::array<std::byte, 16>& a,
                       const std::array<std::byte, 16>& b) noexcept {
  using Words = std::array<std::uint64_t, 2>;
  const auto x = std::bit_cast<Words>(a), y = std::bit_cast<Words>(b);
  return x[0] == y[0] && x[1] == y[1];
}

/// Identifies a stream of packets: addresses, destination QP, and role, because a QP's requests,
/// responses and CNPs are separate streams (IBTA vol. 1, 9.7.1). IPv4 addresses are mapped to
/// ::ffff:a.b.c.d, as in a RoCE GID.
struct FlowKey {
  std::array<std::byte, 16> source{}, destination{};
  std::uint32_t dest_qp = 0;
  wire::Role role{};

  friend auto operator<=>(const FlowKey&, const FlowKey&) = default;
  friend bool operator==(const FlowKey& a, const FlowKey& b) noexcept {
    return equal_gids(a.source, b.source) && equal_gids(a.destination, b.destination) &&
           a.dest_qp == b.dest_qp && a.role == b.role;
  }
};

/// Returns ::ffff:a.b.c.d for an IPv4 address, as in a RoCE GID. Two words, as wide as the loads of
/// a key's hash and comparison, which would wait for narrower stores.
inline std::array<std::byte, 16> mapped(const wire::Ipv4Address& address) noexcept {
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t host = std::bit_cast<std::uint32_t>(address.bytes);
  return std::bit_cast<std::array<std::byte, 16>>(
      std::array<std::uint64_t, 2>{0, host << 32 | 0xffff'0000});
}

/// The key of a frame; a reserved opcode counts as a request.
FlowKey flow_key(const Frame& frame) noexcept;

struct FlowKeyHash {
  std::size_t operator()(const FlowKey& key) const noexcept;
};

}  // namespace lw::roce
