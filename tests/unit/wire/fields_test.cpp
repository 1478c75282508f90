// SPDX-License-Identifier: BSD-3-Clause
#include <set>

#include <gtest/gtest.h>

#include "wire/bth.h"
#include "wire/extensions.h"
#include "wire/view.h"

namespace lw::wire {
namespace {

std::uint64_t number_of(const FieldValue& value) { return std::get<std::uint64_t>(value); }

/// A field that a profile can set reads back, alone and through the header's bytes.
template <class Header>
void expect_fields_read_back() {
  using Fields = typename Header::Fields;
  std::set<std::string_view> names;
  for (const FieldOf<Fields>& field : Header::kFields) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name << " occurs twice";
    EXPECT_TRUE(field.name.starts_with("infiniband.")) << field.name;
    EXPECT_EQ(field.set == nullptr, field.key.empty()) << field.name;
    if (!field.set) continue;
    EXPECT_FALSE(field.help.empty()) << field.name;
    for (const std::uint64_t value : {std::uint64_t{0}, field.largest() / 3, field.largest()}) {
      Fields fields;
      field.set(fields, value);
      EXPECT_EQ(number_of(field.get(fields)), value) << field.name;
      Header header{};
      header.set(fields);
      EXPECT_EQ(number_of(field.get(header.fields())), value) << field.name;
    }
  }
}

TEST(FieldsTable, OfEveryHeaderReadsWhatItSets) {
  expect_fields_read_back<Bth>();
  for_each_extension([]<class Header>(Extension) { expect_fields_read_back<Header>(); });
}

TEST(FieldsTable, WidthsAreThoseOnTheWire) {
  const auto largest = [](const auto& table, std::string_view name) {
    for (const auto& field : table)
      if (field.name == name) return field.largest();
    return std::uint64_t{0};
  };
  EXPECT_EQ(largest(Bth::kFields, "infiniband.bth.destqp"), 0xffffffu);
  EXPECT_EQ(largest(Bth::kFields, "infiniband.bth.psn"), 0xffffffu);
  EXPECT_EQ(largest(Bth::kFields, "infiniband.bth.becn"), 1u);
  EXPECT_EQ(largest(Reth::kFields, "infiniband.reth.va"), ~std::uint64_t{0});
  EXPECT_EQ(largest(Feth::kFields, "infiniband.feth.sel"), 3u);
}

TEST(FieldsTable, AnAethHasOneOfItsFourValues) {
  for (const int syndrome : {0x1f, 0x20, 0x40, 0x60}) {
    int values = 0;
    for (const auto& field : Aeth::kFields) {
      values += field.only && field.present({.syndrome = static_cast<std::uint8_t>(syndrome)});
    }
    EXPECT_EQ(values, 1) << syndrome;
  }
}

}  // namespace
}  // namespace lw::wire
