// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/cm/active_side.h"
#include "gen/perf/session/contents.h"

namespace lw::gen {

/// One connection of a client: its messages made, posted and looked at, one after another.
class ClientLane {
 public:
  /// The connection of `dialled` outlives it.
  explicit ClientLane(const Dialled& dialled);

  /// The next message; false when the send queue is full.
  bool post(Instant now);
  /// Asks for the message posted last, from where it was written. The send queue has room.
  void post_read_back(Instant now);
  /// A place for the echo of a message.
  void post_receive();

  /// Whether what a READ or an atomic brought is what must be there.
  [[nodiscard]] bool right(const transport::Completion& done);
  /// Whether the message that was written came back.
  [[nodiscard]] bool right_read_back(const transport::Completion& done);
  /// Whether the echo of message n is right.
  [[nodiscard]] bool right_echo(const transport::Completion& arrival, std::uint64_t n);

  [[nodiscard]] Connection& connection() noexcept { return connection_; }
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  /// Whether its requests carry the bytes, rather than ask for them.
  [[nodiscard]] bool carries() const noexcept {
    return terms_.operation == wire::Operation::send || terms_.operation == wire::Operation::write;
  }
  [[nodiscard]] bool takes_receive() const noexcept {
    return terms_.operation == wire::Operation::send || terms_.immediate;
  }

 private:
  std::span<std::byte> memory(std::uint64_t va) {
    return connection_.memory().bytes(va, terms_.size);
  }

  Connection& connection_;
  Terms terms_;
  Offer offer_;
  Places places_;
  Contents ours_, theirs_;
  std::uint64_t posted_ = 0;
};

}  // namespace lw::gen
