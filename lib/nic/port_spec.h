// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/error.h"

namespace lw::nic {

/// A Linux interface by name: `eth1`, or over AF_XDP `eth1,af_xdp` / `af_xdp:eth1`.
struct InterfacePort {
  std::string interface;
  bool af_xdp = false;
};

/// A device on the PCI bus: `0000:3b:00.0` or `3b:00.0`; `address` always carries the domain.
struct PciPort {
  std::string address;
};

/// Shared memory between two processes on one machine: `memif:/run/x.sock[,server]`.
struct MemifPort {
  std::string socket;
  bool server = false;
};

/// Files in place of a wire: `pcap:IN[,OUT]`. Without IN it only sends, without OUT what is sent
/// vanishes; at least one is there.
struct PcapPort {
  std::string in, out;
};

/// Nothing is ever received, and what is sent vanishes.
struct NullPort {};

/// DPDK's own device arguments, passed on as they are: `net_tap0,iface=x`.
struct RawPort {
  std::string arguments;
  [[nodiscard]] std::string device() const;  // "net_tap0"
  [[nodiscard]] std::string driver() const;  // "net_tap"
};

/// What a person typed for a port, understood but not opened.
struct PortSpec {
  std::string text;  // as typed: the port's name in messages
  std::variant<InterfacePort, PciPort, MemifPort, PcapPort, NullPort, RawPort> kind;

  template <class Kind>
  [[nodiscard]] const Kind* as() const noexcept {
    return std::get_if<Kind>(&kind);
  }
};

/// Reads a port as typed. Pure: whether the device exists is found out when it is opened.
/// The error (usage) says what was expected and what was found.
Result<PortSpec> parse_port_spec(std::string_view text);

/// True where frames come from a file, which ends.
bool reads_file(const PortSpec& spec);

/// True where the device reads and writes buffers by itself (DMA, or another process's mapping),
/// so that they must lie in EAL's memory.
bool needs_eal_memory(const PortSpec& spec);

}  // namespace lw::nic
