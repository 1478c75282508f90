// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "capture/record.h"

namespace lw::dissect {

/// Records that were read before their turn, with their bytes, in the order of the file. It holds
/// what its owner adds: the owner bounds it.
class RecordBuffer {
 public:
  void add(const capture::Record& record) {
    const std::size_t size = record.bytes.size();
    if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() < size) {
      chunks_.emplace_back();
      chunks_.back().reserve(std::max(size, kChunk));
    }
    std::vector<std::byte>& chunk = chunks_.back();
    records_.push_back({record, std::string(record.comment), chunks_.size() - 1, chunk.size()});
    chunk.insert(chunk.end(), record.bytes.begin(), record.bytes.end());
    bytes_ += size;
  }

  [[nodiscard]] bool empty() const noexcept { return next_ == records_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return records_.size() - next_; }
  /// Bytes of all records that were added.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// The record at `index`, from 0, of those that were not removed. Valid until the next add().
  [[nodiscard]] capture::Record at(std::size_t index) const { return record_of(next_ + index); }
  /// Removes the first record and returns it; it is valid until clear(). Requires !empty().
  capture::Record pop_first() { return record_of(next_++); }
  /// Frees the memory. Call it when all records were removed and the last one is not needed.
  void clear() { *this = {}; }

 private:
  struct Kept {
    capture::Record record;
    std::string comment;
    std::size_t chunk, offset;  // where its bytes are
  };

  [[nodiscard]] capture::Record record_of(std::size_t index) const {
    const Kept& kept = records_[index];
    capture::Record record = kept.record;
    record.bytes =
        capture::Bytes(chunks_[kept.chunk]).subspan(kept.offset, kept.record.bytes.size());
    record.comment = kept.comment;
    return record;
  }

  /// One growing vector would copy its bytes again and again, each time into new pages.
  static constexpr std::size_t kChunk = std::size_t{64} << 10;

  std::vector<Kept> records_;
  std::vector<std::vector<std::byte>> chunks_;
  std::size_t bytes_ = 0;
  std::size_t next_ = 0;  // the first that was not taken
};

}  // namespace lw::dissect
