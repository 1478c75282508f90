// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/ground.h"

namespace lw::gen {

Result<std::unique_ptr<Ground>> Ground::open(const EndpointOptions& options,
                                             const OwnAddress& own) {
  constexpr std::uint16_t kDeepRing = 4096;  // a burst of a deep window must find room
  auto ports = Ports::open({options.port}, options.verbose,
                           {.port = {.receive_ring = kDeepRing}, .sends_flows = false, .cores = 1});
  if (!ports) return std::unexpected(ports.error());
  std::unique_ptr<Ground> ground(new Ground(std::move(*ports)));
  if (!options.pcap.empty()) {
    auto copy = capture::Writer::create(options.pcap, capture::format_for(options.pcap));
    if (!copy) return std::unexpected(copy.error());
    ground->copy_.emplace(std::move(*copy));
  }
  capture::Writer* copy = ground->copy_ ? &*ground->copy_ : nullptr;
  ground->port_.emplace(ground->ports_.all().front(), ground->ports_.pool(), own, copy);
  ground->endpoint_.emplace(*ground->port_, options.idle);
  return ground;
}

Result<void> Ground::close() {
  if (auto flushed = port_->flush(); !flushed) return flushed;
  ports_.drain();
  return copy_ ? copy_->close() : Result<void>{};
}

}  // namespace lw::gen
