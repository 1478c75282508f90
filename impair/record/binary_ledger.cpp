// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/binary_ledger.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.h"

namespace lw::impair::binary_ledger {
namespace {

constexpr std::uint16_t kVersion = 3;
constexpr std::size_t kOldRecordSize = 40;  // version 1, with 16 bits for the rule
constexpr std::uint32_t kNoRule = 0xffffffff;
constexpr std::size_t kHeaderSize = 16, kBlockHead = 8, kEndSize = 16;
enum Block : std::uint32_t { kNames = 1, kRecords = 2, kEnd = 3, kChange = 4 };
constexpr std::int64_t kNeverLeft = std::numeric_limits<std::int64_t>::min();
constexpr std::uint32_t kRoce = 1, kMask24 = 0xffffff, kMask7 = 0x7f;
static_assert(emulator::kStages <= 32, "widen the record to hold kStages");

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * i));
}

template <class T>
T get(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << 8 * i;
  return static_cast<T>(value);
}

/// Puts little-endian numbers side by side.
class Packed {
 public:
  explicit Packed(char* at) noexcept : at_(at) {}
  template <class T>
  void put(T value) noexcept {
    if constexpr (std::endian::native == std::endian::big) value = std::byteswap(value);
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }

 private:
  char* at_;
};

void put_record(char* at, const emulator::LedgerRecord& record, std::int64_t offset_ns) {
  Packed out(at);
  out.put(record.number);
  out.put(to_ns(record.in) + offset_ns);
  out.put(record.went_out() ? to_ns(record.out) + offset_ns : kNeverLeft);
  out.put(static_cast<std::uint32_t>(record.qpn | std::uint32_t{record.opcode} << 24));
  const std::uint32_t acted = record.acted.bits();
  out.put(record.psn | (record.roce ? kRoce : 0) << 24 | (acted >> 16 & kMask7) << 25);
  const std::uint32_t rule = record.rule == emulator::kUntouched ? kNoRule : record.rule;
  out.put(static_cast<std::uint16_t>(rule));
  out.put(static_cast<std::uint16_t>(acted));
  out.put(static_cast<std::uint8_t>(static_cast<unsigned>(record.direction) | (acted >> 23 & kMask7)
                                                                                  << 1));
  out.put(static_cast<std::uint8_t>(static_cast<unsigned>(record.stage) | acted >> 30 << 5));
  out.put(static_cast<std::uint8_t>(static_cast<unsigned>(record.disposition) |
                                    static_cast<unsigned>(record.aimed) << 4));
  out.put(record.copy);
  out.put(static_cast<std::uint16_t>(rule >> 16));
  out.put(std::uint16_t{0});
}

/// Reads the set of stages. Its bits lie where a record has room for them: 0-15 at byte 34, 16-22
/// above the flag of byte 31, 23-29 above the direction, 30-31 above the stage.
emulator::StageSet acted_of(std::span<const std::byte> bytes) {
  return emulator::StageSet::of(get<std::uint16_t>(bytes, 34) |
                                std::uint32_t{get<std::uint8_t>(bytes, 31)} >> 1 << 16 |
                                std::uint32_t{get<std::uint8_t>(bytes, 36)} >> 1 << 23 |
                                std::uint32_t{get<std::uint8_t>(bytes, 37)} >> 5 << 30);
}

/// True if all of these stages exist.
bool is_known(emulator::StageSet acted, std::uint32_t stage) {
  emulator::StageSet all = acted;
  all.add(static_cast<emulator::Stage>(stage));
  const auto named = names_of(all).size() + (all.has(emulator::Stage::none) ? 1 : 0);
  return named == static_cast<std::size_t>(std::popcount(all.bits()));
}

emulator::RuleIndex rule_of(std::span<const std::byte> bytes) {
  const auto low = get<std::uint16_t>(bytes, 32);
  // Version 1 stores only the low half.
  const bool old = bytes.size() == kOldRecordSize;
  const auto high = old && low == 0xffff ? std::uint16_t{0xffff}
                    : old                ? std::uint16_t{0}
                                         : get<std::uint16_t>(bytes, 40);
  const std::uint32_t rule = std::uint32_t{high} << 16 | low;
  return rule == kNoRule ? emulator::kUntouched : rule;
}

/// Returns false if the record has a value that no writer of this version writes.
bool get_record(std::span<const std::byte> bytes, emulator::LedgerRecord& record) {
  const auto out = get<std::int64_t>(bytes, 16);
  const auto qp = get<std::uint32_t>(bytes, 24), psn = get<std::uint32_t>(bytes, 28);
  const std::uint32_t direction = get<std::uint8_t>(bytes, 36) & 1U,
                      stage = get<std::uint8_t>(bytes, 37) & 31U;
  const unsigned disposition = get<std::uint8_t>(bytes, 38) & 15U,
                 aimed = get<std::uint8_t>(bytes, 38) >> 4U;
  const emulator::StageSet acted = acted_of(bytes);
  if (!is_known(acted, stage)) return false;
  if (disposition > static_cast<unsigned>(emulator::Disposition::consumed) ||
      aimed > static_cast<unsigned>(emulator::EventAction::duplicate))
    return false;
  record.number = get<std::uint64_t>(bytes, 0);
  record.in = instant_from_ns(get<std::int64_t>(bytes, 8));
  record.out = instant_from_ns(out == kNeverLeft ? 0 : out);
  record.qpn = qp & kMask24;
  record.opcode = static_cast<std::uint8_t>(qp >> 24);
  record.psn = psn & kMask24;
  record.roce = (psn >> 24 & kRoce) != 0;
  record.rule = rule_of(bytes);
  record.acted = acted;
  record.direction = static_cast<emulator::Direction>(direction);
  record.stage = static_cast<emulator::Stage>(stage);
  record.disposition = static_cast<emulator::Disposition>(disposition);
  record.aimed = static_cast<emulator::EventAction>(aimed);
  record.copy = get<std::uint8_t>(bytes, 39);
  return true;
}

