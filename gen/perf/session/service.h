// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/session/contents.h"
#include "gen/perf/session/places.h"
#include "gen/receive/sequence_tracker.h"

namespace lw::gen {

/// The responder's part on one connection: memory filled for READs, receives for SENDs, every
/// message that arrives looked at byte by byte, and answered where the terms say echo.
class Service : public Application {
 public:
  /// `connection` is fresh, with Places::region(terms) of memory, and outlives the service.
  Service(Connection& connection, const Terms& terms);

  void on_completion(Connection& connection, const transport::Completion& done) override;

  [[nodiscard]] Findings findings() const noexcept;
  [[nodiscard]] const Terms& terms() const noexcept { return terms_; }
  /// Payload of the messages that arrived.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void post_receive(std::uint64_t number);
  void check(const transport::Completion& arrival);
  [[nodiscard]] bool is_next();
  [[nodiscard]] bool is_some(const transport::Completion& arrival);
  void echo();

  Connection& connection_;
  Terms terms_;
  Places places_;
  Contents theirs_, ours_;
  SequenceTracker numbers_;   // of messages that may be lost
  std::uint64_t copies_ = 0;  // of them, that came before
  std::uint64_t arrived_ = 0, wrong_ = 0, bytes_ = 0;
};

}  // namespace lw::gen
