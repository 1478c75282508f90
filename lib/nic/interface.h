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

/// Frames that an interface has lost since it was created, as shown by `ip -s link`. The counters
/// wrap.
struct InterfaceLosses {
  std::uint32_t received_missed = 0, received_errors = 0, sent_dropped = 0, sent_errors = 0;
  // Includes tagged frames without a VLAN interface, although packet sockets have received them.
  std::uint32_t received_dropped = 0;
};

/// Returns the frames of all interfaces that the kernel has dropped since it started because a
/// CPU's receive backlog was full: the second column of /proc/net/softnet_stat, summed over all
/// CPUs. 0 if the file can't be read. Any thread.
std::uint64_t backlog_drops();
/// Sums the counters in the text of that file.
std::uint64_t backlog_drops_of(std::istream& text);

/// Returns a lower bound of an interface's frames that the kernel dropped in its backlog.
/// `host_drops`: increase of backlog_drops(); `received_dropped`: increase of the interface's
/// counter; `tagged`: tagged frames received, which that counter may include.
constexpr std::uint64_t backlog_losses(std::uint64_t host_drops, std::uint32_t received_dropped,
                                       std::uint64_t tagged) noexcept {
  return std::min(host_drops, received_dropped - std::min<std::uint64_t>(received_dropped, tagged));
}

/// Queries about a Linux interface in the network namespace of the process. Any thread.
class NetworkInterface {
 public:
  explicit NetworkInterface(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The kernel's index; 0 if there is no such interface.
  [[nodiscard]] unsigned index() const noexcept;
  /// True if it is set up, with or without a carrier.
  [[nodiscard]] bool is_up() const noexcept;
  /// True if it is set up and has a carrier.
  [[nodiscard]] bool is_running() const noexcept;
  /// False if it is gone, or about to be: the kernel sets an interface down before it deletes it,
  /// and answers this query (ETHTOOL_GLINK, which waits for its RTNL lock) once that has ended.
  [[nodiscard]] bool is_lasting() const noexcept;
  /// Sets the interface up or down like `ip link set`; its peer sees the link change. Needs
  /// CAP_NET_ADMIN. Returns false if it failed.
  bool set_up(bool up) const noexcept;
  /// True if it was set to receive all frames, as by `ip link set promisc on`: not for the packet
  /// sockets that ask for it.
  [[nodiscard]] bool is_set_promiscuous() const noexcept;
  bool set_promiscuous(bool all) const noexcept;
  /// Longest IP packet, in bytes.
  [[nodiscard]] std::optional<std::uint32_t> mtu() const noexcept;
  bool set_mtu(std::uint32_t mtu) const noexcept;
  /// Returns nothing if it is not an Ethernet interface.
  [[nodiscard]] std::optional<std::array<std::byte, 6>> mac_address() const noexcept;
  /// Rate in bits per second, if the interface reports it.
  [[nodiscard]] std::optional<double> bps() const;
  /// Returns nothing if the interface no longer exists, or the process has no descriptor left.
  [[nodiscard]] std::optional<InterfaceLosses> losses() const;

 private:
  std::string name_;
};

/// Sets an interface up. A signal handler may call it.
void set_interface_up(const char* name) noexcept;

/// As long as it lives, an interface receives all frames. The kernel counts who asks for it, and
/// forgets a process that ends, in any way; the interface's own flag would stay.
class AllFrames {
 public:
  AllFrames() = default;
  /// Asks for it; does nothing if the kernel refuses it.
  explicit AllFrames(unsigned interface) noexcept;
  AllFrames(const AllFrames&) = delete;
  AllFrames& operator=(const AllFrames&) = delete;
  ~AllFrames();

 private:
  int socket_ = -1;
};

}  // namespace lw::nic
