// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "transport/fifo.h"

namespace lw::transport {

/// Selective repeat: the packets that were sent again, in the order of sending. A path that keeps
/// the order delivers a packet only after all that were sent before it, so an arrival shows which
/// of them were lost again. Packets are numbered from the start of the stream.
class Retransmissions {
 public:
  using Sequence = std::uint64_t;

  /// Packet `at` was sent again, before the new packet `next`, which is the first not sent yet.
  void sent(Sequence at, Sequence next) {
    sent_.push({at, next});
    again_.set(at);
  }
  /// Packet `s` arrived. Calls lost(at) for each packet that was sent again before it, unless its
  /// arrival was passed here.
  template <class Lost>
  void arrived(Sequence s, Lost lost) {
    const std::size_t own = again_.test(s) ? find(s) : kNone;
    if (own == kNone) {  // a packet that was sent once
      for (; !sent_.empty() && sent_.front().next <= s; sent_.pop()) lost(sent_.front().at);
      return;
    }
    for (std::size_t i = 0; i < own; ++i, sent_.pop()) lost(sent_.front().at);
    sent_.pop();
  }
  /// All packets before `una` have arrived.
  void slide(Sequence una) {
    while (!sent_.empty() && sent_.front().at < una) sent_.pop();
    again_.slide(una);
  }
  /// Forgets all. Numbers from now on are at least `una`.
  void clear(Sequence una) {
    sent_.clear();
    again_.clear(una);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Sent {
    Sequence at = 0, next = 0;
  };
  [[nodiscard]] std::size_t find(Sequence s) const noexcept {
    for (std::size_t i = 0; i < sent_.size(); ++i)
      if (sent_[i].at == s) return i;
    return kNone;
  }

  Fifo<Sent> sent_;
  SlidingBits again_;  // those in sent_, and some that were
};

}  // namespace lw::transport
