// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/output.h"

namespace lw::nic {

/// A Linux interface by name. `eth1` uses our own packet socket; `eth1,qdisc` too, but sent frames
/// pass the kernel's queueing, where tcpdump sees them; `af_packet:eth1` uses DPDK's packet socket;
/// `eth1,af_xdp` or `af_xdp:eth1` uses its AF_XDP driver.
struct InterfaceSpec {
  enum class Driver : std::uint8_t { packet_port, af_packet, af_xdp };

  std::string interface;
  Driver driver = Driver::packet_port;
  bool queueing = false;
};

/// A device on the PCI bus: `0000:3b:00.0` or `3b:00.0`; `address` always includes the domain.
struct PciSpec {
  std::string address;
};

/// Shared memory between two processes on one machine: `memif:/run/x.sock[,server]`.
struct MemifSpec {
  std::string socket;
  bool server = false;
};

/// The network interface of a virtual machine, through memory shared by QEMU (vhost-user):
/// `vhost:/run/x.sock[,client]`. The port creates the socket, or as a client connects to QEMU's.
struct VhostSpec {
  std::string socket;
  bool client = false;
};

/// Captures instead of a link: `pcap:IN[,OUT]`. Without IN the port only sends; without OUT sent
/// frames are discarded. At least one is set.
struct PcapSpec {
  std::string in, out;
};

/// A port that receives nothing and discards sent frames.
struct NullSpec {};

/// DPDK device arguments, passed on unchanged: `net_tap0,iface=x`.
struct RawSpec {
  std::string arguments;
  [[nodiscard]] std::string device() const;  // "net_tap0"
  [[nodiscard]] std::string driver() const;  // "net_tap"
};

/// A port as named by the user: parsed but not opened.
struct PortSpec {
  std::string text;  // as typed; the port's name in messages
  std::variant<InterfaceSpec, PciSpec, MemifSpec, VhostSpec, PcapSpec, NullSpec, RawSpec> kind;

  template <class Kind>
  [[nodiscard]] const Kind* as() const noexcept {
    return std::get_if<Kind>(&kind);
  }
};

/// Parses the name of a port. Doesn't check that the device exists. Error (usage): what was
/// expected and what was found.
Result<PortSpec> parse_port_spec(std::string_view text);

/// True if the port reads frames from a file.
bool reads_file(const PortSpec& spec);

/// True if the port is no device of a bus: what is behind it is on this machine, too.
bool is_virtual(const PortSpec& spec);

/// True if a device or another process accesses buffers directly (by DMA, or by a shared mapping),
/// so that they must be in EAL's memory.
bool needs_eal_memory(const PortSpec& spec);

/// Longest frame in bytes that this kind of port carries, if it has a smaller limit than others:
/// AF_XDP stores a frame in one page of 4 KiB, with the headers of DPDK and the kernel.
std::optional<std::uint32_t> frame_limit(const PortSpec& spec) noexcept;

/// Adds the files that the port `text` reads and writes, for check_outputs(). Does nothing for
/// other ports, and for an invalid text.
void add_files(const std::string& text, std::vector<NamedFile>& inputs,
               std::vector<NamedFile>& outputs);

/// Checks that no two ports are the same device: the same name, two names of one network interface,
/// the same end of a memif, or one socket of a virtual machine. `null` and captures may be given
/// several times. Error: usage.
Result<void> check_distinct(std::span<const PortSpec> specs);

/// Claims the network interfaces and PCI devices of some ports for this process, in its network
/// namespace, as long as the object lives.
class PortClaims {
 public:
  /// Error (environment): another process of these programs uses one of them.
  static Result<PortClaims> claim(std::span<const PortSpec> specs);

  PortClaims() = default;
  PortClaims(PortClaims&&) noexcept = default;
  PortClaims& operator=(PortClaims&&) noexcept = default;
  ~PortClaims();

 private:
  std::vector<int> sockets_;
};

/// The arguments with which DPDK probes a port.
struct DeviceArguments {
  std::string name;       // of the device, after probing
  std::string arguments;  // name and options
};

/// Returns the port if it uses our own packet socket; null for all other ports, which are DPDK's.
const InterfaceSpec* packet_port_of(const PortSpec& spec) noexcept;

/// Error (environment): there is no such interface; the message lists the existing ones.
Result<void> check_interface(const InterfaceSpec& port);

/// Returns the DPDK arguments of a port. `ordinal` distinguishes the devices of this process;
/// `frame_size` is the largest frame in bytes. For a memif or vhost port that creates its socket,
/// removes a socket that no process serves any more. Errors (environment): a file or interface is
/// missing, or another process serves the socket.
Result<DeviceArguments> device_arguments(const PortSpec& spec, int ordinal,
                                         std::uint32_t frame_size);

}  // namespace lw::nic
