// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "gen/perf/cm/connected.h"
#include "gen/perf/session/handover_link.h"

namespace lw::gen {

/// Connects to the QPs of an RDMA device. `roce-endpoint serve` on the device's host creates the
/// QPs and describes them over TCP (gen/perf/session/handover.h), through the kernel's network; the
/// RDMA frames pass the endpoint's port.
class DeviceConnector final : public Connector {
 public:
  struct Config {
    std::string where;  // HOST:PORT of the TCP connection
    std::string token;
    bool checked = true;  // the messages have the pattern, which the server checks
    Duration timeout{};   // of each step
    std::optional<wire::MacAddress> mac = {};  // MAC address of the device, or of the gateway to it
  };
  /// `endpoint`, its `port` and `stop` must outlive it.
  DeviceConnector(Endpoint& endpoint, FramePort& port, Config config, const std::atomic<bool>& stop)
      : endpoint_(endpoint), port_(port), config_(std::move(config)), stop_(stop) {}

  /// Further errors (environment): no server listens there; the device's address has another family
  /// than the port's, or its GID another encapsulation; the device's MAC address can't be resolved.
  Result<std::vector<Connected>> connect(const SessionParams& params, const transport::QpConfig& qp,
                                         std::uint32_t count) override;
  [[nodiscard]] bool to_device() const noexcept override { return true; }
  Result<void> check() override { return client_->check(); }
  /// Waits for the server's report. Error (failed): the report states a failure.
  Result<void> disconnect(std::vector<Connected>& connected) override;

 private:
  [[nodiscard]] handover::Hello hello_of(const SessionParams& params, const transport::QpConfig& qp,
                                         std::uint32_t count);
  Result<OwnAddress> device_at(const wire::Ipv6Address& gid);

  Endpoint& endpoint_;
  FramePort& port_;
  Config config_;
  const std::atomic<bool>& stop_;
  std::optional<handover::Client> client_;
};

}  // namespace lw::gen
