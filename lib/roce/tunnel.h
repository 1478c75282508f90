// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "roce/envelope.h"

namespace lw::roce {

/// A tunnel header around another frame or packet: "VXLAN", "Geneve", "GRE", "NVGRE", "ERSPAN I",
/// "ERSPAN II", "ERSPAN III", "MPLS", "IPv4 in IP", "IPv6 in IP", "Ethernet in IP" (of SRv6),
/// "PPPoE". The number identifies the tunnel: VNI, VSID, ERSPAN session, GRE key, the last MPLS
/// label, PPPoE session, NSH path, Cisco security group. Headers between the MAC addresses and the
/// frame's own ethertype are layers, too: "Arista time stamp", "Cisco metadata", "NSH", "E-tag",
/// "VN-tag", "MACsec" (if it is not encrypted).
struct TunnelLayer {
  const char* name;  // of static lifetime
  bool numbered;     // whether it has a number
  std::uint32_t number;
};

/// The tunnels around a frame.
class TunnelStack {
 public:
  static constexpr std::size_t kMost = 8;

  TunnelStack() noexcept {}  // leaves layers_ without values: most frames have none

  /// Outermost first.
  [[nodiscard]] std::span<const TunnelLayer> layers() const noexcept {
    return {layers_.data(), count_};
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// The tunnel that could not be opened, with static lifetime: "ESP", "GRE of another protocol",
  /// "VXLAN, cut"; empty: there is none.
  [[nodiscard]] std::string_view unopened() const noexcept { return unopened_; }
  /// names() is "VXLAN > MPLS", text() is "VXLAN 5001 > MPLS 16". Both are empty without tunnels.
  [[nodiscard]] std::string names() const;
  [[nodiscard]] std::string text() const;

  /// The addresses of the outermost IP header; empty without one.
  [[nodiscard]] std::string source() const;
  [[nodiscard]] std::string destination() const;

 private:
  [[nodiscard]] std::string joined(bool numbers) const;

  friend class TunnelOpener;

  std::array<TunnelLayer, kMost> layers_;
  std::size_t count_ = 0;
  std::string_view unopened_;
  const wire::Ipv4* ipv4_ = nullptr;
  const wire::Ipv6* ipv6_ = nullptr;
};

/// Replaces the envelope of a non-RoCE frame by the envelope of the frame inside its tunnels, as
/// far as the tunnels can be opened. Bytes and offsets then start at the inner frame. The wire
/// length is the space that the tunnel has for it: a longer inner frame was cut, and its ICRC is
/// unverifiable. Reads nothing outside `envelope.bytes`.
void open_tunnels(Envelope& envelope, TunnelStack& stack) noexcept;

}  // namespace lw::roce
