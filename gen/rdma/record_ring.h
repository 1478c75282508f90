// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "config/telemetry/record_layout.h"

namespace lw::gen::rdma {

/// Reads the records of a layout: their numbers, and their fields as text. Addresses, of a header
/// whose kind the layout names, are shown as such, and all other fields in hexadecimal.
class RecordReader {
 public:
  explicit RecordReader(config::RecordLayout layout);

  /// Bytes of a record.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The counter of a record, and the bits that it has.
  [[nodiscard]] std::uint64_t counter_of(std::span<const std::byte> record) const noexcept;
  [[nodiscard]] std::uint64_t counter_mask() const noexcept;
  /// Writes a counter into a record, modulo what its bytes hold.
  void set_counter(std::span<std::byte> record, std::uint64_t number) const noexcept;

  /// "source,destination,...\n"
  [[nodiscard]] std::string csv_header() const;
  /// A line of CSV, or an object of JSON, with its newline. The counter is a number in JSON.
  [[nodiscard]] std::string csv_line(std::span<const std::byte> record) const;
  [[nodiscard]] std::string json_line(std::span<const std::byte> record) const;

 private:
  config::RecordLayout layout_;
  std::size_t size_ = 0, counter_ = 0, counter_bytes_ = 0;  // place of the counter in a record
};

/// What a reader of a ring found.
struct RingCounts {
  std::uint64_t records = 0;  // taken
  std::uint64_t lapped = 0;   // overwritten before they were read
  std::uint64_t lost = 0;     // never written, while later ones were
  std::uint64_t laps = 0;     // times that the writer overtook the reader
};

/// Follows a ring that a peer writes by RDMA: record n is in slot n modulo the number of slots, and
/// its counter is n. Records are copied before they are given away, and given only if their counter
/// was still the same afterwards. One thread; the memory is written by others.
class RecordRing {
 public:
  using Take = std::function<void(std::span<const std::byte>)>;

  /// `ring` holds whole records and is filled with bytes that no expected counter has. It and
  /// `reader` outlive this object.
  RecordRing(const RecordReader& reader, std::span<std::byte> ring);

  /// Gives new records to `take`, in order, at most one lap. Returns their number.
  std::size_t poll(const Take& take);
  /// Counts the gaps at the end, when `written` records have been written.
  void finish(std::uint64_t written, const Take& take);

  [[nodiscard]] const RingCounts& counts() const noexcept { return counts_; }

 private:
  /// Counter of a slot relative to the expected one: 0 it is there, negative: older, positive:
  /// the writer is a lap ahead.
  [[nodiscard]] std::int64_t distance_at(std::uint64_t number) const noexcept;
  [[nodiscard]] bool is_newer_behind() const noexcept;
  [[nodiscard]] std::span<std::byte> slot(std::uint64_t number) const noexcept;
  void skip_lap(std::uint64_t ahead) noexcept;

  const RecordReader& reader_;
  std::span<std::byte> ring_;
  std::uint64_t slots_, next_ = 0;
  std::vector<std::byte> copy_;
  RingCounts counts_;
};

}  // namespace lw::gen::rdma
