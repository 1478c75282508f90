// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/sent_log.h"

#include <algorithm>
#include <ranges>

#include "analysis/requests/request_checks.h"

namespace lw::analysis {

Sent sent_of(const CapturedPacket& packet, Sequence psn, std::uint32_t span) noexcept {
  const std::uint8_t opcode = packet.info->opcode;
  return {.psn = psn,
          .span = span,
          .opcode = opcode,
          .seen = true,
          .fetches = is_read(opcode) || is_atomic(opcode),
          .ack_req = packet.ack_req,
          .has_reth = packet.has_reth,
          .has_immediate = packet.has_immediate,
          .span_known = packet.has_reth || !is_read(opcode),
          .frame = packet.number,
          .last_frame = packet.number,
          .stamp = packet.stamp,
          .last_stamp = packet.stamp,
          .va = packet.va,
          .payload = packet.payload,
          .dma_length = packet.dma_length,
          .r_key = packet.r_key,
          .immediate = packet.immediate,
          .ip_id = packet.ip_id,
          .last_ip_id = packet.ip_id};
}

Sent gap_before(const CapturedPacket& packet, Sequence first, Sequence end) noexcept {
  return {.psn = first,
          .span = static_cast<std::uint32_t>(end - first),
          .frame = packet.number,
          .last_frame = packet.number,
          .stamp = packet.stamp,
          .last_stamp = packet.stamp,
          .ip_id = packet.ip_id};
}

std::size_t SentLog::search(std::size_t from, Sequence psn) noexcept {
  const auto indices = std::views::iota(from, size_);
  const auto found = std::ranges::upper_bound(
      indices, psn, {}, [this](std::size_t index) { return entry(index).psn; });
  return from + static_cast<std::size_t>(found - indices.begin());
}

void SentLog::resize(std::size_t capacity) {
  std::vector<Sent> larger;
  larger.reserve(capacity);
  for (std::size_t i = 0; i < size_; ++i) larger.push_back(entry(i));
  larger.resize(capacity);
  ring_ = std::move(larger);
  head_ = 0;
}

/// Inserts an entry. Moves the entries before or after it, whichever are fewer.
void SentLog::insert(std::size_t index, const Sent& sent) {
  make_room();
  ++size_;
  if (index < size_ / 2) {
    head_ = head_ == 0 ? ring_.size() - 1 : head_ - 1;
    for (std::size_t i = 0; i < index; ++i) entry(i) = entry(i + 1);
  } else {
    for (std::size_t i = size_ - 1; i > index; --i) entry(i) = entry(i - 1);
  }
  entry(index) = sent;
}

Sent& SentLog::fill(Sent sent) {
  std::size_t index = behind(sent.psn) - 1;
  const bool was_retired = index < retired_;
  const Sent gap = entry(index);
  Sent before = gap, rest = gap;
  before.span = static_cast<std::uint32_t>(sent.psn - gap.psn);
  sent.span = std::min(sent.span, gap.span - before.span);
  rest.psn = sent.psn + sent.span;
  rest.span = gap.span - before.span - sent.span;
  entry(index) = sent;
  if (rest.span > 0) insert(index + 1, rest);
  if (before.span > 0) insert(index++, before);
  if (was_retired) retired_ += (rest.span > 0) + (before.span > 0);
  return entry(index);
}

void SentLog::cut(Sequence psn) {
  const std::size_t index = behind(psn) - 1;
  Sent& whole = entry(index);
  Sent gap = index + 1 < size_ ? entry(index + 1) : whole;
  gap = {.psn = psn,
         .span = static_cast<std::uint32_t>(whole.psn + whole.span - psn),
         .frame = gap.frame,
         .last_frame = gap.frame,
         .stamp = gap.stamp,
         .last_stamp = gap.stamp,
         .ip_id = gap.ip_id};
  whole.span = static_cast<std::uint32_t>(psn - whole.psn);
  const bool was_retired = index < retired_;
  insert(index + 1, gap);
  retired_ += was_retired;
}

}  // namespace lw::analysis
