// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/device.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gen/perf/session/handover.h"

namespace lw::gen::endpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t kPortNumber = 1;

struct DeviceList {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  DeviceList() = default;
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() {
    if (list != nullptr) ibv_free_device_list(list);
  }
  /// Returns the device of this name or, for an empty name, the only device; null if there is none.
  [[nodiscard]] ibv_device* find(const std::string& name) const noexcept {
    if (name.empty()) return count == 1 ? list[0] : nullptr;
    for (int i = 0; i < count; ++i)
      if (name == ibv_get_device_name(list[i])) return list[i];
    return nullptr;
  }
};

wire::Ipv6Address to_gid(const ibv_gid& raw) noexcept {
  wire::Ipv6Address gid;
  std::memcpy(gid.bytes.data(), raw.raw, gid.bytes.size());
  return gid;
}

std::vector<PortGid> gids_of(ibv_context* context) {
  std::array<ibv_gid_entry, 256> entries{};
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  std::vector<PortGid> gids;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<std::size_t>(i)];
    if (entry.port_num != kPortNumber || entry.gid_index > 255) continue;
    gids.push_back({.index = static_cast<std::uint8_t>(entry.gid_index),
                    .gid = to_gid(entry.gid),
                    .rocev2 = entry.gid_type == IBV_GID_TYPE_ROCE_V2});
  }
  return gids;
}

std::string list_of(const std::vector<PortGid>& gids) {
  std::vector<std::string> lines;
  for (const PortGid& each : gids)
    lines.push_back(fmt::format("{}: {} ({})", each.index, wire::to_string(each.gid),
                                each.rocev2 ? "RoCEv2" : "RoCEv1"));
  return lines.empty() ? "none" : fmt::format("{}", fmt::join(lines, ", "));
}

bool is_link_local(const wire::Ipv6Address& gid) noexcept {
  return gid.bytes[0] == std::byte{0xfe} && gid.bytes[1] == std::byte{0x80};
}

/// Adds the counters in a folder's files.
void add_counters(const fs::path& folder, Counters& counters) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::ifstream file(entry.path());  // "/sys/class/infiniband/..."
    std::uint64_t value = 0;
    if (file >> value) counters.emplace(entry.path().filename().string(), value);
  }
}

}  // namespace

std::string last_error() { return std::strerror(errno); }

std::vector<std::string> devices_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string interface_of(const fs::path& device) {
  std::ifstream file(device / "ports/1/gid_attrs/ndevs/0");  // "/sys/class/infiniband/..."
  std::string name;
  file >> name;
  return name;
}

Error no_device(const std::string& wanted, const fs::path& folder) {
  const auto names = devices_in(folder);
  const std::string searched =
      fmt::format("libibverbs and {} were searched, which {}", folder.string(),
                  !fs::exists(folder) ? "does not exist"
                  : names.empty()     ? "is empty"
                                      : fmt::format("has {}", fmt::join(names, ", ")));
  if (wanted.empty() && names.size() > 1)
    return {fmt::format("several RDMA devices: pass one with --device: {}", fmt::join(names, ", ")),
            ExitCode::usage};
  return {fmt::format("no RDMA device{}: {}. Linux soft-RoCE makes one of a network interface: "
                      "`modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0`; "
                      "user space needs the package ibverbs-providers",
                      wanted.empty() ? "" : fmt::format(" \"{}\"", wanted), searched),
          ExitCode::environment};
}

Counters read_counters(const fs::path& device) {
  Counters counters;
  add_counters(device / "ports/1/hw_counters", counters);
  add_counters(device / "ports/1/counters", counters);
  return counters;
}

Counters risen(const Counters& before, const Counters& after) {
  Counters change;
  for (const auto& [name, value] : after) {
    const auto was = before.find(name);
    if (was != before.end() && value > was->second) change[name] = value - was->second;
  }
  return change;
}

Device::Device(Context context, std::string name, std::optional<std::uint64_t> gid)
    : context_(std::move(context)), name_(std::move(name)), wanted_gid_(gid) {}

Result<Device> Device::open(const DeviceOptions& options) {
  const DeviceList devices;
  ibv_device* found = devices.find(options.name);
  if (found == nullptr) return std::unexpected(no_device(options.name, kDeviceFolder));
  Context context(ibv_open_device(found));
  const std::string name = ibv_get_device_name(found);
  if (!context)
    return fail(fmt::format("{} can't be opened: {}; are /dev/infiniband/uverbs* accessible?", name,
                            last_error()),
                ExitCode::environment);
  Device device(std::move(context), name, options.gid);
  if (auto active = device.look_at_port(); !active) return std::unexpected(active.error());
  return device;
}

Result<void> Device::look_at_port() {
  if (ibv_query_device(context(), &limits_) != 0 ||
      ibv_query_port(context(), kPortNumber, &port_) != 0)
    return fail(fmt::format("{} can't be queried: {}", name_, last_error()), ExitCode::environment);
  const std::string netdev = interface_of(fs::path(kDeviceFolder) / name_);
  const std::string shown = netdev.empty() ? "its interface" : netdev;
  if (port_.state != IBV_PORT_ACTIVE)
    return fail(fmt::format("the port of {} is {}: `ip link set {} up`, and check the cable", name_,
                            ibv_port_state_str(port_.state), shown),
                ExitCode::environment);
  gids_ = gids_of(context());
  if (wanted_gid_ && std::ranges::find(gids_, *wanted_gid_,
                                       [](const PortGid& g) { return g.index; }) == gids_.end())
    return fail(
        fmt::format("--gid {}: {} has no such GID; it has {}. A GID appears with an address "
                    "of the interface: `ip address add ADDRESS dev {}`",
                    *wanted_gid_, name_, list_of(gids_), shown),
        ExitCode::environment);
  return {};
}

