// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wire/view.h"

namespace lw::gen {

/// Which side filled a message.
enum class Author : std::uint8_t { client, responder };

/// What a message of perf holds, so that its receiver can tell every byte of it: its number in the
/// first eight bytes (big-endian; of a shorter one the lowest), then a pattern of its author's.
class Contents {
 public:
  Contents(Author author, std::uint32_t size);

  /// A whole message; it is `size` bytes long.
  void write(wire::MutableBytes message, std::uint64_t number) const noexcept;
  /// Its number alone: the pattern is there already.
  void number(wire::MutableBytes message, std::uint64_t number) const noexcept;
  /// The number that a message says it has.
  [[nodiscard]] std::uint64_t number_of(wire::Bytes message) const noexcept;
  /// Whether it is that message, or one of a higher number by a multiple of `step` up to `most`:
  /// its sender may have used the place again already.
  [[nodiscard]] bool holds(wire::Bytes message, std::uint64_t number, std::uint64_t step = 0,
                           std::uint64_t most = 0) const noexcept;

 private:
  std::size_t head_;                // bytes of the number
  std::vector<std::byte> pattern_;  // behind it
};

}  // namespace lw::gen
