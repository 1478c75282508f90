// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
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

/// Captures instead of a link: `pcap:IN[,OUT]`. Without IN it only sends; without OUT sent frames
/// are discarded. At least one is set.
struct PcapPort {
  std::string in, out;
};

/// A port that receives nothing and discards sent frames.
struct NullPort {};

/// DPDK device arguments, passed on unchanged: `net_tap0,iface=x`.
struct RawPort {
  std::string arguments;
  [[nodiscard]] std::string device() const;  // "net_tap0"
  [[nodiscard]] std::string driver() const;  // "net_tap"
};

/// A port as the user names it, parsed but not opened.
struct PortSpec {
  std::string text;  // as typed; the port's name in messages
  std::variant<InterfacePort, PciPort, MemifPort, PcapPort, NullPort, RawPort> kind;

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

/// True if the device accesses buffers directly (DMA, or another process's mapping), so that they
/// must be in EAL's memory.
bool needs_eal_memory(const PortSpec& spec);

/// What DPDK needs to probe a port.
struct DeviceArguments {
  std::string name;       // of the device after probing
  std::string arguments;  // name and options
};

/// Returns the DPDK arguments of a port. `ordinal` distinguishes the devices of this process;
/// `frame_size` is the largest frame in bytes. Errors (environment): a file or interface is
/// missing.
Result<DeviceArguments> device_arguments(const PortSpec& spec, int ordinal,
                                         std::uint32_t frame_size);

}  // namespace lw::nic
