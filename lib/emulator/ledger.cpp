// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/ledger.h"

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
  batch_.reserve(kBatch);
  if (!sink_) return;
  inside_.resize(inside);
  free_slots_.resize(inside);
  std::iota(free_slots_.rbegin(), free_slots_.rend(), 0U);
}

LedgerRecord Ledger::open(const Arrival& arrival, const Decision& decision,
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
  const wire::Bth* bth = arrival.bth;
  if (!bth) return record;
  record.roce = true;
  record.opcode = bth->opcode.get();
  record.qpn = bth->dest_qp.get();
  record.psn = bth->psn_bytes.get();
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
  inside_[slot].out = out;
  append(inside_[slot]);
  free_slots_.push_back(slot);
}

void Ledger::close(std::uint32_t slot, Disposition disposition) noexcept {
  inside_[slot].disposition = disposition;
  append(inside_[slot]);
  free_slots_.push_back(slot);
}

void Ledger::log(LedgerRecord record, Disposition disposition) noexcept {
  if (!sink_) return;
  record.disposition = disposition;
  append(record);
}

void Ledger::append(const LedgerRecord& record) noexcept {
  batch_.push_back(record);
  if (batch_.size() == kBatch) flush();
}

void Ledger::flush() noexcept {
  if (batch_.empty()) return;
  sink_->write(batch_);
  batch_.clear();
}

}  // namespace lw::emulator
