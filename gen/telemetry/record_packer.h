// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "config/telemetry/record_layout.h"
#include "roce/envelope.h"

namespace lw::gen {

struct PackerCounters {
  std::uint64_t packed = 0;
  std::uint64_t passed_over = 0;  // packets of another IP version or protocol
  std::uint64_t cut = 0;          // packets that end before the end of a field
};

/// Converts each packet that matches a layout to a record, and numbers the records from 0.
class RecordPacker {
 public:
  explicit RecordPacker(config::RecordLayout layout)
      : layout_(std::move(layout)), size_(layout_.size()) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Writes the packet's record into `record`, of size() bytes. Returns false if the packet has no
  /// record; counts it, and leaves `record` undefined.
  bool pack(const roce::Envelope& packet, std::span<std::byte> record) noexcept;
  [[nodiscard]] const PackerCounters& counters() const noexcept { return counters_; }

 private:
  [[nodiscard]] bool takes(const roce::Envelope& packet) const noexcept;
  [[nodiscard]] bool fill(const config::RecordField& field, const roce::Envelope& packet,
                          std::span<std::byte> out) const noexcept;

  config::RecordLayout layout_;
  std::size_t size_;
  PackerCounters counters_;
};

}  // namespace lw::gen
