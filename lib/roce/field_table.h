// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "roce/frame.h"
#include "wire/field.h"

namespace lw::roce {

/// What a frame has of a field: nothing, a value, or the values of both VLAN tags, the outer first.
struct FieldValues {
  std::array<wire::FieldValue, 2> values{};
  std::size_t count = 0;

  void add(const wire::FieldValue& value) {
    if (count < values.size()) values[count++] = value;
  }
};

/// A field of the headers that we know, from Ethernet to the messages of the connection manager,
/// and how to read it of any frame.
struct HeaderField : wire::FieldInfo {
  /// One of the headers that have the field, by a row of its fields table.
  struct Place {
    void (*read)(const void* row, const Envelope&, const Frame*, FieldValues&);
    const void* row;
  };

  wire::FieldValue sample{};    // a value of the field's type
  bool of_connection = false;   // of a message of the connection manager
  std::vector<Place> places{};  // a frame has one of them at most

  /// The field's values in a frame. `frame` is null where the frame has no BTH.
  [[nodiscard]] FieldValues read(const Envelope& envelope, const Frame* frame) const;
};

/// All fields, in the order of the headers, each name once: the headers' kFields tables, those of
/// CM messages, and the ICRC.
std::span<const HeaderField> header_fields();

/// Appends a value as Wireshark prints it: "31", "0x00001a", "10.0.0.1".
void append_value(std::string& out, const wire::FieldInfo& info, const wire::FieldValue& value);

}  // namespace lw::roce
