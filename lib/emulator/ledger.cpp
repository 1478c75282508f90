// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/ledger.h"

#include <algorithm>
#include <numeric>

namespace lw::emulator {

std::string_view LedgerRecord::action() const noexcept {
  if (!went_out()) return name_of(disposition);
  const Stage last = acted.last();
  if (last == Stage::none || last == Stage::queue) return name_of(disposition);
  return last == Stage::event ? name_of(aimed) : name_of(last);
}

Ledger::Ledger(LedgerSink* sink, bool all, Direction direction, std::size_t inside)
    : sink_(sink), all_(all), direction_(direction) {
  if (!sink_) return;
  batch_.resize(kBatch);
  Room room = room_for(inside);
  inside_.swap(room.inside);
  free_slots_.swap(room.free_slots);
}

Ledger::Room Ledger::room_for(std::size_t inside) {
  Room room{std::vector<LedgerRecord>(inside), std::vector<std::uint32_t>(inside)};
  std::iota(room.free_slots.rbegin(), room.free_slots.rend(), 0U);
  return room;
}

void Ledger::grow(Room& room) noexcept {
  if (!sink_) return;
  std::ranges::copy(inside_, room.inside.begin());
  // room_for() lists the slots of the highest numbers first, which are free.
  const std::size_t more = room.inside.size() - inside_.size();
  std::ranges::copy(free_slots_, room.free_slots.begin() + static_cast<std::ptrdiff_t>(more));
  room.free_slots.resize(more + free_slots_.size());
  inside_.swap(room.inside);
  free_slots_.swap(room.free_slots);
}

LedgerRecord Ledger::open(const IngressFrame& arrival, const Decision& decision,
                          std::uint8_t copy) const noexcept {
  LedgerRecord record;
  record.number = arrival.number;
  record.in = arrival.now;
  record.rule = decision.rule;
  record.direction = direction_;
  record.stage = decision.acted.empty() ? decision.stage : decision.acted.last();
  record.acted = decision.acted;
  record.aimed = decision.aimed;
  record.copy = copy;
  record.disposition = decision.action == Action::pass ? Disposition::passed : Disposition::delayed;
  LoggedBth(arrival.bth).put_into(record);
  return record;
}

LedgerRecord record_of(const Transit& transit, std::uint64_t number, Direction direction) noexcept {
  LedgerRecord record;
  record.number = number;
  record.in = transit.in();
  record.rule = transit.rule_index();
  record.direction = direction;
  record.acted = StageSet::of(transit.acted);
  record.stage = record.acted.last();
  if (record.stage == Stage::none && transit.queued) record.stage = Stage::delay;
  record.copy = static_cast<std::uint8_t>(transit.copy);
  record.disposition = transit.queued ? Disposition::delayed : Disposition::passed;
  record.aimed = static_cast<EventAction>(transit.aimed);
  return record;
}

std::uint32_t Ledger::keep(const LedgerRecord& record) noexcept {
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  inside_[slot] = record;
  return slot;
}

void Ledger::amend(std::uint32_t slot, StageSet acted) noexcept {
  LedgerRecord& record = inside_[slot];
  record.acted = StageSet::of(record.acted.bits() | acted.bits());
  if (!record.acted.empty()) record.stage = record.acted.last();
}

void Ledger::close(std::uint32_t slot, Instant out) noexcept {
  LedgerRecord& record = next();
  record = inside_[slot];
  record.out = out;
  free_slots_.push_back(slot);
}

void Ledger::close(std::uint32_t slot, Disposition disposition) noexcept {
  LedgerRecord& record = next();
  record = inside_[slot];
  record.disposition = disposition;
  free_slots_.push_back(slot);
}

void Ledger::log(LedgerRecord record, Disposition disposition) noexcept {
  if (!sink_) return;
  record.disposition = disposition;
  next() = record;
}

void Ledger::find_places() noexcept {
  flush();
  places_ = sink_->places(direction_);
  if (places_.empty()) places_ = batch_;
}

void Ledger::flush() noexcept {
  if (used_ == 0) return;
  if (places_.data() == batch_.data()) {
    sink_->write(places_.first(used_));
    places_ = {};  // the sink may have memory again
  } else {
    sink_->commit(direction_, used_);
    places_ = places_.subspan(used_);
  }
  used_ = 0;
}

}  // namespace lw::emulator
