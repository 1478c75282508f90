// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/equipment.h"

#include <utility>
#include <vector>

#include "impair/datapath/mbuf_access.h"
#include "impair/datapath/sizing.h"

namespace lw::impair {

Result<Equipment> open_equipment(const config::ImpairProfile& profile, const RunConfig& config) {
  const Sizing sizing = size_for(profile);
  const std::vector<nic::PortSpec> specs = {config.west, config.east};
  const bool in_eal = needs_eal_memory(config.west) || needs_eal_memory(config.east);
  const std::uint64_t eal_bytes = (in_eal ? sizing.buffer_bytes : 0) + sizing.buffers * 16ULL;
  nic::EalConfig eal_config{.ports = specs,
                            .cores = {},
                            .memory_mib = static_cast<std::uint32_t>(64 + (eal_bytes >> 20)),
                            .verbose = config.verbose,
                            .telemetry = config.telemetry,
                            .file_prefix = config.file_prefix};
  if (config.core) eal_config.cores = {*config.core};
  auto eal = nic::Eal::start(eal_config);
  if (!eal) return std::unexpected(eal.error());
  if (!MbufAccess::make_room())
    return fail("DPDK has no room left in its buffers for what is known of a frame",
                ExitCode::environment);
  auto pool = nic::Pool::create("frames", {.buffers = sizing.buffers,
                                           .frame_size = profile.capacity.largest_frame,
                                           .eal_memory = in_eal});
  if (!pool) return std::unexpected(pool.error());
  auto west = nic::Port::open(*eal, config.west, *pool);
  if (!west) return std::unexpected(west.error());
  auto east = nic::Port::open(*eal, config.east, *pool);
  if (!east) return std::unexpected(east.error());
  return Equipment{std::move(*eal), std::move(*pool), std::move(*west), std::move(*east)};
}

}  // namespace lw::impair
