// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gen/otg/field.h"

/// The fields of packet headers as rows, and the patterns of their values. Each field of a header
/// is one row of a HeaderTable; the messages of its pattern, Pattern.Flow.Ipv4.Src and the like,
/// are made from the row.
namespace lw::gen::otg {

/// The value of a field of any width up to 128 bits.
__extension__ using Bits = unsigned __int128;

/// The value of an address.
template <std::size_t size>
Bits bits_of_bytes(const std::array<std::byte, size>& bytes) noexcept {
  Bits bits = 0;
  for (const std::byte byte : bytes) bits = bits << 8 | std::to_integer<unsigned>(byte);
  return bits;
}

/// Start, step and number of values, after which they begin again.
struct PatternCounter {
  Bits start = 0, step = 0;
  std::uint64_t count = 1;
};

/// The values of one field, from frame to frame.
struct ValuePattern {
  std::string path, choice;  // value, values, auto, increment, decrement
  Bits value = 0;
  std::vector<Bits> values;
  PatternCounter increment, decrement;
};

/// The patterns of a header by the index of the field in its table. Absent fields have none.
using Patterns = std::map<std::size_t, ValuePattern>;

/// A row: one field of a header.
struct PatternField {
  /// What a pattern may have besides values and counters.
  enum class More : std::uint8_t {
    none,
    computed,         // auto, which is the default
    random,           // refused
    dhcp,             // auto, which is refused
    dhcp_and_random,  // both are refused
  };
  std::string_view name;      // in the JSON: "time_to_live"
  std::string_view model;     // "Ipv4.TimeToLive"
  std::uint16_t at, width;    // first bit, from the header's start, and number of bits
  std::string_view standard;  // value of the model where a pattern has none
  More more = More::none;
  std::string_view meaning = "its values, from frame to frame";
  Field::Type type = Field::Type::integer;
  std::string_view step = "1";
  std::uint64_t most = 0;  // value; 0: all bits
  /// The field is computed where its pattern is absent, whatever `standard` says.
  bool fits = false;
};

enum class HeaderKind : std::uint8_t { ethernet, vlan, ipv4, raw, tos, dscp, ipv6, udp };

/// The fields of a header, or of a part of it.
struct HeaderTable {
  std::string_view name;  // of its message: "Flow.Ipv4"
  std::span<const PatternField> fields;
};
const HeaderTable& table_of(HeaderKind kind) noexcept;

/// The messages of a pattern, whose struct is ValuePattern, and of its counters, whose struct is
/// PatternCounter. Static; made at their first use.
using MessageFunction = const ModelMessage& (*)();
const ModelMessage& pattern_message(HeaderKind kind, std::size_t field, MessageFunction counter);
const ModelMessage& counter_message(HeaderKind kind, std::size_t field);

/// The rows of all fields of a header, of a struct whose Patterns are `open(object)`.
template <HeaderKind kind, Patterns& (*open)(void* object)>
std::vector<Field> pattern_rows();

/// The value that a pattern of the field has without any other: that of the model.
Bits standard_of(const PatternField& field);

/// The value of frame `number`, from 0. Not of `auto`.
[[nodiscard]] Bits value_at(const ValuePattern& pattern, std::uint64_t number) noexcept;
/// All frames have the same value.
[[nodiscard]] bool is_constant(const ValuePattern& pattern) noexcept;

/// Writes the lowest `width` bits of a value at a bit of a frame, which has room for them.
void put_bits(std::span<std::byte> frame, std::size_t at, std::size_t width, Bits value) noexcept;

namespace pattern_detail {

template <HeaderKind kind, std::size_t index>
const ModelMessage& counter() {
  return counter_message(kind, index);
}

template <HeaderKind kind, std::size_t index>
const ModelMessage& message() {
  return pattern_message(kind, index, &counter<kind, index>);
}

template <HeaderKind kind, std::size_t index, Patterns& (*open)(void*)>
Field row() {
  const PatternField& field = table_of(kind).fields[index];
  return {.name = field.name,
          .meaning = field.meaning,
          .type = Field::Type::object,
          .message = &message<kind, index>,
          .open = [](void* object) -> void* { return &open(object)[index]; }};
}

/// Fields of the longest table.
inline constexpr std::size_t kMostFields = 13;

template <HeaderKind kind, Patterns& (*open)(void*), std::size_t... index>
std::vector<Field> rows(std::index_sequence<index...> /*indices*/) {
  std::vector<Field> all;
  const std::size_t count = table_of(kind).fields.size();
  ((index < count ? all.push_back(row<kind, index, open>()) : void()), ...);
  return all;
}

}  // namespace pattern_detail

template <HeaderKind kind, Patterns& (*open)(void* object)>
std::vector<Field> pattern_rows() {
  return pattern_detail::rows<kind, open>(std::make_index_sequence<pattern_detail::kMostFields>());
}

}  // namespace lw::gen::otg
