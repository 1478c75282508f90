// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/extraction/transfer.h"

#include <algorithm>

namespace lw::analysis {

std::vector<Range> PlacedBytes::missing_in(std::uint64_t offset, std::uint64_t length) const {
  Range range = Range::of(offset, length);
  if (range.last < begin_) return {};
  range.first = std::max(range.first, begin_);
  if (others_ == nullptr) return {range};
  return others_->missing_in(range);
}

void PlacedBytes::add(std::uint64_t offset, std::uint64_t length, std::uint64_t frame) {
  if (offset <= begin_ && others_ == nullptr) {
    begin_ = std::max(begin_, offset + length);
    return;
  }
  if (others_ == nullptr) others_ = std::make_unique<Ranges>();
  others_->add(Range::of(offset, length), frame);
  const auto& [first, part] = *others_->parts().begin();
  if (first > begin_) return;
  begin_ = std::max(begin_, part.last + 1);
  others_->remove({0, begin_ - 1});
  if (others_->empty()) others_.reset();
}

Transfer* TransferLog::find(Sequence psn) noexcept {
  auto behind = std::ranges::upper_bound(transfers_, psn, {}, &Transfer::psn);
  if (behind == transfers_.begin()) return nullptr;
  --behind;
  return behind->covers(psn) ? &*behind : nullptr;
}

Transfer& TransferLog::add(Transfer transfer) {
  transfer.old = transfer.psn < forgotten_;
  auto at = std::ranges::lower_bound(transfers_, transfer.psn, {}, &Transfer::psn);
  if (at != transfers_.end() && at->psn == transfer.psn) {
    forget_(*at);
    *at = std::move(transfer);
    return *at;
  }
  auto index = static_cast<std::size_t>(at - transfers_.begin());
  transfers_.insert(at, std::move(transfer));
  while (transfers_.size() > std::max<std::size_t>(most_, 1)) {
    const auto oldest = transfers_.begin() + (index == 0 ? 1 : 0);  // not the new one
    forgotten_ = std::max(forgotten_, oldest->psn + oldest->span);
    forget_(*oldest);
    transfers_.erase(oldest);
    if (index > 0) --index;
  }
  return transfers_[index];
}

void TransferLog::clear() {
  for (const Transfer& transfer : transfers_) forget_(transfer);
  transfers_.clear();
}

std::vector<Range> TransferLog::without_later(const Transfer& transfer, const Range& range) const {
  std::vector<Range> left{range};
  auto later = std::ranges::upper_bound(transfers_, transfer.psn, {}, &Transfer::psn);
  for (; later != transfers_.end() && !left.empty(); ++later) {
    if (later->image != transfer.image || later->length == 0) continue;
    const Range taken = Range::of(later->position, later->length);
    std::vector<Range> rest;
    for (const Range& part : left) subtract(part, taken, rest);
    left = std::move(rest);
  }
  return left;
}

std::vector<Range> TransferLog::uncovered(const Range& psns) const {
  std::vector<Range> left{psns};
  for (const Transfer& transfer : transfers_) {
    std::vector<Range> rest;
    for (const Range& part : left) subtract(part, Range::of(transfer.psn, transfer.span), rest);
    left = std::move(rest);
  }
  return left;
}

}  // namespace lw::analysis
