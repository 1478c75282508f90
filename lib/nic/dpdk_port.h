// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/counter.h"
#include "nic/frame_stamps.h"
#include "nic/port_backend.h"

namespace lw::nic {

/// Returns DPDK's number of the device that `spec` names, after probing it: not for a port through
/// packet sockets. Errors (environment) quote DPDK and say how to bind a PCI device.
Result<std::uint16_t> probe_device(const Eal& eal, const PortSpec& spec, const Pool& pool);

/// A device of DPDK.
class DpdkPort : public PortBackend {
 public:
  /// `id` is from probe_device(). The device is closed when the object is destroyed.
  DpdkPort(std::uint16_t id, const PortSpec& spec);
  ~DpdkPort() override;

  /// Sets up queues and starts the device; see Port::open().
  Result<void> configure(const Eal& eal, const Pool& pool, const PortConfig& config);

  std::size_t receive(std::span<rte_mbuf*> out) noexcept override;
  /// Refuses frames that are longer than the port's frame_limit().
  std::size_t send(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept override;
  [[nodiscard]] std::optional<std::uint16_t> device() const noexcept override { return id_; }
  [[nodiscard]] bool has_direct_bursts() const noexcept override {
    return send_limit_ == 0 && !arrivals_;
  }
  [[nodiscard]] bool has_stamps() const noexcept override { return arrivals_.has_value(); }
  [[nodiscard]] std::span<const std::int64_t> stamps() const noexcept override;
  [[nodiscard]] std::optional<Duration> stamp_uncertainty() const noexcept override;

  [[nodiscard]] bool link_up() const noexcept override;
  [[nodiscard]] Port::LinkState link_state() const noexcept override;
  bool set_link(bool up) noexcept override;
  [[nodiscard]] std::optional<double> link_bps() const override;
  [[nodiscard]] std::optional<TimedSending> timed_sending() const override;
  [[nodiscard]] std::array<std::byte, 6> mac_address() const noexcept override;
  [[nodiscard]] PortStats stats() const override;

 protected:
  [[nodiscard]] std::uint16_t id() const noexcept { return id_; }
  [[nodiscard]] bool is_started() const noexcept { return started_; }
  /// Starts the device; returns DPDK's code.
  int start() noexcept;
  void stop() noexcept;
  /// Stops and closes the device: completes files, takes the link down.
  void close() noexcept;

 private:
  /// True if the device may start only when its other side is there.
  [[nodiscard]] virtual bool may_start_later() const noexcept { return false; }
  void check_output(const rte_eth_stats& sent) const noexcept;
  void receive_all() noexcept;
  void count_arrivals_in_device_clock();
  [[nodiscard]] std::optional<DeviceClock> device_clock() const;
  void restore_interface() noexcept;
  /// The flags and the MTU of a Linux interface, which DPDK's drivers change.
  struct InterfaceState {
    NetworkInterface interface;
    bool is_promiscuous;
    std::optional<std::uint32_t> mtu, mtu_of_driver = {};  // before, and as the driver left it
  };

  static constexpr std::uint16_t kClosed = RTE_MAX_ETHPORTS;
  std::uint16_t id_;
  bool pci_;
  bool started_ = false;
  std::uint32_t send_limit_;  // longest frame, in bytes; 0: none
  Counter too_long_;          // frames longer than send_limit_
  int time_field_ = -1;       // offset in buffers; -1: the device sends at once
  std::uint64_t time_flag_ = 0;
  bool stamps_by_libpcap_ = false;        // DPDK's pcap driver, of an interface
  std::optional<FrameStamps> arrivals_;   // if the driver stamps frames
  std::optional<InterfaceState> before_;  // of a Linux interface, before the device was configured
  std::optional<AllFrames> all_frames_;   // likewise
  std::string name_;
  std::string output_;  // capture file that DPDK writes, or empty
};

}  // namespace lw::nic
