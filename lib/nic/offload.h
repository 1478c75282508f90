// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lw::nic {

/// What the kernel has not completed in a received frame, from struct virtio_net_hdr. Offsets are
/// in bytes from the Ethernet header.
struct Offload {
  enum class Segments : std::uint8_t { none, tcp_ipv4, tcp_ipv6, udp, unknown };

  bool checksum_missing = false;
  std::uint16_t checksum_start = 0;   // first byte that the checksum covers
  std::uint16_t checksum_offset = 0;  // of the checksum field, from checksum_start
  Segments segments = Segments::none;
  std::uint16_t segment_size = 0;      // payload of each segment, in bytes
  bool first_segment_has_cwr = false;  // only the first segment gets TCP's CWR flag
};

/// Length of struct virtio_net_hdr in bytes, and offset of its field for the length of the headers.
inline constexpr std::size_t kVirtioHeader = 10, kVirtioHeaderLength = 2;
/// Reads a virtio_net_hdr in host byte order.
Offload read_offload(const std::byte* header) noexcept;

/// A VLAN tag that the kernel passes separately from a frame: TPID and TCI as on the wire.
using VlanTag = std::array<std::byte, 4>;
/// Offset of the outermost VLAN tag in a frame: after the two addresses.
inline constexpr std::size_t kTagOffset = 12;

/// Completes the checksum of a frame whose checksum field holds the pseudo header's sum, like
/// skb_checksum_help(); for SCTP, sets the CRC32c. `covered` begins at checksum_start. Returns
/// false if the field is outside.
bool complete_checksum(std::span<std::byte> covered, std::uint16_t checksum_offset) noexcept;

/// Splits a TCP or UDP packet that the kernel has not segmented (TSO, GSO), or has merged (GRO,
/// LRO), into the frames that its sender meant, with all lengths and checksums: the frames that
/// tcp_gso_segment() and __udp_gso_segment() would make. IPv4 identifications count up; they stay 0
/// in a packet with DF and identification 0. The packet may be in one tunnel (VXLAN, Geneve, GRE
/// without checksum and sequence number, IP in IP), whose headers are completed too. One thread.
class Segmenter {
 public:
  /// Starts with a packet. `frame` must stay valid until done(). `tag` is inserted into each
  /// segment. Returns false for headers that this class can't segment, such as tunnels in tunnels.
  bool start(std::span<const std::byte> frame, const Offload& offload,
             const std::optional<VlanTag>& tag) noexcept;
  [[nodiscard]] bool done() const noexcept { return sent_ == payload_.size(); }
  /// Length of the next segment's frame in bytes; later ones are not longer.
  [[nodiscard]] std::size_t next_size() const noexcept;
  /// Writes the next segment, of next_size() bytes.
  void write(std::byte* out) noexcept;
  /// Skips the remaining segments.
  void abandon() noexcept { sent_ = payload_.size(); }

 private:
  /// An IP header and the headers after it, as offsets in the frame.
  struct Layer {
    std::size_t network = 0, transport = 0;
    std::uint8_t protocol = 0;
    bool ipv4 = false;
  };

  bool find_headers(std::size_t limit) noexcept;
  bool find_transport(std::size_t limit) noexcept;
  [[nodiscard]] std::optional<Layer> layer_at(std::size_t type, std::size_t limit) const noexcept;
  [[nodiscard]] std::optional<Layer> ip_at(std::size_t network, bool ipv4,
                                           std::size_t limit) const noexcept;
  [[nodiscard]] std::optional<Layer> inside(const Layer& outer, std::size_t limit) const noexcept;
  [[nodiscard]] std::optional<Layer> inside_udp(std::size_t udp, std::size_t limit) const noexcept;
  [[nodiscard]] std::optional<Layer> inside_gre(std::size_t gre, std::size_t limit) const noexcept;
  [[nodiscard]] bool is_segmented(const Layer& layer) const noexcept;
  [[nodiscard]] std::size_t transport_header() const noexcept;
  void finish_network(std::byte* frame, const Layer& layer, std::size_t size) const noexcept;
  void finish_transport(std::byte* frame, std::size_t size) const noexcept;
  static std::uint16_t checksum_of(const std::byte* frame, const Layer& layer,
                                   std::size_t size) noexcept;
  void finish_tunnel(std::byte* frame, std::size_t size) const noexcept;

  static constexpr std::size_t kMostHeaders = 512;

  std::array<std::byte, kMostHeaders> headers_{};     // with the tag
  std::size_t header_size_ = 0, checksum_start_ = 0;  // with the tag
  Layer layer_;                                       // layer of the packet that is segmented
  std::optional<Layer> tunnel_;                       // layer around it
  bool no_checksum_ = false;                          // UDP over IPv4 without a checksum
  Offload offload_;
  std::span<const std::byte> payload_;
  std::size_t sent_ = 0;  // payload bytes sent
  std::uint16_t index_ = 0;
};

}  // namespace lw::nic
