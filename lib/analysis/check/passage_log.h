// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/packet.h"

namespace lw::analysis {

/// The requests of one direction and the answers to them, in the order in which they passed the
/// capture point: what the protocol check compares findings with. Requests in the order of their
/// PSNs are one entry, but for READs and atomics among others, and for new ones behind repeated
/// ones: a connection without losses has a few.
class PassageLog {
 public:
  /// Requests whose PSNs follow each other. PSNs are without wrap-around.
  struct Run {
    std::uint64_t psn = 0, end = 0;     // the first PSN, and one past the last
    std::uint64_t first = 0, last = 0;  // frames
    std::uint64_t acked = 0;            // one past the highest PSN acknowledged before it
    Instant stamp = {};                 // of its first frame
    std::uint16_t ip_id = 0;            // of its first frame
    bool fetches = false;               // its requests are READs and atomics

    [[nodiscard]] bool covers(std::uint64_t x) const noexcept { return x >= psn && x < end; }
  };
  enum class Answer : std::uint8_t { sequence_nak, not_ready, fatal };
  struct Nak {
    std::uint64_t frame = 0, psn = 0;
    Instant stamp = {};
    Answer answer{};
  };
  /// An ACK of a PSN that had not passed.
  struct EarlyAck {
    std::uint64_t frame = 0, psn = 0;
  };

  /// `room`: entries that all logs of a capture may still take; it must outlive the object.
  explicit PassageLog(std::uint32_t& room) noexcept : room_(room) {}

  /// Adds a request that takes `span` PSNs.
  void request(const CapturedPacket& packet, std::uint32_t span) {
    if (psn_of(run_.end) == packet.psn && run_.last != 0 && run_.end != repeated_to_ &&
        run_.fetches == is_fetch(packet)) [[likely]] {
      run_.end += span;
      run_.last = packet.number;
      highest_ = run_.end > highest_ ? run_.end : highest_;
      return;
    }
    begin_run(packet, span);
  }
  /// Adds an answer to the requests.
  void answer(const CapturedPacket& packet);
  /// Call it after the last packet, before those below.
  void finish();

  /// Whether frames come in the order of their numbers, and all were kept.
  [[nodiscard]] bool is_whole() const noexcept { return whole_; }
  [[nodiscard]] std::span<const Run> runs() const noexcept { return runs_; }
  [[nodiscard]] std::span<const Nak> naks() const noexcept { return naks_; }
  /// The first ACK of a PSN that had not passed, and their number.
  [[nodiscard]] const EarlyAck& first_early() const noexcept { return early_; }
  [[nodiscard]] std::uint64_t early_acks() const noexcept { return early_acks_; }
  [[nodiscard]] std::uint64_t acked() const noexcept { return acked_; }
  /// Returns the PSN nearest to those that passed around `frame`.
  [[nodiscard]] std::uint64_t unwrap(std::uint32_t psn, std::uint64_t frame) const noexcept;
  /// Returns the run that begins with this frame; null: none does.
  [[nodiscard]] const Run* begin_at(std::uint64_t frame) const noexcept;
  /// Returns the run that this frame belongs to, or that passed last before it; null: none did.
  [[nodiscard]] const Run* at(std::uint64_t frame) const noexcept;
  /// One past the highest PSN that passed before a run.
  [[nodiscard]] std::uint64_t highest_before(const Run& run) const noexcept;
  /// Returns the NAK in this frame; null: it has none.
  [[nodiscard]] const Nak* nak_at(std::uint64_t frame) const noexcept;
  /// The runs from the first one that may cover `psn` to the last one that may.
  [[nodiscard]] std::span<const Run> around(std::uint64_t psn) const noexcept;

 private:
  /// Whether it is a READ or an atomic: no other request is without payload by its opcode.
  static bool is_fetch(const CapturedPacket& packet) noexcept {
    return packet.info->payload == wire::PayloadRule::none;
  }
  static std::uint32_t psn_of(std::uint64_t psn) noexcept {
    return static_cast<std::uint32_t>(psn & wire::Psn::kMask);
  }
  void begin_run(const CapturedPacket& packet, std::uint32_t span);
  void close_run();
  [[nodiscard]] std::uint64_t nearest(std::uint64_t to, std::uint32_t psn) const noexcept;

  Run run_;                        // the newest one
  std::uint64_t repeated_to_ = 0;  // where it ends, if it repeats packets; 0: it does not
  std::uint64_t highest_ = 0;      // one past the highest PSN that passed
  std::uint64_t acked_ = 0;
  std::uint32_t& room_;
  bool whole_ = true;
  std::vector<Run> runs_;
  std::vector<Nak> naks_;
  EarlyAck early_;
  std::uint64_t early_acks_ = 0;
  // By run: the highest end of the runs up to it, and the lowest PSN of the runs from it on.
  std::vector<std::uint64_t> highest_end_, lowest_psn_;
};

}  // namespace lw::analysis
