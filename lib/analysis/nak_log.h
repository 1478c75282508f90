// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <deque>

#include "analysis/packet.h"
#include "analysis/sent_log.h"

namespace lw::analysis {

/// A NAK or an RNR NAK.
struct Nak {
  Sequence psn = 0;
  std::uint64_t frame = 0;
  Instant stamp = {};
  bool rnr = false;
  bool used = false;  // a recovery began because of it
  bool late = false;  // the packet that it asks for was late, not lost
};

/// The last NAKs of one direction, in the order in which they came: which of them a retransmission
/// follows.
class NakLog {
 public:
  void add(const Nak& nak) {
    constexpr std::size_t kMost = 64;
    naks_.push_back(nak);
    if (naks_.size() > kMost) naks_.pop_front();
  }

  /// The NAK that a retransmission from `psn` follows: the one that names it, or one further on of
  /// a packet that is not acknowledged (`acknowledged`: behind the highest that is). Null: none.
  [[nodiscard]] Nak* asking_for(Sequence psn, Sequence acknowledged) noexcept {
    const auto names = [psn](const Nak& nak) { return !nak.used && nak.psn == psn; };
    const auto open = [=](const Nak& nak) {
      return !nak.used && nak.psn >= psn && nak.psn >= acknowledged;
    };
    auto nak = std::ranges::find_if(naks_, names);
    if (nak == naks_.end()) nak = std::ranges::find_if(naks_, open);
    return nak == naks_.end() ? nullptr : &*nak;
  }

  /// The frame of the newest NAK, not RNR, that names a PSN in [first, last]; 0: none is unused.
  [[nodiscard]] std::uint64_t frame_naming(Sequence first, Sequence last) const noexcept {
    std::uint64_t frame = 0;
    for (const Nak& nak : naks_)
      if (!nak.rnr && !nak.used && nak.psn >= first && nak.psn <= last) frame = nak.frame;
    return frame;
  }

  /// Null: it is none of the last ones.
  [[nodiscard]] Nak* of_frame(std::uint64_t frame) noexcept {
    const auto nak = std::ranges::find(naks_, frame, &Nak::frame);
    return nak == naks_.end() ? nullptr : &*nak;
  }

  /// Whether an RNR NAK names `psn`. A receiver without a buffer may call the packets behind it out
  /// of sequence.
  [[nodiscard]] bool was_refused(Sequence psn) const noexcept {
    return std::ranges::any_of(naks_, [psn](const Nak& nak) { return nak.rnr && nak.psn == psn; });
  }

 private:
  std::deque<Nak> naks_;
};

}  // namespace lw::analysis
