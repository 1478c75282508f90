// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/figure.h"
#include "dissect/fields/capture_time.h"
#include "dissect/fields/fields.h"

namespace lw::dissect {

/// An output format of `list`: appends whole lines to a buffer.
class ListFormat {
 public:
  virtual ~ListFormat() = default;
  virtual void begin(std::string&) {}
  virtual void frame(std::string& out, const Dissection& dissection) = 0;
};

/// text: number, time, addresses, and the frame in one line; address columns grow with the longest
/// address so far. With chosen fields: their values, separated by tabs. json: one object per line,
/// with the schema and the fields that the frame has. csv: one column per field, as in RFC 4180.
enum class ListStyle : std::uint8_t { text, json, csv };

struct ListLayout {
  ListStyle style = ListStyle::text;
  TimeStyle time = TimeStyle::relative;
  std::vector<const Field*> fields = {};  // in this order; none: all fields of the style
};

std::unique_ptr<ListFormat> make_list_format(ListLayout layout);

/// The table of a line of JSON, made of field_table(). For its schema: the lines are made without
/// it.
const FigureTable& frame_figures();
inline constexpr JsonOutput kFrameOutput{
    .name = "frame", .title = "roce-dissect list --json", .figures = &frame_figures};

}  // namespace lw::dissect
