// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "gen/perf/cm/connected.h"

namespace lw::gen {

/// Writes records into a ring in the peer's memory, with one WRITE ONLY each: record n goes to slot
/// n modulo the number of slots. Every n-th record may carry an immediate, the low 32 bits of its
/// number, which wakes the reader. The peer's ACKs limit the writer: the send queue of the QP
/// limits the records in flight.
class RecordWriter final : public transport::Application {
 public:
  /// `connected.connection` must outlive it. It has at least as many slots as its send queue has
  /// room for. `immediate_every`: 0: no immediates.
  RecordWriter(const Connected& connected, std::uint32_t immediate_every);

  /// Returns the memory for the next record; empty while the send queue is full.
  [[nodiscard]] std::span<std::byte> place() noexcept;
  /// Sends the record that was written into place().
  void post(Instant now);

  [[nodiscard]] bool idle() const noexcept { return completed_ + failed_ >= posted_; }
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }
  /// Number of records whose WRITE failed, and the reason of the first failure.
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
