// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "roce/frame.h"
#include "roce/message.h"

namespace lw::roce {

/// Why a packet doesn't continue what came before it. (IBTA vol. 1, 9.7.4 and 9.8.3)
enum class Violation : std::uint8_t {
  none,
  unknown_opcode,
  psn_gap,            // ahead of the expected PSN
  psn_repeated,       // behind it
  first_within,       // FIRST or ONLY while a message is open
  continues_nothing,  // MIDDLE or LAST with no message open
  changes_operation,  // MIDDLE or LAST of another operation than the FIRST
  wrong_length,  // FIRST or MIDDLE not of the MTU, LAST empty or above it, or a pad where none may
                 // be
  dma_length_differs,  // a WRITE's RETH announced another length
};

std::string_view name_of(Violation violation) noexcept;

/// A message that came in whole.
struct ReceivedMessage {
  Message message;  // `mtu` is the FIRST's payload length; of an ONLY, the one configured
  std::optional<wire::RethFields> reth;
  std::optional<std::uint32_t> immediate;
  std::optional<std::uint32_t> invalidated_r_key;
};

/// Puts the packets of one stream (a QP's requests, or its responses) back into messages.
/// It holds no payload: `offset` says where each packet's belongs. No clock, no allocation.
class Reassembler {
 public:
  /// `mtu` bounds packets until a FIRST has shown the path's own.
  explicit Reassembler(std::uint32_t mtu = 4096) noexcept : mtu_(mtu) {}

  struct Outcome {
    Violation violation = Violation::none;
    std::uint64_t offset = 0;                  // of this packet's payload in its message
    std::optional<ReceivedMessage> completed;  // by this packet
  };

  /// The next packet of the stream. After a violation the message that was open is given up, and
  /// the stream goes on behind this packet where that is possible (psn_repeated leaves all as is).
  /// `frame` must have no defect.
  Outcome add(const Frame& frame) noexcept;

  [[nodiscard]] bool message_open() const noexcept { return open_.has_value(); }

 private:
  Violation check_order(const Frame& frame) const noexcept;
  Violation check_lengths(const Frame& frame) const noexcept;
  void begin(const Frame& frame) noexcept;
  Violation finish(const Frame& frame, Outcome& outcome) noexcept;

  std::uint32_t mtu_;
  std::optional<wire::Psn> expected_;
  std::optional<ReceivedMessage> open_;
};

}  // namespace lw::roce
