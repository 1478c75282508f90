// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/psn_gaps.h"

namespace lw::dissect {

std::optional<std::uint64_t> PsnGaps::next(const roce::Frame& frame) {
  const bool whole = !frame.defect || frame.defect->problem == roce::Problem::cut;
  if (frame.info == nullptr || frame.info->role == wire::Role::notification || !whole)
    return std::nullopt;
  const std::uint32_t source_qp = frame.deth != nullptr ? frame.deth->src_qp.get() : 0;
  Stream& stream = streams_.use({roce::flow_key(frame), source_qp}, [](const Stream&) {});
  const std::uint64_t before = stream.counts.lost;
  stream.psns.take(frame, stream.counts);
  return stream.counts.lost > before ? stream.counts.lost - before : 0;
}

}  // namespace lw::dissect
