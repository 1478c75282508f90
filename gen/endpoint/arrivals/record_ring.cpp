// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/arrivals/record_ring.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "report/json_line.h"
#include "report/table.h"
#include "wire/address.h"

namespace lw::gen::endpoint {
namespace {

constexpr std::uint64_t kLookAhead = 64;  // records searched after a gap

using config::RecordField, config::RecordSource;
using Bytes = std::span<const std::byte>;

template <class Address>
std::string address_text(Bytes bytes) {
  Address address;
  std::ranges::copy(bytes, address.bytes.begin());
  return wire::to_string(address);
}

std::string hex_text(Bytes bytes) {
  std::string text;
  for (const std::byte each : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return text;
}

/// Returns true if a field is one of a header's two addresses, which are adjacent and begin at
/// `first`.
bool is_address(const RecordField& field, RecordSource header, std::size_t first,
                std::size_t bytes) noexcept {
  return field.source == header && field.bytes == bytes &&
         (field.offset == first || field.offset == first + bytes);
}

std::string text_of(const config::RecordLayout& layout, const RecordField& field, Bytes bytes) {
  if (layout.ip_version == 4 && is_address(field, RecordSource::ip, 12, 4))
    return address_text<wire::Ipv4Address>(bytes);
  if (layout.ip_version == 6 && is_address(field, RecordSource::ip, 8, 16))
    return address_text<wire::Ipv6Address>(bytes);
  if (is_address(field, RecordSource::ethernet, 0, 6)) return address_text<wire::MacAddress>(bytes);
  return hex_text(bytes);
}

}  // namespace

RecordReader::RecordReader(config::RecordLayout layout)
    : layout_(std::move(layout)), size_(layout_.size()) {
  for (const RecordField& field : layout_.fields) {
    counter_bytes_ = field.bytes;
    if (field.source == RecordSource::counter) return;
    counter_ += field.bytes;
  }
}

std::uint64_t RecordReader::counter_of(Bytes record) const noexcept {
  std::uint64_t value = 0;
  for (const std::byte each : record.subspan(counter_, counter_bytes_))
    value = value << 8 | std::to_integer<std::uint64_t>(each);
  return value;
}

void RecordReader::set_counter(std::span<std::byte> record, std::uint64_t number) const noexcept {
  for (std::size_t i = counter_bytes_; i-- > 0; number >>= 8)
    record[counter_ + i] = static_cast<std::byte>(number);
}

std::uint64_t RecordReader::counter_mask() const noexcept {
  const std::size_t bits = 8 * counter_bytes_;
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

std::string RecordReader::csv_header() const {
  std::string line;
  for (const RecordField& field : layout_.fields)
    line.append(line.empty() ? "" : ",").append(report::csv_field(field.name));
  return line + "\n";
}

std::string RecordReader::csv_line(Bytes record) const {
  std::string line;
  for (const RecordField& field : layout_.fields) {
    line.append(line.empty() ? "" : ",").append(text_of(layout_, field, record.first(field.bytes)));
    record = record.subspan(field.bytes);
  }
  return line + "\n";
}

std::string RecordReader::json_line(Bytes record) const {
  report::Json json;
  Bytes rest = record;
  for (const RecordField& field : layout_.fields) {
    if (field.source == RecordSource::counter) {
      json[field.name] = counter_of(record);
    } else {
      json[field.name] = text_of(layout_, field, rest.first(field.bytes));
    }
    rest = rest.subspan(field.bytes);
  }
  return report::json_line(json);
}

RecordRing::RecordRing(const RecordReader& reader, std::span<std::byte> ring)
    : reader_(reader), ring_(ring), slots_(ring.size() / reader.size()), copy_(reader.size()) {
  // Fills the slots with the counters of the lap before the first.
  for (std::uint64_t n = 0; n < slots_; ++n) reader_.set_counter(slot(n), n - slots_);
}

std::span<std::byte> RecordRing::slot(std::uint64_t number) const noexcept {
  return ring_.subspan(number % slots_ * reader_.size(), reader_.size());
}

std::int64_t RecordRing::distance_at(std::uint64_t number) const noexcept {
  std::atomic_signal_fence(std::memory_order_acquire);
  const std::uint64_t mask = reader_.counter_mask();
  const std::uint64_t ahead = (reader_.counter_of(slot(number)) - number) & mask;
  return ahead <= mask / 2 ? static_cast<std::int64_t>(ahead)
                           : -static_cast<std::int64_t>((~ahead & mask) + 1);
}

/// Returns true if a record after the missing one has arrived. The caller then checks the missing
/// record again, because it may have arrived in between.
bool RecordRing::is_newer_behind() const noexcept {
  for (std::uint64_t i = 1; i <= std::min(kLookAhead, slots_ - 1); ++i)
    if (distance_at(next_ + i) >= 0) return distance_at(next_) < 0;
  return false;
}

/// Continues with the newer record in the slot.
void RecordRing::skip_lap(std::uint64_t ahead) noexcept {
  ++counts_.laps;
  counts_.lapped += ahead;
  next_ += ahead;
}

std::size_t RecordRing::poll(const OnRecord& on_record) {
  std::size_t taken = 0;
  for (std::uint64_t steps = 0; steps < slots_; ++steps) {
    const std::int64_t distance = distance_at(next_);
    const auto ahead = static_cast<std::uint64_t>(std::max<std::int64_t>(distance, 0));
    if (ahead >= slots_) {
      skip_lap(ahead);
      continue;
    }
    if (distance < 0 && !is_newer_behind()) return taken;
    if (distance != 0) {  // a gap, or an invalid counter
      ++counts_.lost;
      ++next_;
      continue;
    }
    std::ranges::copy(slot(next_), copy_.begin());
    if (distance_at(next_) != 0) continue;  // overwritten meanwhile
    ++next_;
    ++taken;
    ++counts_.records;
    on_record(copy_);
  }
  return taken;
}

/// The ring has one lap of records at most, and a peer may still write: after two laps the rest
/// counts as lost.
void RecordRing::finish(std::uint64_t written, const OnRecord& on_record) {
  const std::uint64_t absent = std::min(kLookAhead, slots_ - 1) + 1;  // after an empty poll
  for (std::uint64_t passed = 0; next_ < written && passed < 2 * slots_;) {
    const std::uint64_t taken = poll(on_record);
    const std::uint64_t lost =
        taken > 0 || next_ >= written ? 0 : std::min(absent, written - next_);
    counts_.lost += lost;
    next_ += lost;
    passed += std::max(taken, absent);
  }
  if (next_ >= written) return;
  counts_.lost += written - next_;
  next_ = written;
}

const FigureTable& RingCounts::figures() {
  using Row = FigureOf<RingCounts>;
  static constexpr Figure kRows[] = {
      Row::of<&RingCounts::records>("records", "Records taken."),
      Row::of<&RingCounts::lapped>("lapped", "Records overwritten before they were taken."),
      Row::of<&RingCounts::laps>("laps", "Times that the writer overtook the reader."),
      Row::of<&RingCounts::lost>("lost", "Records that are missing by their counter.")};
  static constexpr FigureTable kTable{"Records of telemetry.", kRows};
  return kTable;
}

}  // namespace lw::gen::endpoint
