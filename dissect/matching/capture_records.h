// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <vector>

#include "core/time.h"
#include "dissect/limits.h"
#include "dissect/points/frame_identity.h"

namespace lw::dissect {

/// A RoCE frame seen at a capture point.
struct CaptureRecord {
  Identity identity = 0;  // 0 after CaptureRecords::free_keys(), as `icrc` and `rest`
  std::int64_t stamp_ns = 0;
  std::uint32_t order = 0;   // index among the point's records
  std::uint32_t number = 0;  // of the frame in its file
  std::uint32_t flow = 0;    // index into FlowNames
  std::uint32_t icrc = 0;    // as captured; 0: frames are recognised by content
  std::uint32_t psn = 0;
  std::uint16_t rest = 0;    // hash of the first bytes behind the BTH
  std::uint16_t form = 0;    // index into HeaderForms: less than 2^14
  std::uint16_t length = 0;  // from the BTH to the ICRC's end, on the wire
  std::uint8_t opcode = 0;
  bool bad_icrc = false;
  bool ce = false;
};
bool is_request(const CaptureRecord& record) noexcept;
bool is_answer(const CaptureRecord& record) noexcept;
/// Whether its sender repeats it if it is lost.
bool is_rc_request(const CaptureRecord& record) noexcept;

/// The frames of a capture point in the order of its file: 34 bytes each, 24 without what only
/// matching needs. A record is put together when it is asked for.
class CaptureRecords {
 public:
  /// By `by_icrc`, the identities hold the ICRC (see identity_of()).
  CaptureRecords() = default;
  explicit CaptureRecords(bool by_icrc) : by_icrc_(by_icrc) {}

  /// Adds a frame; its order is given to it.
  void push_back(const CaptureRecord& record);
  /// Frees what only matching needs: identities and hashes.
  void free_keys();

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::int64_t stamp_ns(std::size_t order) const noexcept {
    return blocks_[order / kBlock]->frames[order % kBlock].stamp_ns;
  }
  /// 0 after free_keys().
  [[nodiscard]] Identity identity(std::size_t order) const noexcept {
    const Keys* keys = blocks_[order / kBlock]->keys.get();
    return keys ? keys->identities[order % kBlock] : 0;
  }
  [[nodiscard]] CaptureRecord operator[](std::size_t order) const noexcept {
    const Block& block = *blocks_[order / kBlock];
    const Frame& frame = block.frames[order % kBlock];
    const Keys* keys = block.keys.get();
    const Identity identity = keys ? keys->identities[order % kBlock] : 0;
    return {.identity = identity,
            .stamp_ns = frame.stamp_ns,
            .order = static_cast<std::uint32_t>(order),
            .number = frame.number,
            .flow = frame.flow,
            .icrc = by_icrc_ ? static_cast<std::uint32_t>(identity) : 0,
            .psn = frame.psn,
            .rest = keys ? keys->rests[order % kBlock] : std::uint16_t{0},
            .form = frame.form,
            .length = frame.length,
            .opcode = static_cast<std::uint8_t>(frame.opcode),
            .bad_icrc = frame.bad_icrc != 0,
            .ce = frame.ce != 0};
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 14;

  struct Frame {
    std::int64_t stamp_ns;
    std::uint32_t number, flow;
    std::uint32_t psn : 24;
    std::uint32_t opcode : 8;
    std::uint16_t form : 14;
    std::uint16_t bad_icrc : 1;
    std::uint16_t ce : 1;
    std::uint16_t length;
  };
  static_assert(sizeof(Frame) == 24);
  struct Keys {
    std::array<Identity, kBlock> identities;
    std::array<std::uint16_t, kBlock> rests;
  };
  struct Block {
    std::array<Frame, kBlock> frames;
    std::unique_ptr<Keys> keys;
  };

  bool by_icrc_ = true;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
};
/// From this record on, stamps are `by_ns` more than before.
struct StampStep {
  std::uint32_t order = 0;
  std::int64_t by_ns = 0;
};

/// The records of a point, with stamps of its clock before the first of `steps`. Both must outlive
/// it.
class Records {
 public:
  Records(const CaptureRecords& records, std::span<const StampStep> steps = {}) noexcept
      : records_(&records), steps_(steps) {}

  [[nodiscard]] std::size_t size() const noexcept { return records_->size(); }
  [[nodiscard]] bool empty() const noexcept { return records_->empty(); }
  [[nodiscard]] CaptureRecord operator[](std::size_t order) const noexcept {
    CaptureRecord record = (*records_)[order];
    if (!steps_.empty()) record.stamp_ns = stamp_ns(order);
    return record;
  }
  [[nodiscard]] std::int64_t stamp_ns(std::size_t order) const noexcept {
    std::int64_t stamp = records_->stamp_ns(order);
    for (const StampStep& step : steps_)
      if (step.order <= order) stamp = stamp_difference(stamp, step.by_ns);
    return stamp;
  }
  [[nodiscard]] Identity identity(std::size_t order) const noexcept {
    return records_->identity(order);
  }
  /// All records, from the first to the last: a view whose elements are values.
  [[nodiscard]] auto all() const {
    return std::views::iota(std::size_t{0}, size()) |
           std::views::transform([records = *this](std::size_t order) { return records[order]; });
  }

 private:
  const CaptureRecords* records_;
  std::span<const StampStep> steps_;
};

/// The times of the first and the last stamp; 0 without records.
struct StampSpan {
  std::int64_t first = 0, last = 0;
};
StampSpan span_of(Records records) noexcept;

}  // namespace lw::dissect
