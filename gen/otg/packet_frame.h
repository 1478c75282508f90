// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gen/otg/plan.h"
#include "gen/otg/port_hub.h"
#include "wire/signature.h"
#include "wire/view.h"

namespace lw::gen::otg {

inline constexpr const char* kHexExpected = "expected pairs of hexadecimal digits";
inline constexpr std::size_t kSignatureSize = sizeof(wire::Signature);
/// Ethernet's shortest frame, in bytes with FCS; shorter ones are padded.
inline constexpr std::size_t kLeastFrame = 64;

/// The bytes of "0a 0b:0c"; nothing for other text.
std::optional<std::vector<std::byte>> bytes_of_hex(std::string_view text);

/// Where the headers of a flow's frames are, in bytes from the frame's start.
struct PacketLayout {
  std::vector<std::size_t> headers;  // by the index of the header
  std::optional<std::size_t> ether_type, ipv4, ipv6, udp;
  std::size_t tag = 0;      // of the device: bytes of a tag that no header has
  std::size_t payload = 0;  // bytes of all headers
  bool roce = false;        // a BTH follows UDP, and the frame ends with an ICRC

  /// Bytes of the shortest frame, without FCS.
  [[nodiscard]] std::size_t least() const noexcept { return payload + (roce ? 4 : 0); }
};

/// Adds a problem for each header that cannot follow the one before, and for bytes that are not in
/// hexadecimal. `tagged`: frames have the VLAN tag of a device. Returns false if there is one.
bool check_order(const PlannedPackets& flow, bool tagged, ModelReader& reader);
/// Requires check_order().
PacketLayout layout_of(const PlannedPackets& flow, bool tagged);
/// Each frame of the flow has room for a signature.
bool has_room(const PlannedPackets& flow, const PacketLayout& layout) noexcept;

/// What the frames of a pair of devices have where their headers have no value.
struct PacketDefaults {
  wire::MacAddress source = {};
  wire::IpAddress from = {}, to = {};
  std::optional<VlanMessage> vlan = {};
};

/// Makes the frames of a flow, or of one pair of its devices: headers by their patterns, lengths,
/// payload, checksums, and the ICRC of RoCEv2 frames.
class PacketFrame {
 public:
  /// `ends`: of a pair of devices; null: headers have all values.
  PacketFrame(const PlannedPackets& flow, const PacketDefaults* ends);

  /// Sets the MAC address of a pair's next hop, unless the headers have one.
  void set_destination(const wire::MacAddress& mac) noexcept;
  [[nodiscard]] const PacketLayout& layout() const noexcept { return layout_; }
  /// Bytes without FCS of a frame whose size is `size`, with FCS.
  [[nodiscard]] static std::size_t length_of(std::uint64_t size) noexcept {
    return std::max<std::size_t>(size, kLeastFrame) - kFcs;
  }
  /// A frame of this length has room for a signature.
  [[nodiscard]] bool is_signed(std::size_t length) const noexcept {
    return length >= layout_.least() + kSignatureSize;
  }
  /// Writes frame `number`, from 0, into `out`, which is as long as the frame. `signature` is
  /// written if the frame has room for it; may be null.
  void write(std::uint64_t number, const wire::SignatureFields* signature,
             wire::MutableBytes out) const noexcept;
  /// The frame has the headers of this flow from the Ethernet type on, besides what routers and
  /// patterns change.
  [[nodiscard]] bool matches(wire::Bytes frame) const noexcept;

 private:
  struct Varying {
    std::size_t at, width;  // bits from the frame's start
    const ValuePattern* pattern;
  };
  void add_headers();
  void add_ipv4(const Ipv4Header& header, std::size_t at);
  void add_patterns(const Patterns& patterns, HeaderKind kind, std::size_t at);
  void put(std::size_t at, std::size_t width, Bits value) noexcept;
  void add_tag(const PacketDefaults& ends);
  void set_ends(const PacketDefaults& ends);
  void set_types();
  void set_payload();
  void set_mask();
  void write_lengths(wire::MutableBytes out) const noexcept;
  void write_checksums(wire::MutableBytes out) const noexcept;
  void write_udp_checksum(wire::MutableBytes out) const noexcept;

  const PlannedPackets& flow_;
  PacketLayout layout_;
  std::vector<std::byte> bytes_;  // headers, and the longest payload
  std::vector<std::byte> mask_;   // bits of the headers that all frames have in common
  std::vector<Varying> varying_;
  const Ipv4Header* ipv4_ = nullptr;
  const SimpleHeader* ipv6_ = nullptr;
  const UdpHeader* udp_ = nullptr;
};

}  // namespace lw::gen::otg
