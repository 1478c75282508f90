// SPDX-License-Identifier: BSD-3-Clause
#include "nic/port_spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <net/if.h>
#include <numeric>
#include <optional>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "core/names.h"
#include "core/socket_holder.h"
#include "nic/pool.h"

namespace lw::nic {
namespace {

// Longest name of a Linux interface: IFNAMSIZ without its NUL.
constexpr std::size_t kLongestInterfaceName = 15;

constexpr std::string_view kForms =
    "a Linux interface (eth1; eth1,qdisc; af_xdp:eth1; af_packet:eth1), a PCI address "
    "(0000:3b:00.0), memif:PATH[,server], vhost:PATH[,client], pcap:IN[,OUT], "
    "null, or DPDK device arguments (net_tap0,iface=x)";

std::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  return fail(fmt::format("port `{}`: {}; expected {}", text, why, kForms));
}

/// Returns the text after `prefix`, or nothing if the text doesn't begin with it.
std::optional<std::string_view> behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// Returns true for bus:device.function with two, two and one hexadecimal digits.
bool is_short_pci_address(std::string_view text) {
  return text.size() == 7 && text[2] == ':' && text[5] == '.' && is_hex(text.substr(0, 2)) &&
         is_hex(text.substr(3, 2)) && text[6] >= '0' && text[6] <= '7';
}

bool is_pci_address(std::string_view text) {
  return text.size() == 12 && text[4] == ':' && is_hex(text.substr(0, 4)) &&
         is_short_pci_address(text.substr(5));
}

bool is_interface_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestInterfaceName && text != "." && text != ".." &&
         std::ranges::all_of(text, [](unsigned char c) {
           return std::isgraph(c) != 0 && c != '/' && c != ':' && c != ',' && c != '=';
         });
}

/// `PATH[,server|,client]`, as in memif and vhost ports.
struct SocketName {
  std::string_view path, role;
};

Result<SocketName> parse_socket(std::string_view text, std::string_view rest,
                                std::string_view kind) {
  const auto comma = rest.find(',');
  const SocketName name{rest.substr(0, comma), comma == std::string_view::npos
                                                   ? std::string_view{}
                                                   : rest.substr(comma + 1)};
  if (name.path.empty()) return refuse(text, fmt::format("{}: needs the path of its socket", kind));
  // sun_path holds 108 bytes with its NUL.
  if (name.path.size() > 107) return refuse(text, "the socket's path is longer than 107 bytes");
  if (comma != std::string_view::npos && name.role != "server" && name.role != "client")
    return refuse(
        text, fmt::format("expected `server` or `client` behind the path, found `{}`", name.role));
  return name;
}

Result<PortSpec> parse_memif(std::string_view text, std::string_view rest) {
  const auto name = parse_socket(text, rest, "memif");
  if (!name) return std::unexpected(name.error());
  return PortSpec{std::string(text), MemifSpec{std::string(name->path), name->role == "server"}};
}

Result<PortSpec> parse_vhost(std::string_view text, std::string_view rest) {
  const auto name = parse_socket(text, rest, "vhost");
  if (!name) return std::unexpected(name.error());
  // DPDK's device arguments can't escape these characters.
  if (name->path.find_first_of("=[]") != std::string_view::npos)
    return refuse(text, "the path of a vhost socket can't hold `=`, `[` or `]`");
  return PortSpec{std::string(text), VhostSpec{std::string(name->path), name->role == "client"}};
}

Result<PortSpec> parse_pcap(std::string_view text, std::string_view rest) {
  const auto comma = rest.find(',');
  const auto in = rest.substr(0, comma);
  const auto out = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  if (in.empty() && out.empty())
    return refuse(text, "pcap: needs a file to read, or `pcap:,OUT` to write only");
  // DPDK's device arguments can't escape these characters.
  if (out.find(',') != std::string_view::npos ||
      rest.find_first_of("=[]") != std::string_view::npos)
    return refuse(text, "a capture's name can't hold `,`, `=`, `[` or `]`");
  if (auto plain = check_plain_name(out); !plain) return std::unexpected(plain.error());
  return PortSpec{std::string(text), PcapSpec{std::string(in), std::string(out)}};
}

using Driver = InterfaceSpec::Driver;

Result<PortSpec> parse_interface(std::string_view text, std::string_view name, Driver driver,
                                 bool queueing = false) {
  if (!is_interface_name(name)) return refuse(text, "no form of port looks like this");
  return PortSpec{std::string(text), InterfaceSpec{std::string(name), driver, queueing}};
}

/// Returns the text before `suffix`, or nothing if the text doesn't end with it.
std::optional<std::string_view> before(std::string_view text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return std::nullopt;
  return text.substr(0, text.size() - suffix.size());
}