std::uint32_t Device::mtu() const noexcept { return 128u << port_.active_mtu; }

double Device::link_bps() const noexcept {
  // By the bits of active_speed (Gb/s: SDR, DDR, QDR, FDR10, FDR, EDR, HDR) and active_width.
  constexpr std::array<double, 7> kSpeeds = {2.5, 5, 10, 10, 14, 25, 50};
  constexpr std::array<double, 5> kWidths = {1, 4, 8, 12, 2};
  for (std::size_t s = 0; s < kSpeeds.size(); ++s)
    for (std::size_t w = 0; w < kWidths.size(); ++w)
      if (port_.active_speed == 1u << s && port_.active_width == 1u << w)
        return kSpeeds[s] * kWidths[w] * 1e9;
  return 0;
}

Counters Device::counters() const { return read_counters(fs::path(kDeviceFolder) / name_); }

Counters Device::fresh_counters() const {
  // The kernel reads hw_counters anew once their `lifespan` has passed, which it counts in ticks of
  // up to 10 ms.
  constexpr std::chrono::milliseconds kUsual{10}, kTick{10}, kMost{1000};
  const fs::path folder = fs::path(kDeviceFolder) / name_ / "ports/1/hw_counters";
  std::ifstream file(folder / "lifespan");  // "/sys/class/infiniband/..."
  std::uint64_t lifespan = 0;
  const auto wait =
      file >> lifespan && lifespan < 1000 ? std::chrono::milliseconds(lifespan) : kUsual;
  std::this_thread::sleep_for(std::min(wait + kTick, kMost));
  return counters();
}

Result<PortGid> Device::gid_for(const wire::IpAddress& own) const {
  const wire::Ipv6Address exact = wire::gid_of(own);
  const bool v4 = std::holds_alternative<wire::Ipv4Address>(own);
  const PortGid* best = nullptr;
  for (const PortGid& each : gids_) {
    if (wanted_gid_) {
      if (each.index == *wanted_gid_) return each;
      continue;
    }
    if (!each.rocev2) continue;
    if (each.gid == exact) return each;
    const bool each_v4 = std::holds_alternative<wire::Ipv4Address>(wire::ip_of(each.gid));
    if (best == nullptr && each_v4 == v4 && !is_link_local(each.gid)) best = &each;
  }
  if (best != nullptr) return *best;
  return fail(
      fmt::format("{} has no RoCEv2 GID for {}; it has {}: pass --gid, or give the interface "
                  "an address of that family",
                  name_, wire::to_string(own), list_of(gids_)),
      ExitCode::environment);
}

std::string Device::shown_address() const {
  auto gid = gid_for(wire::Ipv4Address{});
  if (!gid) gid = gid_for(wire::Ipv6Address{});
  if (!gid) return "HOST";
  const wire::IpAddress address = wire::ip_of(gid->gid);
  const bool v6 = std::holds_alternative<wire::Ipv6Address>(address);
  return v6 ? "[" + wire::to_string(address) + "]" : wire::to_string(address);
}

Result<std::uint16_t> Device::p_key_index(std::uint16_t p_key) const {
  if (p_key == wire::kDefaultPKey) return std::uint16_t{0};
  std::string found;
  for (std::uint16_t i = 0; i < port_.pkey_tbl_len; ++i) {
    std::uint16_t entry = 0;  // in network byte order
    if (ibv_query_pkey(context_.get(), 1, i, &entry) != 0 || entry == 0) continue;
    if (ntohs(entry) == p_key) return i;
    found += fmt::format("{}{:#06x}", found.empty() ? "" : ", ", ntohs(entry));
  }
  return fail(fmt::format("--p-key: {} has no P_Key {:#06x}, found {}", name_, p_key,
                          found.empty() ? "none" : found),
              ExitCode::environment);
}

Result<void> Device::check_mtu(std::uint32_t wanted) const {
  if (wanted <= mtu()) return {};
  const std::string netdev = interface_of(fs::path(kDeviceFolder) / name_);
  return fail(
      fmt::format("--mtu {}: the port of {} has {}; a larger one needs a larger MTU of the "
                  "interface, on both sides: `ip link set {} mtu {}`",
                  wanted, name_, mtu(), netdev.empty() ? "eth0" : netdev, wanted + 104));
}

namespace {

using EventChannel = std::unique_ptr<rdma_event_channel, Ended<rdma_destroy_event_channel>>;
using CmId = std::unique_ptr<rdma_cm_id, Ended<rdma_destroy_id>>;
using CmEvent = std::unique_ptr<rdma_cm_event, Ended<rdma_ack_cm_event>>;
using AddressInfo = std::unique_ptr<addrinfo, Ended<freeaddrinfo>>;

}  // namespace

std::string device_towards(const std::string& host) {
  constexpr int kResolveMs = 2000;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return "";
  const AddressInfo to(found);
  const EventChannel channel(rdma_create_event_channel());
  if (!channel) return "";
  rdma_cm_id* made = nullptr;
  if (rdma_create_id(channel.get(), &made, nullptr, RDMA_PS_TCP) != 0) return "";
  const CmId id(made);
  if (rdma_resolve_addr(id.get(), nullptr, to->ai_addr, kResolveMs) != 0) return "";
  rdma_cm_event* happened = nullptr;
  if (rdma_get_cm_event(channel.get(), &happened) != 0) return "";
  const CmEvent event(happened);
  if (event->event != RDMA_CM_EVENT_ADDR_RESOLVED || id->verbs == nullptr) return "";
  return ibv_get_device_name(id->verbs->device);
}

}  // namespace lw::gen::endpoint
