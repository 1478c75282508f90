// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "wire/address.h"
#include "wire/big_endian.h"
#include "wire/psn.h"

namespace lw::wire {

/// How a field's value is written.
enum class Base : std::uint8_t {
  decimal,
  hex,          // "0x" and `digits` hex digits
  bytes,        // `digits` hex digits, or all bytes of an address, without "0x"
  mapped_ipv4,  // the last four bytes of a 16-byte address, as an IPv4 address
};

using FieldValue = std::variant<std::uint64_t, MacAddress, Ipv4Address, Ipv6Address>;

/// A value that a profile gives by name.
struct NamedValue {
  std::string_view name;
  std::uint64_t value;
};

/// The properties of a header field that don't depend on the header's type.
struct FieldInfo {
  std::string_view name;       // Wireshark's filter name: "infiniband.bth.psn"
  std::string_view key = {};   // in a [[flow]] of a profile; empty: no key of its own
  std::string_view help = {};  // a noun phrase
  std::string_view text = {};  // fmt format for one-line text: "psn {}"; empty: left out
  Base base = Base::decimal;
  std::uint8_t digits = 0;                   // of hex and bytes
  std::uint8_t shift = 0;                    // position of the field's lowest bit in the member
  std::uint8_t bits = 0;                     // width on the wire; 0: that of the member
  bool per_qp = false;                       // a profile may give a list, one value for each QP
  std::span<const NamedValue> choices = {};  // a profile gives the value by one of these names
};

/// A row of a header's fields table: how to show, read and set one field of `Header`, which is
/// either the struct on the wire or its values (BthFields).
template <class Header>
struct FieldOf : FieldInfo {
  FieldValue (*member)(const Header&) = nullptr;
  void (*set)(Header&, std::uint64_t) = nullptr;  // null: a profile has no key for it
  bool (*only)(const Header&) = nullptr;          // null: always present

  [[nodiscard]] bool present(const Header& header) const { return !only || only(header); }
  [[nodiscard]] constexpr std::uint64_t largest() const noexcept {
    return std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
  }
  [[nodiscard]] FieldValue get(const Header& header) const {
    FieldValue value = member(header);
    if (auto* number = std::get_if<std::uint64_t>(&value)) *number = *number >> shift & largest();
    return value;
  }
};

namespace detail {

template <class Type>
inline constexpr std::uint8_t kBitsOf = 8 * sizeof(Type);
template <>
inline constexpr std::uint8_t kBitsOf<bool> = 1;
template <>
inline constexpr std::uint8_t kBitsOf<Psn> = 24;

template <class Type>
FieldValue to_value(const Type& member) {
  if constexpr (std::is_integral_v<Type>)
    return std::uint64_t{member};
  else if constexpr (std::is_same_v<Type, Psn>)
    return std::uint64_t{member.value()};
  else if constexpr (requires { member.get(); })
    return std::uint64_t{member.get()};
  else
    return member;
}

template <class Type>
void assign(Type& member, std::uint64_t value) {
  if constexpr (std::is_same_v<Type, Psn>)
    member = Psn{static_cast<std::uint32_t>(value)};
  else if constexpr (std::is_integral_v<Type>)
    member = static_cast<Type>(value);
}

template <class Type>
inline constexpr bool kIsAddress =
    std::is_constructible_v<IpAddress, Type> || std::is_same_v<Type, MacAddress>;

}  // namespace detail

/// The row for a data member: field<&BthFields::psn>({.name = "infiniband.bth.psn"}).
template <auto Member>
constexpr auto field(FieldInfo info) {
  return []<class Header, class Type>(FieldInfo given, Type Header::*) {
    FieldOf<Header> row{given};
    if (row.bits == 0) row.bits = detail::kBitsOf<Type>;
    row.member = [](const Header& header) { return detail::to_value(header.*Member); };
    if constexpr (!detail::kIsAddress<Type>) {
      if (given.key.empty()) return row;
      row.set = [](Header& header, std::uint64_t v) { detail::assign(header.*Member, v); };
    }
    return row;
  }(info, Member);
}

/// A row for a field that exists only in the headers for which only() is true.
template <class Header>
constexpr FieldOf<Header> when(bool (*only)(const Header&), FieldOf<Header> row) {
  row.only = only;
  return row;
}

}  // namespace lw::wire
