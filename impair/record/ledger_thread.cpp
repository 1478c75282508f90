// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/ledger_thread.h"

#include <algorithm>
#include <chrono>

namespace lw::impair {

LedgerThread::LedgerThread(emulator::LedgerSink& sink) : sink_(&sink) {
  for (Link& link : lanes_) link.ring.resize(kRoom);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void LedgerThread::write(std::span<const emulator::LedgerRecord> records) {
  if (records.empty()) return;
  Link& link = lanes_[static_cast<std::size_t>(records.front().direction)];
  const std::size_t written = link.written.load(std::memory_order_relaxed);
  const std::size_t room = kRoom - (written - link.taken.load(std::memory_order_acquire));
  const std::size_t count = std::min(room, records.size());
  for (std::size_t i = 0; i < count; ++i) link.ring[(written + i) % kRoom] = records[i];
  link.written.store(written + count, std::memory_order_release);
  if (count < records.size()) link.skipped.add(records.size() - count);
}

bool LedgerThread::write_some_of(Link& link) {
  const std::size_t taken = link.taken.load(std::memory_order_relaxed);
  const std::size_t waiting = link.written.load(std::memory_order_acquire) - taken;
  if (waiting == 0) return false;
  const std::size_t start = taken % kRoom;
  const std::size_t count = std::min(waiting, kRoom - start);
  sink_->write(std::span(link.ring).subspan(start, count));
  link.taken.store(taken + count, std::memory_order_release);
  return true;
}

bool LedgerThread::write_some() {
  const bool first = write_some_of(lanes_[0]);
  return write_some_of(lanes_[1]) || first;
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
