// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "gen/perf/cm/connected.h"

namespace lw::gen {

/// Writes records into a ring of the peer's memory, one WRITE ONLY each: record n goes to slot n
/// modulo the slots. Every n-th may carry an immediate, its low 32 bits, which wakes the reader.
/// The peer's ACKs hold the writer back: it has as many records in flight as the QP's send queue.
class RecordWriter final : public transport::Application {
 public:
  /// The connection outlives it; its slots are at least as many as its send queue has room for.
  /// `immediate_every`: 0: none has an immediate.
  RecordWriter(const Connected& connected, std::uint32_t immediate_every);

  /// Memory for the next record; empty while the send queue is full.
  [[nodiscard]] std::span<std::byte> place() noexcept;
  /// Sends the record in place().
  void post(Instant now);

  [[nodiscard]] bool idle() const noexcept { return completed_ + failed_ >= posted_; }
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }
  /// Records whose WRITE failed, and why the first did.
  [[nodiscard]] std::uint64_t failed() const noexcept { return failed_; }
  [[nodiscard]] transport::Status failure() const noexcept { return failure_; }

  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

 private:
  Connection& connection_;
  MemoryLayout layout_;
  RemoteMemory remote_;
  std::uint32_t size_, immediate_every_;
  std::uint64_t posted_ = 0, completed_ = 0, failed_ = 0;
  transport::Status failure_ = transport::Status::success;
};

}  // namespace lw::gen