Result<PortSpec> parse_raw(std::string_view text, std::string_view arguments) {
  if (arguments.empty()) return refuse(text, "no device behind --vdev=");
  return PortSpec{std::string(text), RawSpec{std::string(arguments)}};
}

std::vector<std::string> interfaces() {
  std::vector<std::string> names;
  struct if_nameindex* list = if_nameindex();
  for (auto* entry = list; entry && entry->if_index != 0; ++entry)
    names.emplace_back(entry->if_name);
  if (list) if_freenameindex(list);
  return names;
}

/// Returns the first interface of an RDMA device such as mlx5_0; empty if there is none.
std::string interface_of_device(const std::string& device) {
  std::error_code unknown;
  const std::filesystem::path folder("/sys/class/infiniband/" + device + "/device/net");
  for (const auto& interface : std::filesystem::directory_iterator(folder, unknown))
    return interface.path().filename().string();
  return {};
}

/// Returns the error for a device that does not exist on this machine.
std::unexpected<Error> missing(std::string message) {
  return fail(std::move(message), ExitCode::environment);
}

std::string with_prefix(std::string_view prefix, std::string_view option) {
  return option.empty() ? std::string{} : fmt::format(",{}={}", prefix, option);
}

/// Returns the options of DPDK's packet socket. The kernel allocates its ring in blocks of whole
/// pages, and the driver expects contiguous slots. So a block is the least common multiple of page
/// and slot.
std::string af_packet_options(const std::string& interface, std::uint32_t frame_size) {
  constexpr std::uint32_t kPage = 4096, kSlots = 1024;
  const std::uint32_t slot = buffer_size(frame_size);
  const std::uint32_t block = std::lcm(slot, kPage);
  const std::uint32_t slots_per_block = block / slot;
  // Without qdisc_bypass=0, tcpdump on the interface doesn't see sent frames.
  return fmt::format("iface={},framesz={},blocksz={},framecnt={},qdisc_bypass=0", interface, slot,
                     block, (kSlots + slots_per_block - 1) / slots_per_block * slots_per_block);
}

/// Returns a socket's absolute path, which DPDK's drivers need. Error: its folder doesn't exist.
Result<std::string> socket_path(const std::string& port, const std::string& path) {
  const auto socket = std::filesystem::absolute(path);
  const auto folder = socket.parent_path();
  if (!std::filesystem::is_directory(folder))
    return missing(fmt::format("port `{}`: no folder {}", port, folder.string()));
  return socket.string();
}

/// Removes the socket of a killed server, which refuses connections and makes DPDK fail. `type`:
/// type of the socket, such as SOCK_STREAM.
Result<void> remove_stale_socket(const std::string& port, const std::string& path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path || !std::filesystem::exists(path)) return {};
  if (!std::filesystem::is_socket(path))
    return missing(fmt::format("port `{}`: {} exists and is not a socket", port, path));
  std::copy(path.begin(), path.end(), address.sun_path);
  const int client = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (client < 0) return missing(fmt::format("port `{}`: {}", port, std::strerror(errno)));
  const bool served =
      connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int why = errno;
  close(client);
  if (!served && why == ECONNREFUSED) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    return {};
  }
  return missing(fmt::format("port `{}`: {} serves {}", port, holder_of_unix_socket(path), path));
}

/// Checks that bytes can be written to a file, by a write of no bytes: DPDK ignores write errors.
Result<void> check_writable(const std::string& path) {
  const int file = path.empty() ? -1 : open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return {};  // DPDK creates the file, or reports the error
  const bool refused = write(file, "", 0) < 0;
  const int why = errno;
  close(file);
  if (!refused) return {};
  return missing(fmt::format("{}: cannot be written: {}; its first 0 bytes are valid", path,
                             std::strerror(why)));
}

struct Describe {
  const PortSpec& spec;
  int ordinal;
  std::uint32_t frame_size;

  [[nodiscard]] DeviceArguments device(std::string_view driver, std::string_view options) const {
    const std::string name = fmt::format("{}_lw{}", driver, ordinal);
    return {name, fmt::format("{}{}{}", name, options.empty() ? "" : ",", options)};
  }

  Result<DeviceArguments> operator()(const InterfaceSpec& port) const {
    if (auto there = check_interface(port); !there) return std::unexpected(there.error());
    if (port.driver == Driver::af_xdp)
      return device("net_af_xdp", fmt::format("iface={},start_queue=0", port.interface));
    return device("net_af_packet", af_packet_options(port.interface, frame_size));
  }

  Result<DeviceArguments> operator()(const PciSpec& port) const {
    if (!std::filesystem::exists("/sys/bus/pci/devices/" + port.address))
      return missing(
          fmt::format("no PCI device at {}; `lspci -D` lists what is there", port.address));
    return DeviceArguments{port.address, port.address};
  }

