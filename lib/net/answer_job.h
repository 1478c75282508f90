// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "net/request_server.h"
#include "net/workers.h"

namespace lw::net {

/// Ends a poll(2) of another thread.
class Wake {
 public:
  /// Throws std::system_error if there is no descriptor for it.
  Wake();
  void signal() const noexcept;
  /// Until the next signal(), poll(2) does not see it.
  void clear() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return event_.descriptor(); }

 private:
  Socket event_;
};

/// Makes an answer, or the next event where there is no request; then wakes the server.
class AnswerJob final : public Job {
 public:
  struct Request {
    std::string text, peer;
  };
  AnswerJob(const Protocol& protocol, const Wake& wake, std::optional<Request> request)
      : protocol_(protocol), wake_(wake), request_(std::move(request)) {}

  void run() noexcept override;

  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Requires done(). The text is null if it can't be made.
  [[nodiscard]] const Protocol::Answer& answer() const noexcept { return answer_; }

 private:
  const Protocol& protocol_;
  const Wake& wake_;
  std::optional<Request> request_;
  Protocol::Answer answer_;
  std::atomic<bool> done_ = false;
};

}  // namespace lw::net
