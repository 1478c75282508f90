// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "core/figure.h"
#include "gen/perf/session/handover.h"
#include "gen/receive/measurement.h"

namespace lw::gen::endpoint {

/// Measures messages that a device has delivered, by the roce-gen signatures at the start of each
/// of their packets. Measures what `roce-gen receive` does, except for what requires whole frames.
/// Measures latencies if the signatures use this machine's steady clock, or CLOCK_TAI. One thread.
class SignedMessages {
 public:
  /// Flow i of the signatures belongs to QP i. `own` is the device's GID.
  SignedMessages(const handover::Hello& hello, const wire::Ipv6Address& own);

  /// Counts the packets of a message that has just arrived on QP `index`. Returns false if a packet
  /// has another content than the client announced, or belongs to another QP's flow; such a packet
  /// is not counted.
  bool count_message(std::size_t index, wire::Bytes message);
  /// Returns true if a slot contains all of message `number` of its QP. Requires messages that all
  /// have the packets that `hello` describes.
  [[nodiscard]] bool holds(wire::Bytes slot, std::uint64_t number) const noexcept;
  /// Returns true if all signed frames that the client has sent have arrived.
  [[nodiscard]] bool complete(const handover::Done& done) const;
  /// Counts the frames that the client sent after the last one that arrived. Call it once.
  void finish(const handover::Done* done);

  /// The counters; complete after finish().
  [[nodiscard]] const handover::SignatureCounts& counts() const noexcept { return counts_; }
  /// Returns the results as lines of text.
  [[nodiscard]] std::string text() const;
  static const FigureTable& figures();

 private:
  void count_packet(const wire::SignatureFields& signature, std::size_t bytes);
  [[nodiscard]] bool has_content(wire::Bytes packet, bool last) const noexcept;
  void choose_clock(std::uint8_t senders);
  /// Returns why a flow has no latencies; empty if it has.
  [[nodiscard]] std::string latency_doubt(const ReceiveFlow& flow) const;
  [[nodiscard]] std::uint64_t missing_at_end(std::size_t index) const;

  std::uint64_t size_, mtu_;
  std::vector<std::uint64_t> payload_crcs_;  // from the hello
  roce::FlowKey ends_;
  gen::Measurement measurement_{{.icrc_every = 0}};  // the device has checked them
  clockid_t clock_ = CLOCK_MONOTONIC;
  std::uint8_t clock_number_, senders_clock_ = wire::ClockId::kUnknown;
  std::vector<std::uint64_t> sent_;  // signed frames of each QP, as counted by the client
  handover::SignatureCounts counts_;
};

}  // namespace lw::gen::endpoint
