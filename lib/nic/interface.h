// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace lw::nic {

/// Frames that an interface itself has lost since it exists, as `ip -s link` shows them. The
/// counters wrap.
struct InterfaceLosses {
  std::uint32_t received_missed = 0, received_errors = 0, sent_dropped = 0, sent_errors = 0;
};

/// Queries about a Linux interface in the network namespace of the process. Any thread.
class Interface {
 public:
  explicit Interface(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The kernel's number; 0: no such interface.
  [[nodiscard]] unsigned index() const noexcept;
  /// Set up, with or without a carrier.
  [[nodiscard]] bool is_up() const noexcept;
  /// Up, and its carrier too.
  [[nodiscard]] bool is_running() const noexcept;
  /// As `ip link set` does; its peer sees the link change. Needs CAP_NET_ADMIN. False: it failed.
  bool set_up(bool up) const noexcept;
  /// Longest IP packet, in bytes.
  [[nodiscard]] std::optional<std::uint32_t> mtu() const noexcept;
  /// Nothing if its frames are not Ethernet's.
  [[nodiscard]] std::optional<std::array<std::byte, 6>> mac_address() const noexcept;
  /// Bits per second, if the interface says.
  [[nodiscard]] std::optional<double> bps() const;
  /// Nothing if the interface is gone.
  [[nodiscard]] std::optional<InterfaceLosses> losses() const;

 private:
  std::string name_;
};

}  // namespace lw::nic
