// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <expected>
#include <span>
#include <string_view>

#include "dissect/fields/frame_source.h"
#include "roce/describe.h"

namespace lw::dissect {

/// A captured frame, parsed and with its ICRC checked.
struct Dissection {
  const CapturedFrame& captured;
  std::expected<roce::Frame, roce::ParseError> frame;
  roce::IcrcVerdict icrc;
};
Dissection dissect_frame(const CapturedFrame& captured);

/// Adds all fields of a frame, as `list --json` shows them. Names that Wireshark doesn't have begin
/// with "longwire.".
void add_fields(roce::FieldList& fields, const Dissection& dissection);

/// The columns of `list --csv`: the names that add_fields() can add, in their order, without those
/// of the connection manager's messages. Of a MAD only class, method, transaction and attribute.
std::span<const std::string_view> csv_columns();

}  // namespace lw::dissect
