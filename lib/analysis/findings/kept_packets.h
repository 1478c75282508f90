// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "wire/psn.h"

namespace lw::analysis {

/// Learns from NAKs "PSN sequence error" and ACKs whether a receiver keeps the packets that come
/// behind a missing one. An ACK of packets that were sent before the NAK, and not again since,
/// shows it: a receiver that discards them acknowledges none of them. (IBTA vol. 1, 9.7.5.2.8)
class KeptPackets {
 public:
  /// A NAK names `psn`. `end`: one past the highest PSN sent before.
  void add_nak(std::uint32_t psn, std::uint32_t end) noexcept {
    if (is_behind(psn, end) && find(psn) == nullptr)
      gaps_[newest_ = (newest_ + 1) % gaps_.size()] = {psn, end, (psn + 1) & wire::Psn::kMask};
  }
  /// A request with `psn` comes.
  void add_request(std::uint32_t psn) noexcept {
    for (Gap& gap : gaps_)
      if (gap.psn && is_behind(gap.again, psn + 1) && is_behind(psn, gap.end)) gap.again = psn + 1;
  }
  /// All up to `psn` are acknowledged.
  void add_ack(std::uint32_t psn) noexcept {
    for (Gap& gap : gaps_) {
      if (!gap.psn || !is_behind(*gap.psn, psn)) continue;
      const std::uint32_t last = is_behind(psn, gap.end) ? psn : gap.end - 1;
      kept_ += !is_behind(last, gap.again);
      gap.psn.reset();
    }
  }
  [[nodiscard]] bool is_open() const noexcept {
    return std::ranges::any_of(gaps_, [](const Gap& gap) { return gap.psn.has_value(); });
  }
  /// Number of NAKs behind which the receiver kept packets.
  [[nodiscard]] std::uint32_t count() const noexcept { return kept_; }

 private:
  struct Gap {
    std::optional<std::uint32_t> psn = {};
    std::uint32_t end = 0;    // one past the highest PSN sent before the NAK
    std::uint32_t again = 0;  // one past the highest of these that came since
  };

  static bool is_behind(std::uint32_t one, std::uint32_t other) noexcept {
    return wire::Psn::distance(wire::Psn{one & wire::Psn::kMask},
                               wire::Psn{other & wire::Psn::kMask}) > 0;
  }
  [[nodiscard]] const Gap* find(std::uint32_t psn) const noexcept {
    const auto gap = std::ranges::find(gaps_, std::optional(psn), &Gap::psn);
    return gap == gaps_.end() ? nullptr : &*gap;
  }

  std::array<Gap, 4> gaps_;  // the newest
  std::size_t newest_ = 0;
  std::uint32_t kept_ = 0;
};

}  // namespace lw::analysis
