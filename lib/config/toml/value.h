// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lw::config {

/// Where something stands in a profile: lines and columns from 1, columns in characters.
struct Position {
  std::uint32_t line = 0, column = 0;
  friend constexpr auto operator<=>(const Position&, const Position&) = default;
};

struct Value;
struct Entry;
using Array = std::vector<Value>;
using Entries = std::vector<Entry>;  // a table, in the order of its keys' names

/// A date or time: TOML has them, profiles don't.
struct DateOrTime {};

/// One value of a profile, with its place. What TOML says and no more: units and ranges are read
/// by readers.h.
struct Value {
  Position at;
  std::variant<bool, std::int64_t, double, std::string, Array, Entries, DateOrTime> data;
  bool dotted = false;  // a table that dotted keys made: queue.rate = ..., not queue = {...}
};

struct Entry {
  std::string key;
  Position at;  // of the key
  Value value;
};

/// What was found, as an error says it: `"fast"`, `-1`, `a table`.
std::string describe(const Value& value);

/// A string's text, or a number as it would be written; empty for anything else.
std::string text_of(const Value& value);

}  // namespace lw::config
