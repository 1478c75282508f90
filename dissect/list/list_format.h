// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

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

/// A JSON object a line, with all fields of the frame.
class JsonList : public ListFormat {
 public:
  void frame(fmt::memory_buffer& out, const Dissection& dissection) override;

 private:
  roce::FieldList fields_;
};

/// The fields of csv_columns(), as RFC 4180 has it.
class CsvList : public ListFormat {
 public:
  void begin(fmt::memory_buffer& out) override;
  void frame(fmt::memory_buffer& out, const Dissection& dissection) override;

 private:
  roce::FieldList fields_;
};

/// Text: number, seconds since the first frame, addresses, and the frame in one line. Address
/// columns grow with the longest address so far.
class TextList : public ListFormat {
 public:
  void frame(fmt::memory_buffer& out, const Dissection& dissection) override;

 private:
  std::optional<Instant> first_;
  std::size_t source_width_ = 0, destination_width_ = 0;
};

}  // namespace lw::dissect
