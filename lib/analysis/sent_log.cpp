// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/sent_log.h"

#include <algorithm>

namespace lw::analysis {

std::deque<Sent>::iterator SentLog::behind(Sequence psn) noexcept {
  if (entries_.empty() || psn >= entries_.back().psn) return entries_.end();
  const Sequence most = std::min(entries_.back().psn - psn, Sequence{entries_.size()} - 1);
  const auto from = std::prev(entries_.end(), static_cast<std::ptrdiff_t>(most) + 1);
  if (from->psn <= psn && std::next(from)->psn > psn) return std::next(from);
  return std::ranges::upper_bound(from, entries_.end(), psn, {}, &Sent::psn);
}

Sent* SentLog::find(Sequence psn) noexcept {
  const auto after = behind(psn);
  if (after == entries_.begin()) return nullptr;
  Sent& entry = *std::prev(after);
  return psn < entry.psn + entry.span ? &entry : nullptr;
}

Sent& SentLog::fill(Sent sent) {
  auto at = std::prev(behind(sent.psn));
  const bool was_retired = static_cast<std::size_t>(at - entries_.begin()) < retired_;
  Sent before = *at, behind = *at;
  before.span = static_cast<std::uint32_t>(sent.psn - at->psn);
  sent.span = std::min(sent.span, at->span - before.span);
  behind.psn = sent.psn + sent.span;
  behind.span = at->span - before.span - sent.span;
  *at = sent;
  if (behind.span > 0) at = std::prev(entries_.insert(std::next(at), behind));
  if (before.span > 0) at = std::next(entries_.insert(at, before));
  if (was_retired) retired_ += (behind.span > 0) + (before.span > 0);
  return *at;
}

}  // namespace lw::analysis
