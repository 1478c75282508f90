// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "transport/qp_config.h"
#include "wire/opcode.h"
#include "wire/view.h"

namespace lw::gen {

// What perf and respond tell each other in the private data of connection management: each is
// written in network order behind the same magic and version, and read as nothing where they
// aren't there.

/// What the client is going to do on one connection.
struct Terms {
  wire::Transport transport = wire::Transport::rc;  // rc, uc or ud
  wire::Operation operation = wire::Operation::write;
  bool immediate = false;
  bool echo = false;        // each arrival is answered by the same: a ping-pong
  std::uint32_t size = 0;   // bytes of a message
  std::uint32_t slots = 1;  // messages in a region, one after another; then the first again
  std::uint32_t depth = 1;  // messages that may be on their way at once
  std::uint64_t va = 0;     // the client's memory, as echoes of WRITEs need it
  std::uint32_t r_key = 0;
  // Of what either side sends.
  transport::RateControl rate_control = transport::RateControl::none;
  std::uint64_t rate_bps = 0;     // the limit, or what DCQCN begins with
  bool selective_repeat = false;  // in place of go-back-N

  /// Whether messages may be lost: then each tells its own number, in eight bytes at least.
  [[nodiscard]] bool lossy() const noexcept { return transport != wire::Transport::rc; }
  friend bool operator==(const Terms&, const Terms&) = default;
};

/// The responder's memory, in the reply that accepts.
struct Offer {
  std::uint64_t va = 0;  // where the client's WRITEs, atomics or READs go
  std::uint32_t r_key = 0;
  friend bool operator==(const Offer&, const Offer&) = default;
};

/// What the responder found, in its answer to the wish to disconnect.
struct Findings {
  std::uint64_t checked = 0;          // messages that arrived and were looked at, byte by byte
  std::uint64_t wrong = 0;            // of them, not what was sent
  std::uint64_t duplicates = 0;       // request packets; of lossy() terms messages
  std::uint64_t out_of_sequence = 0;  // request packets
  std::uint64_t cnps = 0;             // that it sent
  std::uint64_t dropped = 0;          // request packets of lossy() terms: their message isn't whole
  friend bool operator==(const Findings&, const Findings&) = default;
};

/// As much as the private data of a ConnectRequest has left behind the addresses (RDMA IP CM
/// service, IBTA annex A11); the others fit as well.
using PrivateData = std::array<std::byte, 56>;

PrivateData to_private_data(const Terms& terms) noexcept;
PrivateData to_private_data(const Offer& offer) noexcept;
PrivateData to_private_data(const Findings& findings) noexcept;
/// Also refuses terms that no client has: an operation perf doesn't do, a size or depth of
/// 0, a rate control without a rate, what the transport doesn't carry.
std::optional<Terms> read_terms(wire::Bytes data) noexcept;
std::optional<Offer> read_offer(wire::Bytes data) noexcept;
std::optional<Findings> read_findings(wire::Bytes data) noexcept;

}  // namespace lw::gen
