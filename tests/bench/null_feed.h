// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <vector>

#include <rte_mbuf.h>

#include "bench/impair_feed.h"
#include "impair/datapath/ports.h"

namespace lw::bench {

/// Opens null ports on both sides whose buffers, sized for `profile`, hold RoCE frames of `bytes`
/// of `qps` queue pairs. net_null sets a buffer's length and keeps its bytes, so each buffer of the
/// pool is filled once.
inline Result<impair::Ports> null_feed(const config::ImpairProfile& profile,
                                       impair::RunConfig& config, unsigned bytes, unsigned qps) {
  const std::string null = fmt::format("size={}", bytes);
  config.west = *nic::parse_port_spec("net_null0," + null);
  config.east = *nic::parse_port_spec("net_null1," + null);
  auto ports = impair::open_ports(profile, config);
  if (!ports) return ports;
  std::vector<std::vector<std::byte>> frames;
  for (std::uint32_t qp = 0; qp < qps; ++qp) frames.push_back(frame_of(bytes, 0x100 + qp, qp));
  rte_mempool_obj_iter(
      ports->pool.get(),
      [](rte_mempool*, void* given, void* object, unsigned index) {
        const auto& all = *static_cast<const std::vector<std::vector<std::byte>>*>(given);
        const auto* buffer = static_cast<const rte_mbuf*>(object);
        const auto& frame = all[index % all.size()];
        std::memcpy(static_cast<char*>(buffer->buf_addr) + RTE_PKTMBUF_HEADROOM, frame.data(),
                    frame.size());
      },
      &frames);
  return ports;
}

}  // namespace lw::bench
