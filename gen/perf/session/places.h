// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/session/endpoint.h"

namespace lw::gen {

/// How a connection's memory is laid out on either side: first the inbox, where the peer's
/// messages go and where what is read arrives, then the outbox, what is sent and what the peer
/// reads. Message i has slot i modulo `slots` in each. A UD message has room for a GRH before it,
/// with which its receive begins (IBTA vol. 1, 11.4.1.2).
class Places {
 public:
  Places(std::uint32_t qpn, const Terms& terms) noexcept
      : base_(Connection::va_of(qpn)),
        grh_(grh_of(terms)),
        size_(terms.size + grh_),
        slots_(terms.slots) {}

  [[nodiscard]] static std::uint64_t region(const Terms& terms) noexcept {
    return 2 * box(terms.size + grh_of(terms), terms.slots);
  }
  [[nodiscard]] std::uint64_t inbox(std::uint64_t number = 0) const noexcept {
    return base_ + number % slots_ * size_ + grh_;
  }
  /// Where the peer's message goes, with what comes before it.
  [[nodiscard]] transport::Receive receive(std::uint64_t number) const noexcept {
    return {.id = number, .va = inbox(number) - grh_, .length = static_cast<std::uint32_t>(size_)};
  }
  [[nodiscard]] std::uint64_t outbox(std::uint64_t number = 0) const noexcept {
    return inbox(number) + box(size_, slots_);
  }

 private:
  static constexpr std::uint64_t grh_of(const Terms& terms) noexcept {
    return terms.transport == wire::Transport::ud ? 40 : 0;
  }
  static constexpr std::uint64_t box(std::uint64_t size, std::uint64_t slots) noexcept {
    constexpr std::uint64_t kPage = 4096;
    return (size * slots + kPage - 1) / kPage * kPage;
  }
  std::uint64_t base_, grh_, size_, slots_;
};

}  // namespace lw::gen
