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

/// The values of a field in a frame: none, one, or those of both VLAN tags, outer first.
struct FieldValues {
  std::array<wire::FieldValue, 2> values{};
  std::size_t count = 0;

  void add(const wire::FieldValue& value) {
    if (count < values.size()) values[count++] = value;
  }
};

/// A header field, from Ethernet to the messages of the connection manager, and how to read it from
/// a frame.
struct HeaderField : wire::FieldInfo {
  /// A header that has the field: the row of its fields table, and the function that reads it.
  struct Place {
    void (*read)(const void* row, const Envelope&, const Frame*, FieldValues&);
    const void* row;
  };

  wire::FieldValue sample{};   // a value of the field's type
  bool of_connection = false;  // a field of a connection manager message
  // One per header that has the field. A frame has at most one of these headers.
  std::vector<Place> places{};

  /// The field's values in a frame. `frame` is null where the frame has no BTH.
  [[nodiscard]] FieldValues read(const Envelope& envelope, const Frame* frame) const;
};

/// All fields, in the order of the headers, each name once: the headers' kFields tables, those of
/// CM messages, and the ICRC.
std::span<const HeaderField> header_fields();

/// Appends a value as Wireshark prints it: "31", "0x00001a", "10.0.0.1".
void append_value(std::string& out, const wire::FieldInfo& info, const wire::FieldValue& value);

}  // namespace lw::roce
