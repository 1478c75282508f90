// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/session/endpoint.h"
#include "gen/receive/sequence_tracker.h"

namespace lw::gen {

/// The responder's application on one connection: fills memory for READs, posts receives for SENDs,
/// checks every byte of each message, and echoes it if the parameters say so.
class Service : public transport::Application {
 public:
  /// `connection` is new, has MemoryLayout::region(params) of memory, and outlives the service.
  Service(Connection& connection, const SessionParams& params);

  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

  [[nodiscard]] ServerStats stats() const noexcept;
  [[nodiscard]] const SessionParams& params() const noexcept { return params_; }
  /// Payload bytes of the received messages.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void post_receive(std::uint64_t number);
  void check(const transport::Completion& arrival);
  [[nodiscard]] bool is_next();
  [[nodiscard]] bool is_some(const transport::Completion& arrival);
  void echo();

  Connection& connection_;
  SessionParams params_;
  MemoryLayout layout_;
  PayloadPattern received_pattern_, sent_pattern_;
  SequenceTracker numbers_;   // of received messages, if lossy()
  std::uint64_t copies_ = 0;  // of them, duplicates
  std::uint64_t arrived_ = 0, wrong_ = 0, bytes_ = 0;
};

}  // namespace lw::gen
