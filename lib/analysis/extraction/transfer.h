// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/extraction/ranges.h"
#include "analysis/requests/sent_log.h"
#include "wire/opcode.h"

namespace lw::analysis {

/// The bytes of a transfer that have been placed. Bytes in order cost a comparison.
class PlacedBytes {
 public:
  /// The parts of `length` >= 1 bytes from `offset` on that have not been placed.
  [[nodiscard]] std::vector<Range> missing_in(std::uint64_t offset, std::uint64_t length) const;
  void add(std::uint64_t offset, std::uint64_t length, std::uint64_t frame);

 private:
  std::uint64_t begin_ = 0;         // all bytes below it are placed
  std::unique_ptr<Ranges> others_;  // placed bytes after it; null: none
};

/// A WRITE, READ or atomic with a captured request: which bytes it moves, and which of them have
/// been placed.
struct Transfer {
  static constexpr std::uint32_t kNoImage = std::numeric_limits<std::uint32_t>::max();

  Sequence psn = 0;
  std::uint32_t span = 1;  // PSNs: of its packets, of a READ's response
  wire::Operation operation = wire::Operation::write;
  bool ended = false;  // an atomic: its response was seen
  bool old = false;    // begun behind the window: later transfers may be forgotten
  bool has_immediate = false, has_address = true;
  std::uint32_t r_key = 0, immediate = 0;
  std::uint32_t mtu = 0;     // bytes of each packet but the last; 0: unknown
  std::uint64_t va = 0;      // of the responder
  std::uint64_t length = 0;  // bytes
  std::uint32_t image = kNoImage;
  std::uint64_t position = 0;   // of its first byte in the image
  std::uint64_t operands[2]{};  // an atomic: compare, and swap or add
  std::uint64_t first_frame = 0, last_frame = 0;
  std::uint64_t placed = 0;  // bytes
  PlacedBytes bytes = {};

  [[nodiscard]] bool is_atomic() const noexcept {
    return operation == wire::Operation::cmp_swap || operation == wire::Operation::fetch_add;
  }
  [[nodiscard]] bool is_read() const noexcept { return operation == wire::Operation::read_request; }
  [[nodiscard]] bool covers(Sequence number) const noexcept {
    return psn <= number && number - psn < span;
  }
};

/// The newest transfers of one direction, in the order of their PSNs.
class TransferLog {
 public:
  /// Holds at most `most` transfers, at least one; `most` may change and outlives this. `forget`
  /// gets each transfer that leaves the log.
  TransferLog(const std::size_t& most, std::function<void(const Transfer&)> forget)
      : most_(most), forget_(std::move(forget)) {}

  /// Returns the transfer that covers a PSN; null: none. Valid until the next add().
  [[nodiscard]] Transfer* find(Sequence psn) noexcept;
  /// Adds a transfer. Forgets another one with the same PSN: the PSN was used again. The result is
  /// valid until the next add().
  Transfer& add(Transfer transfer);
  /// Forgets all transfers.
  void clear();

  /// The parts of a range of `transfer.image` that no later transfer to that image covers,
  /// ascending.
  [[nodiscard]] std::vector<Range> without_later(const Transfer& transfer,
                                                 const Range& range) const;
  /// The PSNs from `first` to `last` that belong to no transfer of the log.
  [[nodiscard]] std::vector<Range> uncovered(const Range& psns) const;

 private:
  const std::size_t& most_;
  std::deque<Transfer> transfers_;
  std::function<void(const Transfer&)> forget_;
  Sequence forgotten_ = 0;  // one past the highest PSN that was forgotten
};

}  // namespace lw::analysis
