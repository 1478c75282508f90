// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace lw::nic {

/// Frames that an interface itself has lost since it exists, as `ip -s link` shows them. The
/// counters wrap.
struct InterfaceLosses {
  std::uint32_t received_missed = 0, received_errors = 0, sent_dropped = 0, sent_errors = 0;
  // Also counts tagged frames that no VLAN interface takes, after packet sockets have received
  // them.
  std::uint32_t received_dropped = 0;
};

/// Frames of all interfaces that the kernel has dropped since it started, because a CPU's backlog
/// of received frames was full: the second column of /proc/net/softnet_stat, of all CPUs. 0 if the
/// file can't be read. Any thread.
std::uint64_t backlog_drops();
/// Reads the text of that file.
std::uint64_t backlog_drops_of(std::istream& text);

/// How many frames of an interface were dropped in the kernel's backlog, at least. `host_drops`:
/// backlog_drops() in the same time; `received_dropped`: the interface's count; `tagged`: tagged
/// frames that were received, which may be in that count.
constexpr std::uint64_t backlog_losses(std::uint64_t host_drops, std::uint32_t received_dropped,
                                       std::uint64_t tagged) noexcept {
  return std::min(host_drops, received_dropped - std::min<std::uint64_t>(received_dropped, tagged));
}

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
