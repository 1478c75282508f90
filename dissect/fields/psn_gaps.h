// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "analysis/sequence_tracker.h"
#include "dissect/fields/recent_map.h"
#include "roce/frame.h"

namespace lw::dissect {

/// The field longwire.psn_gap: number of PSNs that each frame skips in its stream. Requests and
/// responses of a QP are separate streams, which analysis::PsnStream follows without the other
/// direction, so the reason is unknown. At most kMostFlows streams are kept.
class PsnGaps {
 public:
  /// Returns the gap of the next frame, which has no bad ICRC; nothing if its opcode or headers are
  /// missing, and for a CNP.
  std::optional<std::uint64_t> next(const roce::Frame& frame) {
    const bool whole = !frame.defect || frame.defect->problem == roce::Problem::cut;
    if (frame.info == nullptr || frame.info->role == wire::Role::notification || !whole)
      return std::nullopt;
    const std::uint32_t source_qp = frame.deth != nullptr ? frame.deth->src_qp.get() : 0;
    Stream& stream = streams_.use({roce::flow_key(frame), source_qp}, [](const Stream&) {});
    const std::uint64_t before = stream.counts.lost;
    stream.psns.add(frame, stream.counts);
    return stream.counts.lost > before ? stream.counts.lost - before : 0;
  }

 private:
  using Key = std::pair<roce::FlowKey, std::uint32_t>;  // and the source QP, for UD
  struct Stream {
    analysis::PsnStream psns;
    analysis::OrderCounts counts;
  };
  RecentMap<Key, Stream> streams_{kMostFlows};
};

}  // namespace lw::dissect
