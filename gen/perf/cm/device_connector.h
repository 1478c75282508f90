// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "gen/perf/cm/connected.h"
#include "gen/perf/session/handover_link.h"

namespace lw::gen {

/// Connections to the QPs of an RDMA device: `roce-endpoint serve` there creates them and hands
/// them over by TCP (gen/perf/session/handover.h), through the kernel's network; their frames pass
/// the endpoint's port.
class DeviceConnector final : public Connector {
 public:
  struct Config {
    std::string where;  // HOST:PORT of the hand-over
    std::string token;
    bool checked = true;  // the messages have the pattern that the server checks
    Duration timeout{};   // of each step
    std::optional<wire::MacAddress> mac = {};  // of the device, or of the gateway to it
  };
  /// `endpoint`, `port` (the endpoint's) and `stop` outlive it.
  DeviceConnector(Endpoint& endpoint, FramePort& port, Config config, const std::atomic<bool>& stop)
      : endpoint_(endpoint), port_(port), config_(std::move(config)), stop_(stop) {}

  /// Errors also (environment): nobody listens there; the device's address is of the other family,
  /// or its GID of the other encapsulation, than the port's; nobody answers for it.
  Result<std::vector<Connected>> connect(const SessionParams& params, const transport::QpConfig& qp,
                                         std::uint32_t count) override;
  [[nodiscard]] bool to_device() const noexcept override { return true; }
  Result<void> check() override { return client_->check(); }
  /// Waits for the server's report. Its failure is an error (failed).
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
