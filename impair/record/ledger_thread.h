// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/counter.h"
#include "emulator/ledger.h"

namespace lw::impair {

/// Takes a ledger's writing off the data path: records go through a ring a direction to a thread of
/// their own. When that can't keep up, records are skipped and counted; the data path never waits.
class LedgerThread : public emulator::LedgerSink {
 public:
  /// `sink` is written to by the thread alone, and must outlive it.
  explicit LedgerThread(emulator::LedgerSink& sink);
  ~LedgerThread() override { finish(); }

  /// Records of one direction, in whose thread this is called.
  void write(std::span<const emulator::LedgerRecord> records) override;
  /// Waits until everything that was taken is written. Nothing may be written afterwards.
  void finish();
  [[nodiscard]] std::uint64_t skipped() const noexcept {
    return lanes_[0].skipped.get() + lanes_[1].skipped.get();
  }

 private:
  static constexpr std::size_t kRoom = std::size_t{1} << 17;
  struct Link {
    std::vector<emulator::LedgerRecord> ring;
    // Run freely; masked on use.
    alignas(64) std::atomic<std::size_t> written{0};
    alignas(64) std::atomic<std::size_t> taken{0};
    Counter skipped;
  };

  void work(const std::stop_token& stop);
  bool write_some();
  bool write_some_of(Link& link);

  emulator::LedgerSink* sink_;
  std::array<Link, 2> lanes_;
  std::jthread thread_;
};

}  // namespace lw::impair
