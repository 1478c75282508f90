// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include <fmt/format.h>

#include "dissect/fields/fields.h"

namespace lw::dissect {

/// An output format of `list`: appends whole lines to a buffer.
class ListFormat {
 public:
  virtual ~ListFormat() = default;
  virtual void begin(fmt::memory_buffer&) {}
  virtual void frame(fmt::memory_buffer& out, const Dissection& dissection) = 0;
};

/// text: number, seconds since the first frame, addresses, and the frame in one line. Address
/// columns grow with the longest address so far. json: an object a line, with all fields of the
/// frame. csv: the fields of csv_columns(), as RFC 4180 has it.
enum class ListStyle : std::uint8_t { text, json, csv };

std::unique_ptr<ListFormat> make_list_format(ListStyle style);

}  // namespace lw::dissect
