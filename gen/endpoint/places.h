// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/endpoint/endpoint.h"

namespace lw::gen {

/// How a connection's memory is laid out on either side: first the inbox, where the peer's
/// messages go and where what is read arrives, then the outbox, what is sent and what the peer
/// reads. Message i has slot i modulo `slots` in each.
class Places {
 public:
  Places(std::uint32_t qpn, const Terms& terms) noexcept
      : base_(Connection::va_of(qpn)), size_(terms.size), slots_(terms.slots) {}

  [[nodiscard]] static std::uint64_t region(const Terms& terms) noexcept {
    return 2 * box(terms.size, terms.slots);
  }
  [[nodiscard]] std::uint64_t inbox(std::uint64_t number = 0) const noexcept {
    return base_ + number % slots_ * size_;
  }
  [[nodiscard]] std::uint64_t outbox(std::uint64_t number = 0) const noexcept {
    return inbox(number) + box(size_, slots_);
  }

 private:
  static constexpr std::uint64_t box(std::uint64_t size, std::uint64_t slots) noexcept {
    constexpr std::uint64_t kPage = 4096;
    return (size * slots + kPage - 1) / kPage * kPage;
  }
  std::uint64_t base_, size_, slots_;
};

}  // namespace lw::gen
