// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "transport/responder.h"

namespace lw::transport {

/// The receiving half of a UC or UD QP: whole messages or none, and not a word to the sender.
/// UC: a gap drops the message it is in and what follows up to the next that begins. UD: every
/// packet is a message. (IBTA vol. 1, 9.8.2 and 9.8.3)
class DatagramResponder {
 public:
  DatagramResponder(const QpConfig& config, Memory& memory, PayloadStore& store)
      : config_(config), sink_(config, memory, store), expected_(config.receive_psn) {}

  void post(const Receive& receive) { sink_.post(receive); }
  /// A request for this QP, its ICRC right. The payload's slot stays the caller's.
  void receive(const Packet& packet, Instant now);

  Fifo<Completion>& arrivals() noexcept { return sink_.arrivals(); }
  [[nodiscard]] const MessageSink& sink() const noexcept { return sink_; }
  [[nodiscard]] const ResponderCounters& counters() const noexcept { return counters_; }

 private:
  QpConfig config_;
  MessageSink sink_;
  wire::Psn expected_;
  ResponderCounters counters_;
};

}  // namespace lw::transport
