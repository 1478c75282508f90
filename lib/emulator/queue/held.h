// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "emulator/queue/ring.h"
#include "emulator/transit.h"

namespace lw::emulator {

/// The frames of one rule that are held back until `overtaking` later ones have gone on. They
/// leave in the order in which they came. One thread; nothing is allocated after construction.
template <class Entry>
class Held {
 public:
  Held(std::size_t overtaking, Duration at_most)
      : overtaking_(overtaking), at_most_(at_most), waiting_(overtaking + 1) {}

  /// Holds frames back in the same way.
  [[nodiscard]] bool same_as(const Held& other) const noexcept {
    return overtaking_ == other.overtaking_ && at_most_ == other.at_most_;
  }
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }
  [[nodiscard]] const Entry& operator[](std::size_t i) const noexcept { return waiting_[i].entry; }

  /// Only for a frame that gone_on() was just called for.
  void hold(const Entry& entry) noexcept { waiting_.push({entry, passed_ + overtaking_}); }
  /// A frame of the rule goes on (or is about to be held).
  void gone_on() noexcept { ++passed_; }
  /// Enough have overtaken the first. Only when not empty(), as are the next three.
  [[nodiscard]] bool overtaken() const noexcept { return waiting_.front().until <= passed_; }
  /// When the first leaves whoever has overtaken it.
  [[nodiscard]] Instant deadline() const noexcept { return waiting_.front().entry.due + at_most_; }
  [[nodiscard]] const Entry& front() const noexcept { return waiting_.front().entry; }
  void pop() noexcept { waiting_.pop(); }

 private:
  struct Waiting {
    Entry entry;
    std::uint64_t until = 0;  // passed_ when it may go
  };

  std::size_t overtaking_;
  Duration at_most_;
  Ring<Waiting> waiting_;
  std::uint64_t passed_ = 0;
};

}  // namespace lw::emulator
