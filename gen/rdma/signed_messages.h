// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gen/perf/session/handover.h"
#include "gen/receive/measurement.h"

namespace lw::gen::rdma {

/// Measures messages that a device has delivered by roce-gen's signatures, which each of their
/// packets begins with: what `roce-gen receive` measures, but for what only whole frames show.
/// Latencies are measured if the signatures have this machine's steady clock, or CLOCK_TAI. One
/// thread.
class SignedMessages {
 public:
  /// Flow i of the signatures is that of QP i. `own` is the device's GID.
  SignedMessages(const handover::Hello& hello, const wire::Ipv6Address& own);

  /// Reads the packets of a message that has just arrived on QP `index`. False: one of them has
  /// another content than the client said, or is of another QP's flow; that one is not counted.
  bool take(std::size_t index, wire::Bytes message);
  /// Whether a slot has all of message `number` of its QP. Only for messages of which each has the
  /// packets that `hello` describes.
  [[nodiscard]] bool holds(wire::Bytes slot, std::uint64_t number) const noexcept;
  /// Whether all signed frames that the client has sent are here.
  [[nodiscard]] bool complete(const handover::Done& done) const;
  /// Counts the frames that the client has sent after the last one that arrived. Call it once.
  void finish(const handover::Done* done);

  /// Complete after finish().
  [[nodiscard]] const handover::SignatureCounts& counts() const noexcept { return counts_; }
  /// Several lines for people.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] nlohmann::ordered_json json() const;

 private:
  void take(const wire::SignatureFields& signature, std::size_t bytes);
  [[nodiscard]] bool has_content(wire::Bytes packet, bool last) const noexcept;
  void choose_clock(std::uint8_t senders);
  /// Why a flow has no latencies; empty: it has.
  [[nodiscard]] std::string latency_doubt(const ReceiveFlow& flow) const;
  [[nodiscard]] std::uint64_t missing_at_end(std::size_t index) const;

  std::uint64_t size_, mtu_;
  std::vector<std::uint64_t> payload_crcs_;  // as in the hello
  roce::FlowKey ends_;
  gen::Measurement measurement_{{.icrc_every = 0}};  // the device has checked them
  clockid_t clock_ = CLOCK_MONOTONIC;
  std::uint8_t clock_number_, senders_clock_ = wire::ClockId::kUnknown;
  std::vector<std::uint64_t> sent_;  // signed frames of each QP, by the client's count
  handover::SignatureCounts counts_;
};

}  // namespace lw::gen::rdma
