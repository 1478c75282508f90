// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace lw::dissect {

/// The begin of the payload of frames, by their number, in blocks of memory: the oldest first.
class KeptPayloads {
 public:
  using Bytes = std::span<const std::byte>;

  /// Keeps a copy of at most kBlock bytes. Numbers rise.
  void keep(std::uint64_t number, Bytes bytes);
  /// The bytes of a frame, until the next call; none: they are not kept. Forgets those of earlier
  /// frames.
  Bytes of(std::uint64_t number);
  void forget_oldest();
  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }

  static constexpr std::size_t kBlock = std::size_t{1} << 16;

 private:
  using Block = std::vector<std::byte>;
  struct Kept {
    std::uint64_t number = 0;
    Bytes bytes;
    bool ends_block = false;  // no later one is in its block
  };

  void add_block();

  std::deque<Kept> kept_;
  std::deque<Block> blocks_;
  std::vector<Block> spare_;
  std::size_t used_ = kBlock;  // bytes of the newest block
};

}  // namespace lw::dissect
