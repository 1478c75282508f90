// SPDX-License-Identifier: BSD-3-Clause
#include "gen/rdma/record_ring.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "report/json_line.h"
#include "wire/address.h"

namespace lw::gen::rdma {
namespace {

constexpr std::string_view kFlow48 =
    "source:ip6,destination:ip6,source_port:hex2,destination_port:hex2,sequence:hex4,"
    "acknowledgement:hex4,counter:counter4";
constexpr std::uint64_t kLookAhead = 64;  // records behind a gap

/// The N of "hexN"; 0: none.
std::size_t number_after(std::string_view word, std::string_view prefix) noexcept {
  std::size_t number = 0;
  if (!word.starts_with(prefix)) return 0;
  const auto [end, error] =
      std::from_chars(word.data() + prefix.size(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size() ? number : 0;
}

/// Kind and size of "ip6", "ip4", "hexN" or "counterN"; size 0: none of them.
std::pair<RecordField, std::size_t> kind_of(std::string_view word) noexcept {
  if (word == "ip6") return {RecordField::ip6, 16};
  if (word == "ip4") return {RecordField::ip4, 4};
  const std::size_t counter = number_after(word, "counter");
  if (counter > 0) return {RecordField::counter, counter <= 8 ? counter : 0};
  const std::size_t hex = number_after(word, "hex");
  return {RecordField::hex, hex <= 4096 ? hex : 0};
}

std::uint64_t big_endian(std::span<const std::byte> bytes) noexcept {
  std::uint64_t value = 0;
  for (const std::byte each : bytes) value = value << 8 | std::to_integer<std::uint64_t>(each);
  return value;
}

}  // namespace

Parsed<RecordLayout> RecordLayout::parse(std::string_view text) {
  RecordLayout layout;
  std::string_view rest = text == "flow48" ? kFlow48 : text;
  std::size_t counters = 0;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const std::size_t colon = word.find(':');
    const auto [kind, size] =
        kind_of(colon == std::string_view::npos ? std::string_view{} : word.substr(colon + 1));
    if (size == 0 || colon == 0)
      return std::unexpected(fmt::format(
          "expected NAME:KIND with the kinds ip6, ip4, hexN and counterN (N bytes), found \"{}\"",
          word));
    if (kind == RecordField::counter) layout.counter_ = layout.fields_.size();
    if (kind == RecordField::counter) ++counters;
    layout.fields_.push_back({std::string(word.substr(0, colon)), kind, layout.size_, size});
    layout.size_ += size;
  }
  if (counters == 1) return layout;
  return std::unexpected(fmt::format(
      "expected one counterN among the fields, which tells old records from new ones, found {}",
      counters));
}

std::uint64_t RecordLayout::counter_of(std::span<const std::byte> record) const noexcept {
  const Field& field = fields_[counter_];
  return big_endian(record.subspan(field.offset, field.size));
}

std::uint64_t RecordLayout::counter_mask() const noexcept {
  const std::size_t bits = 8 * fields_[counter_].size;
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

std::string RecordLayout::text_of(const Field& field, std::span<const std::byte> record) const {
  const auto bytes = record.subspan(field.offset, field.size);
  if (field.kind == RecordField::ip6) {
    wire::Ipv6Address address;
    std::ranges::copy(bytes, address.bytes.begin());
    return wire::to_string(address);
  }
  if (field.kind == RecordField::ip4) {
    wire::Ipv4Address address;
    std::ranges::copy(bytes, address.bytes.begin());
    return wire::to_string(address);
  }
  std::string text;
  for (const std::byte each : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return text;
}

std::string RecordLayout::csv_header() const {
  std::string line;
  for (const Field& field : fields_) line.append(line.empty() ? "" : ",").append(field.name);
  return line + "\n";
}

std::string RecordLayout::csv_line(std::span<const std::byte> record) const {
  std::string line;
  for (const Field& field : fields_)
    line.append(line.empty() ? "" : ",").append(text_of(field, record));
  return line + "\n";
}

std::string RecordLayout::json_line(std::span<const std::byte> record) const {
  report::Json json;
  for (const Field& field : fields_) {
    if (field.kind == RecordField::counter) {
      json[field.name] = counter_of(record);
    } else {
      json[field.name] = text_of(field, record);
    }
  }
  return report::json_line(json);
}

RecordRing::RecordRing(const RecordLayout& layout, std::span<std::byte> ring)
    : layout_(layout), ring_(ring), slots_(ring.size() / layout.size()), copy_(layout.size()) {
  // The counters of the lap before the first.
  const auto& fields = layout.fields();
  const auto counter = std::ranges::find(fields, RecordField::counter, &RecordLayout::Field::kind);
  for (std::uint64_t n = 0; n < slots_; ++n) {
    std::uint64_t old = n - slots_;
    const auto bytes = slot(n).subspan(counter->offset, counter->size);
    for (std::size_t i = bytes.size(); i-- > 0; old >>= 8) bytes[i] = static_cast<std::byte>(old);
  }
}

std::span<std::byte> RecordRing::slot(std::uint64_t number) const noexcept {
  return ring_.subspan(number % slots_ * layout_.size(), layout_.size());
}

std::int64_t RecordRing::distance_at(std::uint64_t number) const noexcept {
  std::atomic_signal_fence(std::memory_order_acquire);
  const std::uint64_t mask = layout_.counter_mask();
  const std::uint64_t ahead = (layout_.counter_of(slot(number)) - number) & mask;
  return ahead <= mask / 2 ? static_cast<std::int64_t>(ahead)
                           : -static_cast<std::int64_t>((~ahead & mask) + 1);
}

/// Whether a record after the missing one is there. The missing one is then looked at again: it may
/// have come in between.
bool RecordRing::is_newer_behind() const noexcept {
  for (std::uint64_t i = 1; i <= std::min(kLookAhead, slots_ - 1); ++i)
    if (distance_at(next_ + i) >= 0) return distance_at(next_) < 0;
  return false;
}

/// Goes on with the newer record that is in the slot.
void RecordRing::skip_lap(std::uint64_t ahead) noexcept {
  ++counts_.laps;
  counts_.lapped += ahead;
  next_ += ahead;
}

std::size_t RecordRing::poll(const Take& take) {
  std::size_t taken = 0;
  while (taken < slots_) {
    const std::int64_t distance = distance_at(next_);
    const auto ahead = static_cast<std::uint64_t>(std::max<std::int64_t>(distance, 0));
    if (ahead >= slots_) {
      skip_lap(ahead);
      continue;
    }
    if (distance < 0 && !is_newer_behind()) return taken;
    if (distance != 0) {  // a gap, or a counter that belongs elsewhere
      ++counts_.lost;
      ++next_;
      continue;
    }
    std::ranges::copy(slot(next_), copy_.begin());
    if (distance_at(next_) != 0) continue;  // overwritten meanwhile
    ++next_;
    ++taken;
    ++counts_.records;
    take(copy_);
  }
  return taken;
}

void RecordRing::finish(std::uint64_t written, const Take& take) {
  while (next_ < written) {
    poll(take);
    if (next_ >= written) return;
    ++counts_.lost;
    ++next_;
  }
}

}  // namespace lw::gen::rdma
