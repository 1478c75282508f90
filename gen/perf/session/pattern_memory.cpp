// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/pattern_memory.h"

#include <algorithm>
#include <cstring>

namespace lw::gen {
namespace {

constexpr Side other(Side side) noexcept {
  return side == Side::client ? Side::responder : Side::client;
}

}  // namespace

PatternMemory::PatternMemory(Side own, std::uint32_t qpn, std::uint32_t client_qpn,
                             const SessionParams& params, Numbers numbers) noexcept
    : sent_(own, client_qpn),
      received_(other(own), client_qpn),
      verify_(params.verify),
      numbers_(numbers),
      one_slot_(params.lossy() && params.operation == wire::Operation::write),
      inbox_(MemoryLayout(qpn, params).inbox()),
      outbox_(MemoryLayout(qpn, params).outbox()),
      size_(params.size),
      stride_(MemoryLayout(qpn, params).stride()),
      slots_(params.slots),
      most_complete_(params.selective_repeat ? transport::QpConfig{}.reorder_packets : 1) {}

void PatternMemory::fill() noexcept {
  if (filled_++ > 0) last_slot_ = last_slot_ + 1 == slots_ ? 0 : last_slot_ + 1;
}

/// Returns the number of the message in a slot of the outbox; nothing if it was never filled.
std::optional<std::uint64_t> PatternMemory::number_in(std::uint64_t slot) const noexcept {
  const std::uint64_t behind = slot <= last_slot_ ? last_slot_ - slot : last_slot_ + slots_ - slot;
  if (behind >= filled_) return std::nullopt;
  return filled_ - 1 - behind;
}

/// A peer may read any bytes of the region; those between the messages are zeros.
void PatternMemory::read(std::uint64_t va, std::span<std::byte> out) noexcept {
  while (!out.empty()) {
    const bool before = va < outbox_;
    const std::uint64_t slot = before ? 0 : (va - outbox_) / stride_;
    const std::uint64_t offset = before ? 0 : va - outbox_ - slot * stride_;
    const auto number = before || slot >= slots_ ? std::nullopt : number_in(slot);
    const std::uint64_t end = before ? outbox_ - va : (offset < size_ ? size_ : stride_) - offset;
    const auto part = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(end, out.size())));
    if (number && offset < size_) {
      sent_.write_part(part, offset, size_, *number);
    } else {
      std::memset(part.data(), 0, part.size());
    }
    out = out.subspan(part.size());
    va += part.size();
  }
}

/// The first packet of a message.
void PatternMemory::begin(std::span<const std::byte> bytes) noexcept {
  got_ = 0;
  right_ = true;
  number_ = numbers_ == Numbers::counted ? order_
            : numbers_ == Numbers::slot  ? slot_
                                         : PayloadPattern::number_of(bytes);
}

void PatternMemory::write(std::uint64_t va, std::span<const std::byte> bytes) {
  const std::uint64_t at = va - inbox_ - slot_ * stride_;  // wraps around before the slot
  if (at == 0) begin(bytes);
  const bool inside = at == got_ && at < size_ && bytes.size() <= size_ - at;
  right_ = right_ && inside && (!checks() || received_.holds_part(bytes, at, size_, number_));
  got_ += bytes.size();
  // A peer whose messages are longer than agreed must not fill memory with those not taken.
  if (got_ >= size_ && complete_.size() < most_complete_) complete_.push(end());
}

/// Ends the message that arrives. The next one is expected in the next slot.
PatternMemory::Found PatternMemory::end() noexcept {
  const Found found{.right = right_ && got_ == size_, .number = number_};
  ++order_;
  if (!one_slot_) slot_ = slot_ + 1 == slots_ ? 0 : slot_ + 1;
  got_ = 0;
  right_ = true;
  return found;
}

PatternMemory::Found PatternMemory::pop_message() {
  if (complete_.empty()) return end();
  const Found found = complete_.front();
  complete_.pop();
  return found;
}

}  // namespace lw::gen
