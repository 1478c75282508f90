// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/sent_log.h"

#include <algorithm>

namespace lw::analysis {

Sent* SentLog::find(Sequence psn) noexcept {
  const auto after = std::ranges::upper_bound(entries_, psn, {}, &Sent::psn);
  if (after == entries_.begin()) return nullptr;
  Sent& entry = *std::prev(after);
  return psn < entry.psn + entry.span ? &entry : nullptr;
}

Sent& SentLog::fill(Sent sent) {
  const auto after = std::ranges::upper_bound(entries_, sent.psn, {}, &Sent::psn);
  auto at = std::prev(after);
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
