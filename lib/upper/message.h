// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "analysis/requests/sent_log.h"
#include "core/time.h"
#include "upper/bytes.h"
#include "wire/opcode.h"

namespace lw::upper {

/// When the packets of a message, or of a READ's response, passed the capture point.
struct PassTimes {
  Instant first;      // its first packet, or a later one of its direction, for the first time
  Instant sent;       // its last packet, or a later one, for the first time
  Instant delivered;  // the packet that its receiver needed last
  std::uint64_t first_frame = 0, last_frame = 0;  // last: of the packet that was needed last
  std::uint64_t repeated_frame = 0;  // the first packet that came again and was needed; 0: none
  bool repeated_newest = false;      // no later packet of its direction had passed before it
  Instant previous =
      {};           // the packet before it of its direction; its own stamp where there is none
  Duration held{};  // of the time before `sent`: without progress before a repeated packet
  analysis::Sequence last_psn = 0;
  bool acknowledged = false;     // its receiver has it: what comes again later is not needed
  Instant acknowledged_at = {};  // when an ACK of it first passed the point
  Instant known_at = {};         // when the ACK passed that its sender needed last
  bool asked_again = false;      // its sender repeated it after that: the ACK was lost behind
  bool ack_confirmed = false;    // a later ACK has passed: known_at does not change any more
};
using PassagePtr = std::shared_ptr<PassTimes>;

/// A message of a connection, whole as far as it was captured.
struct UpperMessage {
  wire::Operation operation = wire::Operation::send;  // SEND, WRITE or READ
  std::uint8_t direction = 0;                         // of its requests
  bool partial = false;                               // some packets were not captured
  std::uint64_t bytes = 0;                            // of payload; READ: the requested ones
  std::uint64_t va = 0;                               // WRITE, READ
  std::uint32_t r_key = 0;
  Bytes data = {};           // the beginning of the payload; READ: of its response
  PassagePtr request = {};   // SEND, WRITE: all its packets; READ: its request
  PassagePtr response = {};  // READ: its response
};

}  // namespace lw::upper
