// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "analysis/sequence_tracker.h"
#include "dissect/fields/recent_map.h"
#include "roce/frame.h"

namespace lw::dissect {

/// The field longwire.psn_gap: how many PSNs each frame skips in its stream. Requests and responses
/// of a QP are streams of their own, as analysis::PsnStream follows them: without the other
/// direction, so that nothing tells why. At most kMostFlows streams are kept.
class PsnGaps {
 public:
  /// Of the next frame, whose ICRC is not bad; nothing where its opcode or headers are missing, and
  /// for a CNP.
  std::optional<std::uint64_t> next(const roce::Frame& frame);

 private:
  using Key = std::pair<roce::FlowKey, std::uint32_t>;  // and the source QP, of UD
  struct Stream {
    analysis::PsnStream psns;
    analysis::OrderCounts counts;
  };
  RecentMap<Key, Stream> streams_{kMostFlows};
};

}  // namespace lw::dissect
