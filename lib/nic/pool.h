// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"

struct rte_mempool;

namespace lw::nic {

struct PoolConfig {
  std::uint32_t buffers = 8192;
  std::uint32_t frame_size = 9600;  // the largest frame that one buffer must hold, without FCS
  bool eal_memory = false;          // see needs_eal_memory()
};

/// Packet buffers. Packed back to back in anonymous memory with huge pages asked for, unless a
/// device needs them in EAL's: the usual pool puts one buffer into each 4 KiB page of ordinary
/// memory, which halves the rate (measured: 51-59 Mpps against 112-125).
class Pool {
 public:
  /// Errors (environment): not enough memory, with how much was asked for.
  static Result<Pool> create(const std::string& name, const PoolConfig& config);

  Pool(Pool&&) noexcept = default;
  Pool& operator=(Pool&&) noexcept = default;
  ~Pool() = default;

  [[nodiscard]] rte_mempool* get() const noexcept { return pool_.get(); }
  [[nodiscard]] const PoolConfig& config() const noexcept { return config_; }
  /// Buffers that nobody holds now. Not cheap: for reports.
  [[nodiscard]] std::uint32_t available() const noexcept;

  /// What one buffer takes, bookkeeping included, and so `buffers` of them.
  static std::uint64_t bytes_needed(const PoolConfig& config) noexcept;

 private:
  struct Free {
    void operator()(rte_mempool* pool) const noexcept;
  };
  Pool(rte_mempool* pool, const PoolConfig& config) : pool_(pool), config_(config) {}

  std::unique_ptr<rte_mempool, Free> pool_;
  PoolConfig config_;
};

}  // namespace lw::nic
