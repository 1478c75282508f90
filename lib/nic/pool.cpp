// SPDX-License-Identifier: BSD-3-Clause
#include "nic/pool.h"

#include <algorithm>
#include <sys/mman.h>

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "core/quantity.h"

namespace lw::nic {
namespace {

constexpr std::uint64_t kHugePage = 2 * 1024 * 1024;
// Free buffers cached per lcore, so that most bursts need no shared operation.
constexpr std::uint32_t kCache = 256;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint16_t data_size(std::uint32_t frame_size) {
  return static_cast<std::uint16_t>(RTE_PKTMBUF_HEADROOM + buffer_size(frame_size));
}

rte_pktmbuf_pool_private private_of(const PoolConfig& config) {
  rte_pktmbuf_pool_private data{};
  data.mbuf_data_room_size = data_size(config.frame_size);
  return data;
}

std::uint32_t element_size(const PoolConfig& config) {
  return static_cast<std::uint32_t>(sizeof(rte_mbuf)) + data_size(config.frame_size);
}

std::uint64_t stride_of(const PoolConfig& config) {
  return rte_mempool_calc_obj_size(element_size(config), 0, nullptr);
}

void unmap(rte_mempool_memhdr* chunk, void* length) {
  munmap(chunk->addr, reinterpret_cast<std::uintptr_t>(length));
}

/// Maps memory for all buffers and gives it to the pool, which unmaps it at the end.
int populate_packed(rte_mempool* pool, std::uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return -errno;
  madvise(memory, bytes, MADV_HUGEPAGE);  // a hint; ordinary pages work too
  const int populated =
      rte_mempool_populate_virt(pool, static_cast<char*>(memory), bytes, bytes, unmap,
                                reinterpret_cast<void*>(static_cast<std::uintptr_t>(bytes)));
  if (populated <= 0) munmap(memory, bytes);
  return populated;
}

rte_mempool* create_packed(const std::string& name, const PoolConfig& config) {
  rte_mempool* pool = rte_mempool_create_empty(
      name.c_str(), config.buffers, element_size(config), std::min(kCache, config.buffers * 2 / 3),
      sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
  if (!pool) return nullptr;
  auto private_data = private_of(config);
  rte_mempool_set_ops_byname(pool, "stack", nullptr);
  rte_pktmbuf_pool_init(pool, &private_data);
  if (populate_packed(pool, Pool::bytes_needed(config)) != static_cast<int>(config.buffers)) {
    rte_mempool_free(pool);
    rte_errno = ENOMEM;
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
}

rte_mempool* create_in_eal(const std::string& name, const PoolConfig& config) {
  return rte_pktmbuf_pool_create(name.c_str(), config.buffers,
                                 std::min(kCache, config.buffers * 2 / 3), 0,
                                 data_size(config.frame_size), SOCKET_ID_ANY);
}

}  // namespace

Result<Pool> Pool::create(const std::string& name, const PoolConfig& config) {
  rte_mempool* pool = config.eal_memory ? create_in_eal(name, config) : create_packed(name, config);
  if (!pool)
    return fail(
        fmt::format("no memory for {} buffers of {} B ({}): {}", config.buffers, config.frame_size,
                    format_bytes(static_cast<double>(bytes_needed(config))),
                    rte_strerror(rte_errno)),
        ExitCode::environment);
  return Pool(pool, config);
}

void Pool::Free::operator()(rte_mempool* pool) const noexcept { rte_mempool_free(pool); }

std::uint32_t Pool::available() const noexcept { return rte_mempool_avail_count(pool_.get()); }

std::uint64_t Pool::bytes_needed(const PoolConfig& config) noexcept {
  return round_up(stride_of(config) * config.buffers + kHugePage, kHugePage);
}

}  // namespace lw::nic
