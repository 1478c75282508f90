// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "gen/perf/session/endpoint.h"
#include "gen/perf/session/options.h"
#include "gen/tx/ports.h"

namespace lw::gen {

/// What an endpoint stands on, opened and closed in the right order: the port, the copy of what
/// crosses it, and the endpoint itself.
class Ground {
 public:
  /// The link may still be down. Errors: the port's, the copy's.
  static Result<std::unique_ptr<Ground>> open(const EndpointOptions& options,
                                              const OwnAddress& own);

  Result<void> wait_link(Duration patience, const std::atomic<bool>& stop) {
    return ports_.wait_links(patience, stop);
  }
  /// Bits a second, where the port knows.
  [[nodiscard]] std::optional<double> link_bps() const { return ports_.all().front().link_bps(); }
  [[nodiscard]] Endpoint& endpoint() noexcept { return *endpoint_; }
  [[nodiscard]] FramePort& port() noexcept { return *port_; }
  /// Everything that was sent gets there, and the copy is complete.
  Result<void> close();

 private:
  explicit Ground(Ports ports) : ports_(std::move(ports)) {}
  std::optional<capture::Writer> copy_;
  Ports ports_;
  std::optional<FramePort> port_;
  std::optional<Endpoint> endpoint_;
};

}  // namespace lw::gen
