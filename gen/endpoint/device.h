// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <infiniband/verbs.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "wire/address.h"

namespace lw::gen::endpoint {

/// Deleter that calls the verbs function `kEnd`.
template <auto kEnd>
struct Ended {
  template <class T>
  void operator()(T* object) const noexcept {
    kEnd(object);
  }
};
using Context = std::unique_ptr<ibv_context, Ended<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Ended<ibv_dealloc_pd>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, Ended<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Ended<ibv_destroy_cq>>;
using QueuePair = std::unique_ptr<ibv_qp, Ended<ibv_destroy_qp>>;
using MemoryRegion = std::unique_ptr<ibv_mr, Ended<ibv_dereg_mr>>;
using AddressHandle = std::unique_ptr<ibv_ah, Ended<ibv_destroy_ah>>;

/// The folder in which the kernel lists RDMA devices.
inline constexpr const char* kDeviceFolder = "/sys/class/infiniband";

/// Returns the names of the devices in this folder, sorted.
std::vector<std::string> devices_in(const std::filesystem::path& folder);
/// Returns the error (environment) for a device that can't be found: what was searched, which
/// devices exist, and how to create one. `wanted` is empty if any device would do.
Error no_device(const std::string& wanted, const std::filesystem::path& folder);
/// Returns the network interface of a device; empty if unknown.
std::string interface_of(const std::filesystem::path& device);

using Counters = std::map<std::string, std::uint64_t>;
/// Reads the hardware counters of a device's first port, from hw_counters/ and counters/ in its
/// folder. Omits counters that can't be read.
Counters read_counters(const std::filesystem::path& device);
/// Returns the counters that increased from `before` to `after`, and their increase.
Counters risen(const Counters& before, const Counters& after);

/// A GID of a port, with its index.
struct PortGid {
  std::uint8_t index = 0;
  wire::Ipv6Address gid;
  bool rocev2 = false;
};

/// The device and the GID that an endpoint uses.
struct DeviceOptions {
  std::string name;                  // empty: the only device
  std::optional<std::uint64_t> gid;  // GID index; empty: selected by address
};

/// An open RDMA device with an active port 1.
class Device {
 public:
  /// Opens a device. Errors (environment): no such device, a port that is down, a GID index without
  /// a GID. The message names the command that helps.
  static Result<Device> open(const DeviceOptions& options);

  [[nodiscard]] ibv_context* context() const noexcept { return context_.get(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const ibv_device_attr& limits() const noexcept { return limits_; }
  /// Active MTU in bytes.
  [[nodiscard]] std::uint32_t mtu() const noexcept;
  /// The counters as the kernel read them last, which may be some milliseconds ago.
  [[nodiscard]] Counters counters() const;
  /// The counters of now. Waits until what the kernel read before has expired.
  [[nodiscard]] Counters fresh_counters() const;
  /// Link rate in bit/s; 0: unknown.
  [[nodiscard]] double link_bps() const noexcept;

  /// Returns the GID to use with a peer: the configured one, else the one of the own address `own`,
  /// else one of the peer's address family. RoCEv2 only. Error (environment): there is none; the
  /// message lists the existing GIDs.
  [[nodiscard]] Result<PortGid> gid_for(const wire::IpAddress& own) const;
  /// Returns an address at which peers reach the device, for display.
  [[nodiscard]] std::string shown_address() const;
  /// Checks a requested path MTU. Error (usage): it is larger than the port's.
  [[nodiscard]] Result<void> check_mtu(std::uint32_t mtu) const;
  /// Returns the index of a P_Key in the port's table; that of the default one is 0. Error
  /// (environment): it is not there; the message lists the table.
  [[nodiscard]] Result<std::uint16_t> p_key_index(std::uint16_t p_key) const;

 private:
  Device(Context context, std::string name, std::optional<std::uint64_t> gid);
  [[nodiscard]] Result<void> look_at_port();

  Context context_;
  std::string name_;
  std::optional<std::uint64_t> wanted_gid_;
  ibv_device_attr limits_{};
  ibv_port_attr port_{};
  std::vector<PortGid> gids_;
};

/// Returns the device on the route to `host`, as rdma_cm's address resolution finds it; empty if
/// unknown.
std::string device_towards(const std::string& host);

/// Returns the text for errno after a failed verb: "Cannot allocate memory".
std::string last_error();

}  // namespace lw::gen::endpoint
