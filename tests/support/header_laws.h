// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "support/hex.h"
#include "wire/view.h"

namespace lw::test {

/// Checks the properties of a header struct against bytes from another source: it reads the bytes
/// as `fields`; it writes `fields` as these bytes, over any old contents; it is null over every
/// truncation; it never changes a byte after its end.
template <class Header, class Fields>
void expect_header_laws(std::string_view known_hex, const Fields& fields) {
  const auto known = from_hex(known_hex);
  ASSERT_EQ(known.size(), sizeof(Header));

  const auto* read = wire::view<Header>(wire::Bytes{known});
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->fields(), fields);

  std::vector<std::byte> written(sizeof(Header) + 8, std::byte{0xa5});
  wire::view<Header>(wire::MutableBytes{written})->set(fields);
  EXPECT_TRUE(std::equal(known.begin(), known.end(), written.begin()));
  for (std::size_t i = sizeof(Header); i < written.size(); ++i) {
    EXPECT_EQ(written[i], std::byte{0xa5});
  }

  for (std::size_t length = 0; length < sizeof(Header); ++length) {
    EXPECT_EQ(wire::view<Header>(wire::Bytes{known}.first(length)), nullptr);
  }
}

/// Checks each bit of the header: flipping it changes the fields, or it is one of `reserved`
/// (hexadecimal; set bits are reserved). The changed fields are written back as they were read.
template <class Header>
void expect_every_bit_is_a_field(std::string_view known_hex, std::string_view reserved_hex) {
  const auto known = from_hex(known_hex);
  const auto reserved = from_hex(reserved_hex);
  const auto before = wire::view<Header>(wire::Bytes{known})->fields();
  for (std::size_t bit = 0; bit < 8 * sizeof(Header); ++bit) {
    auto flipped = known;
    const auto mask = static_cast<std::byte>(0x80 >> bit % 8);
    flipped[bit / 8] ^= mask;
    const bool is_reserved = (reserved[bit / 8] & mask) != std::byte{0};
    const auto after = wire::view<Header>(wire::Bytes{flipped})->fields();
    EXPECT_EQ(after == before, is_reserved) << "bit " << bit;
    if (is_reserved) continue;
    std::vector<std::byte> written(sizeof(Header), std::byte{0x5a});
    wire::view<Header>(wire::MutableBytes{written})->set(after);
    EXPECT_EQ(written, flipped) << "bit " << bit;
  }
}

}  // namespace lw::test
