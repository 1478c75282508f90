// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/quantity.h"
#include "wire/address.h"

namespace lw::config {

/// Position in a profile or in a file that it includes. Lines and columns start at 1; columns
/// count characters.
struct FilePosition {
  std::uint32_t line = 0, column = 0;
  std::uint32_t file = 0;  // 0: the profile; others: files that it includes, in order of reading
  friend constexpr auto operator<=>(const FilePosition&, const FilePosition&) = default;
};

class ClientFiles;
struct Value;
struct Entry;
using Array = std::vector<Value>;
using Entries = std::vector<Entry>;  // a table, sorted by key

/// A TOML date or time. Profiles use none.
struct DateOrTime {};

/// One TOML value and its position. The readers below convert it and check units and ranges.
struct Value {
  FilePosition at;
  std::variant<bool, std::int64_t, double, std::string, Array, Entries, DateOrTime> data;
  bool dotted = false;  // a table from dotted keys: queue.rate = ..., not queue = {...}
  const ClientFiles* only = nullptr;  // of a remote client: the files that it may name
  bool exact = false;  // a number written as 1e-3, or by a program: as a share it is no percentage
};

struct Entry {
  std::string key;
  FilePosition at;  // of the key
  Value value;
};

/// Marks a value and all within it as a remote client's. `only` may be null, and must outlive it.
void restrict_files(Value& value, const ClientFiles* only);

/// The value as error messages show it: `"fast"`, `-1`, `a table`.
std::string describe(const Value& value);

/// A string's text, or a number in decimal, with an exponent if it is `exact`; empty for other
/// types.
std::string text_of(const Value& value);

/// Result type T of a reader for Table::get(): a function of a `const Value&` or a text that
/// returns Parsed<T>.
template <class Read>
struct ReadTraits {
  static auto result() {
    if constexpr (std::is_invocable_v<Read&, const Value&>) {
      return std::type_identity<std::invoke_result_t<Read&, const Value&>>{};
    } else {
      return std::type_identity<std::invoke_result_t<Read&, std::string_view>>{};
    }
  }
  using type = typename decltype(result())::type::value_type;
};
template <class Read>
using ReadResult = typename ReadTraits<std::remove_reference_t<Read>>::type;

/// Reads true or false.
Parsed<bool> read_boolean(const Value& value);
/// Reads a non-empty string.
Parsed<std::string> read_text(const Value& value);
Parsed<wire::MacAddress> read_mac(const Value& value);
Parsed<wire::IpAddress> read_ip(const Value& value);
/// Returns true for a table, false for a single value. Never fails.
Parsed<bool> is_table(const Value& value);

/// Reads an integer in [minimum, maximum]: 291, 0x123, or a string such as "0xffff888000000000"
/// (TOML integers end at 2^63 - 1).
Parsed<std::uint64_t> read_unsigned(const Value& value, std::uint64_t minimum,
                                    std::uint64_t maximum);
/// Largest PSN or QP number.
inline constexpr std::uint32_t kMax24 = 0xffffff;

/// Reads an integer or decimal number in [minimum, maximum].
Parsed<double> read_number(const Value& value, double minimum, double maximum);

/// read_unsigned() as a reader that returns T. [minimum, maximum] must fit T.
template <std::unsigned_integral T>
auto integer(std::uint64_t minimum = 0, std::uint64_t maximum = std::numeric_limits<T>::max()) {
  return [=](const Value& value) -> Parsed<T> {
    const auto number = read_unsigned(value, minimum, maximum);
    if (!number) return std::unexpected(number.error());
    return static_cast<T>(*number);
  };
}

inline auto number(double minimum, double maximum) {
  return [=](const Value& value) { return read_number(value, minimum, maximum); };
}

/// A name and its value. Tables of choices must be static: readers refer to them.
template <class T>
struct Choice {
  std::string_view name;
  T value;
};

/// Returns the index of the value in `names`. The error lists all names and suggests the nearest.
Parsed<std::size_t> read_choice(const Value& value, std::span<const std::string_view> names);

template <class T>
auto choice(std::span<const Choice<T>> choices) {
  return [choices](const Value& value) -> Parsed<T> {
    std::vector<std::string_view> names;
    for (const Choice<T>& c : choices) names.push_back(c.name);
    const auto index = read_choice(value, names);
    if (!index) return std::unexpected(index.error());
    return choices[*index].value;
  };
}
template <class T, std::size_t N>
auto choice(const Choice<T> (&choices)[N]) {
  return choice(std::span<const Choice<T>>(choices));
}

/// Reads an array of what `read` (a reader of a Value) accepts. A single value is an array of one.
template <class Read>
auto list_of(Read read) {
  return [read](const Value& value) -> Parsed<std::vector<ReadResult<Read>>> {
    std::vector<ReadResult<Read>> items;
    const auto* array = std::get_if<Array>(&value.data);
    for (const Value& item :
         array != nullptr ? std::span<const Value>(*array) : std::span<const Value>(&value, 1)) {
      auto result = read(item);
      if (!result) return std::unexpected(result.error());
      items.push_back(std::move(*result));
    }
    return items;
  };
}

/// list_of(), with at least one value.
template <class Read>
auto some_of(Read read) {
  return [read](const Value& value) -> Parsed<std::vector<ReadResult<Read>>> {
    auto items = list_of(read)(value);
    if (items && items->empty()) return std::unexpected("expected at least one value, found none");
    return items;
  };
}

/// The first value of some_of().
template <class Read>
auto first_of(Read read) {
  return [read](const Value& value) -> Parsed<ReadResult<Read>> {
    const auto items = some_of(read)(value);
    if (!items) return std::unexpected(items.error());
    return items->front();
  };
}

}  // namespace lw::config
