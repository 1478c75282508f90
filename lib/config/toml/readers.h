// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/toml/value.h"
#include "core/quantity.h"
#include "wire/address.h"

namespace lw::config {

/// What a reader for Table::get() makes: readers take a `const Value&` or a text.
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

/// true or false.
Parsed<bool> read_boolean(const Value& value);
/// A string, not empty.
Parsed<std::string> read_text(const Value& value);
Parsed<wire::MacAddress> read_mac(const Value& value);
Parsed<wire::IpAddress> read_ip(const Value& value);

/// A whole number in [minimum, maximum]: 291, 0x123, or in quotes, which TOML needs above 2^63:
/// "0xffff888000000000".
Parsed<std::uint64_t> read_unsigned(const Value& value, std::uint64_t minimum,
                                    std::uint64_t maximum);
/// A number in [minimum, maximum], whole or not.
Parsed<double> read_number(const Value& value, double minimum, double maximum);

/// read_unsigned() as a reader, of the type that the range must fit.
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

/// One of several names. A choice's table is static: it is not copied.
template <class T>
struct Choice {
  std::string_view name;
  T value;
};

/// Index of the name that the value is, or an error that lists all and the nearest.
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

/// An array of what `read` (of a Value) reads; one value by itself is an array of one.
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

/// list_of(), of which at least one must stand there.
template <class Read>
auto some_of(Read read) {
  return [read](const Value& value) -> Parsed<std::vector<ReadResult<Read>>> {
    auto items = list_of(read)(value);
    if (items && items->empty()) return std::unexpected("expected at least one value, found none");
    return items;
  };
}

/// The first of some_of(): what a range of QPs begins with.
template <class Read>
auto first_of(Read read) {
  return [read](const Value& value) -> Parsed<ReadResult<Read>> {
    const auto items = some_of(read)(value);
    if (!items) return std::unexpected(items.error());
    return items->front();
  };
}

}  // namespace lw::config
