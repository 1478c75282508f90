// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "emulator/decision.h"
#include "emulator/direction.h"
#include "emulator/match/match.h"
#include "emulator/transit.h"
#include "wire/bth.h"

namespace lw::emulator {

/// What became of a logged frame.
enum class Disposition : std::uint8_t {
  passed,   // untouched, or nothing that its rule has acted on it
  delayed,  // released as its rule asks
  dropped,  // by its rule
  no_room,  // see ResourceDrop, for this and the next four
  egress_full,
  no_buffer,
  stopped,
  link_down,
  consumed,  // a pause frame: it was heard, and goes no further
};
constexpr std::string_view name_of(Disposition disposition) noexcept {
  constexpr std::string_view kNames[] = {"pass",    "delay",       "drop",
                                         "no_room", "egress_full", "no_buffer",
                                         "stopped", "link_down",   "consumed"};
  return kNames[static_cast<std::size_t>(disposition)];
}

/// One frame's entry. Times are those that the caller passed to the engine.
struct LedgerRecord {
  std::uint64_t number = 0;  // ingress frame number of this direction, every frame received counts
  Instant in, out;           // `out` only where the frame went out
  RuleIndex rule = kUntouched;
  Direction direction = Direction::west_to_east;
  Stage stage = Stage::none;  // the last that acted
  StageSet acted = {};        // all that did
  std::uint8_t copy = 0;      // 0: the frame itself; 1.. a duplicate of it
  Disposition disposition = Disposition::passed;
  EventAction aimed = EventAction::drop;  // where Stage::event acted: what it did
  bool roce = false;                      // whether the following three are there
  std::uint8_t opcode = 0;
  std::uint32_t qpn = 0, psn = 0;

  [[nodiscard]] bool went_out() const noexcept {
    return disposition == Disposition::passed || disposition == Disposition::delayed;
  }
  /// What was done to it, in a word: by the last stage that acted where it went out, else why not.
  [[nodiscard]] std::string_view action() const noexcept;
};

/// A frame's BTH as the ledger has it.
struct LoggedBth {
  bool roce = false;  // whether the others are there
  std::uint8_t opcode = 0;
  std::uint32_t qpn = 0, psn = 0;

  LoggedBth() = default;
  explicit LoggedBth(const wire::Bth* bth) noexcept {
    if (!bth) return;
    roce = true;
    opcode = bth->opcode.get();
    qpn = bth->dest_qp.get();
    psn = bth->psn_bytes.get();
  }
  void put_into(LedgerRecord& record) const noexcept {
    record.roce = roce;
    record.opcode = opcode;
    record.qpn = qpn;
    record.psn = psn;
  }
};

/// Returns the record of a frame that leaves, without its BTH and the time. `number`: its ingress
/// frame number.
LedgerRecord record_of(const Transit& transit, std::uint64_t number, Direction direction) noexcept;

/// Where records go, some at a time. It must not wait: what it can't take it counts itself.
class LedgerSink {
 public:
  virtual ~LedgerSink() = default;
  virtual void write(std::span<const LedgerRecord> records) = 0;

  /// A sink with memory of its own lets a ledger write into it, which saves a copy. places()
  /// returns room for the next records of a direction; empty: write() must be used. commit() says
  /// that the first `count` of the places that were not committed yet are written.
  virtual std::span<LedgerRecord> places(Direction /*direction*/) noexcept { return {}; }
  virtual void commit(Direction /*direction*/, std::size_t /*count*/) noexcept {}
};

/// One direction's ledger: which frames are in it, and records of frames that are still inside.
/// A frame is in it when a stage dropped, changed or created it or moved its release from the
/// rule's nominal delay, or when the box had no room for it; with `all`, every frame is.
class Ledger {
 public:
  /// No sink: nothing is logged. `inside`: how many frames can be inside at once.
  Ledger(LedgerSink* sink, bool all, Direction direction, std::size_t inside);

  /// Memory for the records of more frames, prepared outside the data path.
  struct Room {
    std::vector<LedgerRecord> inside;
    std::vector<std::uint32_t> free_slots;
  };
  /// Room for `inside` frames at once.
  [[nodiscard]] static Room room_for(std::size_t inside);
  /// Uses `room`, of more frames than before. Afterwards it holds the former memory.
  void grow(Room& room) noexcept;

  /// Whether there is a ledger.
  [[nodiscard]] bool active() const noexcept { return sink_ != nullptr; }
  /// Whether a frame is in the ledger even if it goes out.
  [[nodiscard]] bool wants(const Decision& decision) const noexcept {
    return sink_ && (all_ || !decision.acted.empty());
  }

  /// The record of a frame that just came in.
  [[nodiscard]] LedgerRecord open(const IngressFrame& arrival, const Decision& decision,
                                  std::uint8_t copy = 0) const noexcept;

  /// Keeps the record of a frame that stays inside; returns its slot. Only where
  /// wants() says so.
  [[nodiscard]] std::uint32_t keep(const LedgerRecord& record) noexcept;
  [[nodiscard]] const LedgerRecord& kept(std::uint32_t slot) const noexcept {
    return inside_[slot];
  }
  /// Adds stages that have acted on the frame since.
  void amend(std::uint32_t slot, StageSet acted) noexcept;
  /// The frame of this slot has gone, or will never.
  void close(std::uint32_t slot, Instant out) noexcept;
  void close(std::uint32_t slot, Disposition disposition) noexcept;

  /// A frame that doesn't stay.
  void log(LedgerRecord record, Disposition disposition) noexcept;
  /// A frame of a batch that goes out.
  void log(const LedgerRecord& record, const LoggedBth& bth) noexcept {
    LedgerRecord& place = next();
    place = record;
    bth.put_into(place);
  }

  /// Hands what has gathered to the sink: once a burst.
  void flush() noexcept;

 private:
  static constexpr std::size_t kBatch = 256;
  /// The place of the next record, which the caller fills. Requires active().
  LedgerRecord& next() noexcept {
    if (used_ == places_.size()) [[unlikely]]
      find_places();
    return places_[used_++];
  }
  void find_places() noexcept;

  LedgerSink* sink_;
  bool all_;
  Direction direction_;
  std::vector<LedgerRecord> inside_;
  std::vector<std::uint32_t> free_slots_;
  // Where records are written: memory of the sink, or batch_ where it has none to give.
  std::vector<LedgerRecord> batch_;
  std::span<LedgerRecord> places_;
  std::size_t used_ = 0;  // records in places_ that the sink doesn't know of
};

}  // namespace lw::emulator
