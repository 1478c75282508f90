// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "config/telemetry/record_layout.h"
#include "core/figure.h"

namespace lw::gen::endpoint {

/// Reads the records of a layout: their counters, and their fields as text. Addresses in a header
/// of known kind are formatted as addresses, all other fields as hexadecimal.
class RecordReader {
 public:
  explicit RecordReader(config::RecordLayout layout);

  /// Size of a record in bytes.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The counter of a record, and the mask of the bits that it has.
  [[nodiscard]] std::uint64_t counter_of(std::span<const std::byte> record) const noexcept;
  [[nodiscard]] std::uint64_t counter_mask() const noexcept;
  /// Writes a counter into a record, truncated to the size of its field.
  void set_counter(std::span<std::byte> record, std::uint64_t number) const noexcept;

  /// Returns the header line, with a newline: "source,destination,...".
  [[nodiscard]] std::string csv_header() const;
  /// Return a record as a line of CSV, or as a JSON object, with a newline. The counter is a number
  /// in JSON.
  [[nodiscard]] std::string csv_line(std::span<const std::byte> record) const;
  [[nodiscard]] std::string json_line(std::span<const std::byte> record) const;

 private:
  config::RecordLayout layout_;
  std::size_t size_ = 0, counter_ = 0, counter_bytes_ = 0;  // counter_: offset in a record
};

/// Counters of a ring's reader.
struct RingCounts {
  std::uint64_t records = 0;  // records read
  std::uint64_t lapped = 0;   // records overwritten before they were read
  std::uint64_t lost = 0;     // records that were never written, although later ones were
  std::uint64_t laps = 0;     // number of times that the writer overtook the reader

  static const FigureTable& figures();
};

/// Reads a ring that a peer writes by RDMA: record n is in slot n modulo the number of slots, and
/// its counter is n. A record is copied before it is passed on, and passed on only if its counter
/// is unchanged after the copy. One thread; other processes write the memory.
class RecordRing {
 public:
  using OnRecord = std::function<void(std::span<const std::byte>)>;

  /// `ring` has the size of whole records and is filled with bytes that no expected counter has.
  /// `ring` and `reader` must outlive this object.
  RecordRing(const RecordReader& reader, std::span<std::byte> ring);

  /// Passes new records to `on_record`, in order, and counts gaps: at most one lap of both,
  /// whatever the counters say. Returns the number of records.
  std::size_t poll(const OnRecord& on_record);
  /// Counts the gaps at the end of a session, after `written` records were written, as the peer
  /// says: any number.
  void finish(std::uint64_t written, const OnRecord& on_record);

  [[nodiscard]] const RingCounts& counts() const noexcept { return counts_; }

 private:
  /// Counter in a slot relative to the expected one. 0: the record is there; negative: the slot
  /// holds an older one; positive: the writer is a lap ahead.
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

}  // namespace lw::gen::endpoint