  Result<DeviceArguments> operator()(const MemifSpec& port) const {
    const auto socket = socket_path(spec.text, port.socket);
    if (!socket) return std::unexpected(socket.error());
    if (port.server) {
      auto free = remove_stale_socket(spec.text, *socket, SOCK_SEQPACKET);
      if (!free) return std::unexpected(free.error());
    }
    // A frame larger than bsize would be split into several buffers.
    const std::uint32_t buffer = (frame_size + 127) / 64 * 64;
    return device("net_memif",
                  fmt::format("role={},socket={},socket-abstract=no,id=0,bsize={},rsize=10",
                              port.server ? "server" : "client", *socket, buffer));
  }

  Result<DeviceArguments> operator()(const VhostSpec& port) const {
    const auto socket = socket_path(spec.text, port.socket);
    if (!socket) return std::unexpected(socket.error());
    if (!port.client) {
      auto free = remove_stale_socket(spec.text, *socket, SOCK_STREAM);
      if (!free) return std::unexpected(free.error());
    }
    return device("net_vhost",
                  fmt::format("iface={},queues=1,client={}", *socket, port.client ? 1 : 0));
  }

  Result<DeviceArguments> operator()(const PcapSpec& port) const {
    if (!port.in.empty() && access(port.in.c_str(), R_OK) != 0)
      return missing(fmt::format("can't read {}: {}", port.in, std::strerror(errno)));
    if (auto writable = check_writable(port.out); !writable)
      return std::unexpected(writable.error());
    std::string options = with_prefix("rx_pcap", port.in) + with_prefix("tx_pcap", port.out);
    return device("net_pcap", std::string_view(options).substr(1));
  }

  Result<DeviceArguments> operator()(const NullSpec&) const {
    return device("net_null", "no-rx=1");
  }

  Result<DeviceArguments> operator()(const RawSpec& port) const {
    return DeviceArguments{port.device(), port.arguments};
  }
};

}  // namespace

std::string RawSpec::device() const { return arguments.substr(0, arguments.find(',')); }

std::string RawSpec::driver() const {
  std::string name = device();
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back()))) name.pop_back();
  return name;
}

Result<PortSpec> parse_port_spec(std::string_view text) {
  // No valid name contains a control character; a NUL would truncate the name in C.
  if (std::ranges::any_of(text, [](unsigned char c) { return std::iscntrl(c) != 0; }))
    return refuse(fmt::format("({} bytes)", text.size()), "it holds a control character");
  if (text.empty()) return refuse(text, "it is empty");
  if (text == "null") return PortSpec{std::string(text), NullSpec{}};
  if (const auto rest = behind(text, "memif:")) return parse_memif(text, *rest);
  if (const auto rest = behind(text, "vhost:")) return parse_vhost(text, *rest);
  if (const auto rest = behind(text, "pcap:")) return parse_pcap(text, *rest);
  if (const auto rest = behind(text, "--vdev=")) return parse_raw(text, *rest);
  if (text.starts_with("net_") || text.starts_with("eth_")) return parse_raw(text, text);
  if (is_pci_address(text)) return PortSpec{std::string(text), PciSpec{std::string(text)}};
  if (is_short_pci_address(text))
    return PortSpec{std::string(text), PciSpec{fmt::format("0000:{}", text)}};
  if (const auto rest = behind(text, "af_xdp:"))
    return parse_interface(text, *rest, Driver::af_xdp);
  if (const auto rest = behind(text, "af_packet:"))
    return parse_interface(text, *rest, Driver::af_packet);
  if (const auto name = before(text, ",af_xdp"))
    return parse_interface(text, *name, Driver::af_xdp);
  if (const auto name = before(text, ",qdisc"))
    return parse_interface(text, *name, Driver::packet_port, true);
  return parse_interface(text, text, Driver::packet_port);
}

bool reads_file(const PortSpec& spec) {
  const auto* port = spec.as<PcapSpec>();
  return port && !port->in.empty();
}

bool needs_eal_memory(const PortSpec& spec) {
  if (spec.as<PciSpec>()) return true;
  if (const auto* port = spec.as<InterfaceSpec>()) return port->driver == Driver::af_xdp;
  const auto* raw = spec.as<RawSpec>();
  if (!raw) return false;
  // These drivers copy every frame. Others may pass a buffer's address to a device or process.
  constexpr std::array<std::string_view, 7> kCopying = {
      "net_af_packet", "net_memif", "net_null", "net_pcap", "net_ring", "net_tap", "net_vhost"};
  return std::ranges::find(kCopying, raw->driver()) == kCopying.end();
}

