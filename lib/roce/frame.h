// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "roce/envelope.h"
#include "wire/aeth.h"
#include "wire/atomicacketh.h"
#include "wire/atomiceth.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/feth.h"
#include "wire/ieth.h"
#include "wire/immdt.h"
#include "wire/mad.h"
#include "wire/opcode.h"
#include "wire/rdeth.h"
#include "wire/reth.h"
#include "wire/xrceth.h"

namespace lw::roce {

enum class Problem : std::uint8_t {
  not_roce,         // a sound frame of something else
  fragment,         // a piece of an IP packet
  cut,              // the capture holds less than was on the wire
  too_short,        // the frame's own lengths leave no room for what it says it holds
  length_mismatch,  // IP and UDP lengths contradict each other
  reserved_opcode,  // no such opcode: what follows the BTH is unknown
};

/// Where and why reading stopped: "reth at offset 54: cut (capture holds 60 of 90 bytes)".
struct ParseError {
  Problem problem{};
  std::string_view layer;  // Wireshark's word: "ip", "udp", "bth", "reth", "icrc", ...
  std::size_t offset = 0;  // from the frame's start
};

std::string to_string(const ParseError& error);

/// A RoCE frame, read in place. Extension headers are null where the opcode has none or the bytes
/// end before them. Everything lives as long as the bytes that were parsed.
struct Frame {
  Envelope envelope;
  const wire::Bth* bth = nullptr;          // never null
  const wire::OpcodeInfo* info = nullptr;  // null for a reserved opcode

  const wire::Rdeth* rdeth = nullptr;
  const wire::Deth* deth = nullptr;
  const wire::Xrceth* xrceth = nullptr;
  const wire::Feth* feth = nullptr;
  const wire::Reth* reth = nullptr;
  const wire::AtomicEth* atomiceth = nullptr;
  const wire::Aeth* aeth = nullptr;
  const wire::AtomicAckEth* atomicacketh = nullptr;
  const wire::ImmDt* immdt = nullptr;
  const wire::Ieth* ieth = nullptr;
  const wire::Mad* mad = nullptr;  // a UD SEND to QP 1

  Bytes payload;                     // what was captured of it, pad not included
  std::size_t payload_length = 0;    // what was on the wire
  Bytes icrc;                        // four bytes, or none when cut
  std::optional<ParseError> defect;  // the first thing wrong behind the BTH
};

/// Reads a whole frame. An error means that there is no BTH to show; what is wrong further on is
/// the frame's `defect`, so that cut and damaged frames show all they hold.
std::expected<Frame, ParseError> parse(const Envelope& envelope) noexcept;
std::expected<Frame, ParseError> parse(Bytes bytes, std::size_t wire_length) noexcept;
inline std::expected<Frame, ParseError> parse(Bytes bytes) noexcept {
  return parse(bytes, bytes.size());
}

}  // namespace lw::roce
