// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/send_buffers.h"

#include <fmt/format.h>
#include <rte_errno.h>

namespace lw::gen {

static_assert(SendBuffers::kPayloadAt >= FrameTemplate::kHeadroom);
static_assert(SendBuffers::kPayloadAt + FrameTemplate::kTailroom <=
              RTE_PKTMBUF_HEADROOM + SendBuffers::kUsual.frame_size);

Result<SendBuffers> SendBuffers::create(const std::string& name, const nic::PoolConfig& config) {
  constexpr rte_mbuf_dynfield kImprint = {.name = "longwire_imprint",
                                          .size = sizeof(BufferTag),
                                          .align = alignof(BufferTag),
                                          .flags = 0};
  const int offset = rte_mbuf_dynfield_register(&kImprint);
  if (offset < 0) {
    return fail(fmt::format("no room for a field in DPDK's buffers: {}", rte_strerror(rte_errno)),
                ExitCode::environment);
  }
  auto pool = nic::Pool::create(name, config);
  if (!pool) return std::unexpected(pool.error());
  return SendBuffers(std::move(*pool), offset);
}

/// rte_pktmbuf_alloc() would set fields that are right already: whoever frees a buffer leaves it
/// with one reference, one segment and no next.
std::size_t SendBuffers::take(std::span<rte_mbuf*> out) noexcept {
  auto** objects = reinterpret_cast<void**>(out.data());
  if (rte_mempool_get_bulk(pool_.get(), objects, static_cast<unsigned>(out.size())) == 0) {
    return out.size();
  }
  std::size_t taken = 0;
  while (taken < out.size() && rte_mempool_get(pool_.get(), objects + taken) == 0) ++taken;
  return taken;
}

}  // namespace lw::gen
