// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <initializer_list>

#include "wire/aeth.h"
#include "wire/atomicacketh.h"
#include "wire/atomiceth.h"
#include "wire/deth.h"
#include "wire/feth.h"
#include "wire/ieth.h"
#include "wire/immdt.h"
#include "wire/rdeth.h"
#include "wire/reth.h"
#include "wire/xrceth.h"

namespace lw::wire {

// The list of extension headers, in their order on the wire. To add a header, write its file, add
// a line to each of the three parts below, and name it in the rows of opcode.cpp that have it.
// Parsing, composing, JSON, CSV, text and profile keys follow from the header's fields table.

/// Part 1: one bit per header.
enum class Extension : std::uint16_t {
  rdeth = 1 << 0,
  deth = 1 << 1,
  xrceth = 1 << 2,
  feth = 1 << 3,
  reth = 1 << 4,
  atomiceth = 1 << 5,
  aeth = 1 << 6,
  atomicacketh = 1 << 7,
  immdt = 1 << 8,
  ieth = 1 << 9,
};

/// Part 2: one member per header, a HeaderView or HeaderValues.
template <template <class> class Slot>
struct ExtensionSlots {
  Slot<Rdeth> rdeth{};
  Slot<Deth> deth{};
  Slot<Xrceth> xrceth{};
  Slot<Feth> feth{};
  Slot<Reth> reth{};
  Slot<AtomicEth> atomiceth{};
  Slot<Aeth> aeth{};
  Slot<AtomicAckEth> atomicacketh{};
  Slot<ImmDt> immdt{};
  Slot<Ieth> ieth{};
};

/// Part 3: calls visit.operator()<Header>(Extension, slot...) for each, with its slot in each of
/// `slots`.
template <class Visit, class... Slots>
constexpr void for_each_extension(Visit&& visit, Slots&... slots) {
  visit.template operator()<Rdeth>(Extension::rdeth, slots.rdeth...);
  visit.template operator()<Deth>(Extension::deth, slots.deth...);
  visit.template operator()<Xrceth>(Extension::xrceth, slots.xrceth...);
  visit.template operator()<Feth>(Extension::feth, slots.feth...);
  visit.template operator()<Reth>(Extension::reth, slots.reth...);
  visit.template operator()<AtomicEth>(Extension::atomiceth, slots.atomiceth...);
  visit.template operator()<Aeth>(Extension::aeth, slots.aeth...);
  visit.template operator()<AtomicAckEth>(Extension::atomicacketh, slots.atomicacketh...);
  visit.template operator()<ImmDt>(Extension::immdt, slots.immdt...);
  visit.template operator()<Ieth>(Extension::ieth, slots.ieth...);
}

template <class Header>
using HeaderView = const Header*;  // null: not present
template <class Header>
using HeaderValues = typename Header::Fields;

inline constexpr int kExtensions = [] {
  int count = 0;
  for_each_extension([&]<class Header>(Extension) { ++count; });
  return count;
}();

static_assert(
    [] {
      int bit = 0;
      bool rising = true;
      for_each_extension(
          [&]<class Header>(Extension e) { rising &= static_cast<int>(e) == 1 << bit++; });
      return rising;
    }(),
    "the three parts list the same headers in the same order");

/// Size in bytes of the extension with bit number `bit`, from 0.
constexpr std::size_t extension_size(int bit) noexcept {
  constexpr auto kSizes = [] {
    std::array<std::uint8_t, kExtensions> sizes{};
    std::size_t i = 0;
    for_each_extension([&]<class Header>(Extension) { sizes[i++] = sizeof(Header); });
    return sizes;
  }();
  return kSizes[static_cast<std::size_t>(bit)];
}

/// "RDETH", "RETH", ... for bit number `bit`, from 0.
constexpr std::string_view extension_name(int bit) noexcept {
  constexpr auto kNames = [] {
    std::array<std::string_view, kExtensions> names{};
    std::size_t i = 0;
    for_each_extension([&]<class Header>(Extension) { names[i++] = Header::kName; });
    return names;
  }();
  return kNames[static_cast<std::size_t>(bit)];
}

class ExtensionSet {
 public:
  constexpr ExtensionSet() = default;
  constexpr ExtensionSet(std::initializer_list<Extension> extensions) noexcept {
    for (const Extension e : extensions) bits_ = static_cast<std::uint16_t>(bits_ | bit(e));
  }
  [[nodiscard]] constexpr bool has(Extension e) const noexcept { return bits_ & bit(e); }
  [[nodiscard]] constexpr bool has_bit(int number) const noexcept { return bits_ >> number & 1; }
  [[nodiscard]] constexpr ExtensionSet with(Extension e) const noexcept {
    ExtensionSet result = *this;
    result.bits_ = static_cast<std::uint16_t>(bits_ | bit(e));
    return result;
  }
  [[nodiscard]] constexpr ExtensionSet without(Extension e) const noexcept {
    ExtensionSet result = *this;
    result.bits_ = static_cast<std::uint16_t>(bits_ & ~bit(e));
    return result;
  }
  /// Sum of the headers' sizes, in bytes.
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    std::size_t total = 0;
    for (int i = 0; i < kExtensions; ++i) total += has_bit(i) ? extension_size(i) : 0;
    return total;
  }
  friend constexpr bool operator==(ExtensionSet, ExtensionSet) = default;

 private:
  static constexpr std::uint16_t bit(Extension e) noexcept { return static_cast<std::uint16_t>(e); }
  std::uint16_t bits_ = 0;
};

}  // namespace lw::wire
