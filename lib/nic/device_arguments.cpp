// SPDX-License-Identifier: BSD-3-Clause
#include "nic/device_arguments.h"

#include <cstring>
#include <filesystem>
#include <net/if.h>
#include <numeric>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "nic/frame_room.h"

namespace lw::nic {
namespace {

std::vector<std::string> interfaces() {
  std::vector<std::string> names;
  struct if_nameindex* list = if_nameindex();
  for (auto* entry = list; entry && entry->if_index != 0; ++entry)
    names.emplace_back(entry->if_name);
  if (list) if_freenameindex(list);
  return names;
}

std::unexpected<Error> missing(std::string message) {
  return fail(std::move(message), ExitCode::environment);
}

std::string with_prefix(std::string_view prefix, std::string_view option) {
  return option.empty() ? std::string{} : fmt::format(",{}={}", prefix, option);
}

/// The kernel cuts its ring's slots from blocks of whole pages, and the driver takes the slots to
/// lie back to back: so a block is the smallest that is a multiple of both.
std::string af_packet_options(const std::string& interface, std::uint32_t frame_size) {
  constexpr std::uint32_t kPage = 4096, kSlots = 1024;
  const std::uint32_t slot = frame_room(frame_size);
  const std::uint32_t block = std::lcm(slot, kPage);
  const std::uint32_t slots_per_block = block / slot;
  // qdisc_bypass=0, or tcpdump on the interface misses what is sent.
  return fmt::format("iface={},framesz={},blocksz={},framecnt={},qdisc_bypass=0", interface, slot,
                     block, (kSlots + slots_per_block - 1) / slots_per_block * slots_per_block);
}

struct Describe {
  const PortSpec& spec;
  int ordinal;
  std::uint32_t frame_size;

  [[nodiscard]] DeviceArguments device(std::string_view driver, std::string_view options) const {
    const std::string name = fmt::format("{}_lw{}", driver, ordinal);
    return {name, fmt::format("{}{}{}", name, options.empty() ? "" : ",", options)};
  }

  Result<DeviceArguments> operator()(const InterfacePort& port) const {
    if (if_nametoindex(port.interface.c_str()) == 0)
      return missing(fmt::format("no interface `{}` here; there are: {}", port.interface,
                                 fmt::join(interfaces(), ", ")));
    if (port.af_xdp)
      return device("net_af_xdp", fmt::format("iface={},start_queue=0", port.interface));
    return device("net_af_packet", af_packet_options(port.interface, frame_size));
  }

  Result<DeviceArguments> operator()(const PciPort& port) const {
    if (!std::filesystem::exists("/sys/bus/pci/devices/" + port.address))
      return missing(
          fmt::format("no PCI device at {}; `lspci -D` lists what is there", port.address));
    return DeviceArguments{port.address, port.address};
  }

  Result<DeviceArguments> operator()(const MemifPort& port) const {
    // The driver takes no relative path.
    const auto socket = std::filesystem::absolute(port.socket);
    const auto folder = socket.parent_path();
    if (!std::filesystem::is_directory(folder))
      return missing(fmt::format("port `{}`: no folder {}", spec.text, folder.string()));
    // A frame larger than bsize would be cut into several buffers.
    const std::uint32_t buffer = (frame_size + 127) / 64 * 64;
    return device("net_memif",
                  fmt::format("role={},socket={},socket-abstract=no,id=0,bsize={},rsize=10",
                              port.server ? "server" : "client", socket.string(), buffer));
  }

  Result<DeviceArguments> operator()(const PcapPort& port) const {
    if (!port.in.empty() && access(port.in.c_str(), R_OK) != 0)
      return missing(fmt::format("can't read {}: {}", port.in, std::strerror(errno)));
    std::string options = with_prefix("rx_pcap", port.in) + with_prefix("tx_pcap", port.out);
    return device("net_pcap", std::string_view(options).substr(1));
  }

  Result<DeviceArguments> operator()(const NullPort&) const {
    return device("net_null", "no-rx=1");
  }

  Result<DeviceArguments> operator()(const RawPort& port) const {
    return DeviceArguments{port.device(), port.arguments};
  }
};

}  // namespace

Result<DeviceArguments> device_arguments(const PortSpec& spec, int ordinal,
                                         std::uint32_t frame_size) {
  return std::visit(Describe{spec, ordinal, frame_size}, spec.kind);
}

}  // namespace lw::nic