bool is_virtual(const PortSpec& spec) {
  if (spec.as<PciSpec>()) return false;
  if (const auto* port = spec.as<InterfaceSpec>())
    return !std::filesystem::exists("/sys/class/net/" + port->interface + "/device");
  const auto* raw = spec.as<RawSpec>();
  if (!raw) return true;
  constexpr std::array<std::string_view, 6> kVirtual = {"net_memif", "net_null", "net_pcap",
                                                        "net_ring",  "net_tap",  "net_vhost"};
  return std::ranges::find(kVirtual, raw->driver()) != kVirtual.end();
}

const InterfaceSpec* packet_port_of(const PortSpec& spec) noexcept {
  const auto* port = spec.as<InterfaceSpec>();
  return port && port->driver == Driver::packet_port ? port : nullptr;
}

Result<void> check_interface(const InterfaceSpec& port) {
  if (if_nametoindex(port.interface.c_str()) != 0) return {};
  if (const std::string interface = interface_of_device(port.interface); !interface.empty())
    return missing(
        fmt::format("`{}` is an RDMA device; its interface is `{}`", port.interface, interface));
  return missing(fmt::format("no interface `{}` here; there are: {}", port.interface,
                             fmt::join(interfaces(), ", ")));
}

std::optional<std::uint32_t> frame_limit(const PortSpec& spec) noexcept {
  // 64 B of the pool, 128 B of the buffer, 128 B and 256 B of headroom, and steps of 512 B.
  constexpr std::uint32_t kAfXdpFrame = 3328;
  const auto* port = spec.as<InterfaceSpec>();
  if (port && port->driver == Driver::af_xdp) return kAfXdpFrame;
  return std::nullopt;
}

Result<DeviceArguments> device_arguments(const PortSpec& spec, int ordinal,
                                         std::uint32_t frame_size) {
  return std::visit(Describe{spec, ordinal, frame_size}, spec.kind);
}

void add_files(const std::string& text, std::vector<NamedFile>& inputs,
               std::vector<NamedFile>& outputs) {
  const auto spec = parse_port_spec(text);
  const auto* files = spec ? spec->as<PcapSpec>() : nullptr;
  if (files == nullptr) return;
  inputs.push_back({fmt::format("port `{}`", text), files->in});
  outputs.push_back({fmt::format("port `{}`", text), files->out});
}

namespace {

/// Identifies a network interface by its index, because it may have several names.
std::string interface_identity(const std::string& name) {
  const unsigned index = if_nametoindex(name.c_str());
  return index == 0 ? "interface " + name : fmt::format("interface {}", index);
}

/// Returns one path for all names of a socket, even if it doesn't exist yet.
std::string one_name(const std::string& socket) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(socket)).string();
}

/// Returns an identity that is equal for all names of a device that only one port can use; empty
/// for other ports.
std::string identity_of(const PortSpec& spec) {
  if (const auto* port = spec.as<InterfaceSpec>()) return interface_identity(port->interface);
  if (const auto* port = spec.as<PciSpec>()) return "PCI device " + port->address;
  if (const auto* port = spec.as<MemifSpec>())
    return fmt::format("{} of {}", port->server ? "server" : "client", one_name(port->socket));
  if (const auto* port = spec.as<VhostSpec>()) return "socket " + one_name(port->socket);
  const auto* raw = spec.as<RawSpec>();
  if (raw == nullptr) return {};
  constexpr std::string_view kInterface = ",iface=";
  const auto at = raw->arguments.find(kInterface);
  if (at == std::string::npos || raw->driver() == "net_tap") return "device " + raw->device();
  const auto begin = at + kInterface.size();
  return interface_identity(raw->arguments.substr(begin, raw->arguments.find(',', begin) - begin));
}

}  // namespace

Result<void> check_distinct(std::span<const PortSpec> specs) {
  for (auto one = specs.begin(); one != specs.end(); ++one) {
    const std::string identity = identity_of(*one);
    for (auto other = specs.begin(); !identity.empty() && other != one; ++other)
      if (identity_of(*other) == identity)
        return fail(fmt::format("ports `{}` and `{}` are the same: expected a device for each",
                                other->text, one->text));
  }
  return {};
}

/// Binds an abstract socket with the device's name. It belongs to the process, and disappears with
/// it.
Result<PortClaims> PortClaims::claim(std::span<const PortSpec> specs) {
  PortClaims claims;
  for (const PortSpec& spec : specs) {
    const std::string identity = identity_of(spec);
    if (!identity.starts_with("interface ") && !identity.starts_with("PCI ")) continue;
    const std::string name = "longwire port " + identity;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int claim = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (claim < 0) continue;
    claims.sockets_.push_back(claim);
    if (bind(claim, reinterpret_cast<const sockaddr*>(&address), size) != 0 && errno == EADDRINUSE)
      return missing(fmt::format("port `{}`: {} uses {}", spec.text,
                                 holder_of_unix_socket("@" + name), identity));
  }
  return claims;
}

PortClaims::~PortClaims() {
  for (const int claim : sockets_) close(claim);
}

}  // namespace lw::nic
