// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/counter.h"
#include "path/ledger.h"

namespace lw::impair {

/// Takes a ledger's writing off the data path: records go through a ring to a thread of their own.
/// When that can't keep up, records are skipped and counted; the data path never waits.
class LedgerThread : public path::LedgerSink {
 public:
  /// `sink` is written to by the thread alone, and must outlive it.
  explicit LedgerThread(path::LedgerSink& sink);
  ~LedgerThread() override { finish(); }

  void write(std::span<const path::LedgerRecord> records) override;
  /// Waits until everything that was taken is written. Nothing may be written afterwards.
  void finish();
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_.get(); }

 private:
  static constexpr std::size_t kRoom = std::size_t{1} << 17;
  void work(const std::stop_token& stop);
  bool write_some();

  path::LedgerSink* sink_;
  std::vector<path::LedgerRecord> ring_;
  std::atomic<std::size_t> written_{0}, taken_{0};  // run freely; masked on use
  Counter skipped_;
  std::jthread thread_;
};

}  // namespace lw::impair
