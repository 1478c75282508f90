// SPDX-License-Identifier: BSD-3-Clause
#include "impair/ledger/ledger_thread.h"

#include <algorithm>
#include <chrono>

namespace lw::impair {

LedgerThread::LedgerThread(path::LedgerSink& sink)
    : sink_(&sink), ring_(kRoom), thread_([this](const std::stop_token& stop) { work(stop); }) {}

void LedgerThread::write(std::span<const path::LedgerRecord> records) {
  const std::size_t written = written_.load(std::memory_order_relaxed);
  const std::size_t room = kRoom - (written - taken_.load(std::memory_order_acquire));
  const std::size_t count = std::min(room, records.size());
  for (std::size_t i = 0; i < count; ++i) ring_[(written + i) % kRoom] = records[i];
  written_.store(written + count, std::memory_order_release);
  if (count < records.size()) skipped_.add(records.size() - count);
}

bool LedgerThread::write_some() {
  const std::size_t taken = taken_.load(std::memory_order_relaxed);
  const std::size_t waiting = written_.load(std::memory_order_acquire) - taken;
  if (waiting == 0) return false;
  const std::size_t start = taken % kRoom;
  const std::size_t count = std::min(waiting, kRoom - start);
  sink_->write(std::span(ring_).subspan(start, count));
  taken_.store(taken + count, std::memory_order_release);
  return true;
}

void LedgerThread::work(const std::stop_token& stop) {
  // The ring holds a tenth of a second at a million records a second: looking now and then will do.
  while (!stop.stop_requested())
    if (!write_some()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  while (write_some()) {
  }
}

void LedgerThread::finish() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

}  // namespace lw::impair