void put_block(std::string& out, Block kind, std::size_t length) {
  put(out, static_cast<std::uint32_t>(kind));
  put(out, static_cast<std::uint32_t>(length));
}

std::optional<RuleNames> get_names(std::span<const std::byte> bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const auto json = parse_json({text, bytes.size()});
  if (!json.is_array() || json.size() != 2) return std::nullopt;
  RuleNames names;
  for (std::size_t way = 0; way < 2; ++way) {
    if (!json[way].is_array()) return std::nullopt;
    for (const auto& name : json[way]) {
      if (!name.is_string()) return std::nullopt;
      names[way].push_back(name.get<std::string>());
    }
  }
  return names;
}

auto wrong(std::size_t offset, std::string_view what) {
  return std::unexpected(fmt::format("byte {}: {}", offset, what));
}

}  // namespace

void put_header(std::string& out) {
  out += kMagic;
  put(out, kVersion);
  put(out, static_cast<std::uint16_t>(kRecordSize));
  put(out, std::uint32_t{0});
}

void put_names(std::string& out, const RuleNames& names) {
  const std::string text =
      nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  put_block(out, kNames, text.size());
  out += text;
}

void put_records(std::string& out, std::span<const emulator::LedgerRecord> records,
                 std::int64_t clock_offset_ns) {
  put_block(out, kRecords, records.size() * kRecordSize);
  std::size_t at = out.size();
  out.resize(at + records.size() * kRecordSize);
  for (const auto& record : records) {
    put_record(out.data() + at, record, clock_offset_ns);
    at += kRecordSize;
  }
}

void put_change(std::string& out, std::string_view json) {
  put_block(out, kChange, json.size());
  out += json;
}

void put_end(std::string& out, std::uint64_t records, std::uint64_t skipped) {
  put_block(out, kEnd, kEndSize);
  put(out, records);
  put(out, skipped);
}

std::expected<std::optional<End>, std::string> read(
    std::span<const std::byte> file,
    const std::function<void(const emulator::LedgerRecord&, const RuleNames&)>& on_record,
    const std::function<void(std::string_view json)>& on_change) {
  const std::string_view begins(reinterpret_cast<const char*>(file.data()),
                                std::min(file.size(), kMagic.size()));
  if (begins != kMagic)
    return wrong(0, fmt::format("expected a ledger (LWLEDGER), found {}",
                                file.empty() ? "an empty file" : "something else"));
  if (file.size() < kHeaderSize) return wrong(file.size(), "the file ends within its head");
  const auto version = get<std::uint16_t>(file, 8);
  const std::size_t size = get<std::uint16_t>(file, 10);
  const std::size_t expected = version == 2 || version == kVersion ? kRecordSize
                               : version == 1                      ? kOldRecordSize
                                                                   : 0;
  if (expected == 0 || size != expected)
    return wrong(8, fmt::format("expected version 2 or {} with records of {} B, or version 1 of "
                                "{} B; found version {} of {} B",
                                kVersion, kRecordSize, kOldRecordSize, version, size));
  RuleNames names;
  for (std::size_t at = kHeaderSize; at < file.size();) {
    if (file.size() - at < kBlockHead) return wrong(at, "the file ends within a block's head");
    const auto kind = get<std::uint32_t>(file, at), length = get<std::uint32_t>(file, at + 4);
    const std::size_t begin = at + kBlockHead;
    if (file.size() - begin < length) return wrong(at, "the file ends within a block");
    const auto body = file.subspan(begin, length);
    if (kind == kEnd && length == kEndSize) {
      const std::size_t behind = file.size() - begin - length;
      if (behind > 0)
        return wrong(begin + length, fmt::format("expected the ledger's end, found {} B", behind));
      return End{get<std::uint64_t>(body, 0), get<std::uint64_t>(body, 8)};
    }
    if (kind == kNames) {
      const auto read = get_names(body);
      if (!read) return wrong(begin, "expected two lists of rules' names");
      names = *read;
    } else if (kind == kRecords && length % size == 0) {
      emulator::LedgerRecord record;
      for (std::size_t i = 0; i < length; i += size) {
        if (!get_record(body.subspan(i, size), record))
          return wrong(begin + i, "expected a record, found values that mean nothing");
        on_record(record, names);
      }
    } else if (kind == kChange) {
      const std::string_view json(reinterpret_cast<const char*>(body.data()), body.size());
      if (!parse_json(json).is_object()) return wrong(begin, "expected a change as JSON");
      if (on_change) on_change(json);
    } else {
      return wrong(
          at, fmt::format("expected a block of kind 1 to 4, found kind {} of {} B", kind, length));
    }
    at = begin + length;
  }
  return std::nullopt;
}

}  // namespace lw::impair::binary_ledger
