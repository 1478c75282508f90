// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "gen/perf/session/payload_pattern.h"
#include "gen/perf/session/session_params.h"
#include "transport/fifo.h"
#include "transport/memory.h"
#include "transport/qp_config.h"

namespace lw::gen {

/// A connection's memory where no byte is used but to be sent or checked: the bytes of the outbox
/// are written into frames from the pattern, those of the inbox are compared with it in the frame
/// in which they arrive. Neither is in memory, so what is in flight needs no cache: with slots of
/// 64 MiB, a stored byte of both ends took 3.3 times as long.
///
/// Messages arrive in order, and the packets of each one in order, as transport's requester and
/// responder execute them. Offsets show what is not so: such a message is wrong. With selective
/// repeat several messages may be complete before the first of them is taken.
class PatternMemory final : public transport::MemoryContent {
 public:
  /// What the numbers of the messages in the inbox are.
  enum class Numbers : std::uint8_t {
    counted,    // that of the message in order
    slot,       // that of the slot: the peer fills each slot once
    in_message  // in its first bytes: messages may be lost
  };

  /// The memory of the QP `qpn` of the side `own`. `params` are computable().
  PatternMemory(Side own, std::uint32_t qpn, std::uint32_t client_qpn, const SessionParams& params,
                Numbers numbers) noexcept;

  void read(std::uint64_t va, std::span<std::byte> out) noexcept override;
  void write(std::uint64_t va, std::span<const std::byte> bytes) override;

  /// Fills the next slot of the outbox with the next message: number 0, 1, 2.
  void fill() noexcept;

  /// What was found of a message.
  struct Found {
    bool right = false;  // whole, and its bytes right as far as Verify asks
    std::uint64_t number = 0;
  };
  /// Removes the oldest complete message and returns what was found of it; if none is complete,
  /// ends the message that arrives.
  Found pop_message();

 private:
  [[nodiscard]] std::optional<std::uint64_t> number_in(std::uint64_t slot) const noexcept;
  [[nodiscard]] bool checks() const noexcept { return verifies(verify_, order_); }
  void begin(std::span<const std::byte> bytes) noexcept;
  Found end() noexcept;

  PayloadPattern sent_, received_;
  Verify verify_;
  Numbers numbers_;
  bool one_slot_;  // all messages arrive in the first slot
  std::uint64_t inbox_, outbox_;
  std::uint64_t size_, stride_, slots_;
  // The outbox.
  std::uint64_t filled_ = 0, last_slot_ = 0;
  // The message that arrives.
  std::uint64_t order_ = 0;  // of the message, from 0
  std::uint64_t slot_ = 0, number_ = 0;
  std::uint64_t got_ = 0;  // bytes of it
  bool right_ = true;
  transport::Fifo<Found> complete_;
  std::size_t most_complete_;
};

}  // namespace lw::gen
