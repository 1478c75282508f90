// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include <fmt/format.h>

#include "dissect/fields/fields.h"

namespace lw::dissect {

/// How `list` shows frames: appends whole lines to a buffer.
class ListFormat {
 public:
  virtual ~ListFormat() = default;
  virtual void begin(fmt::memory_buffer&) {}
  virtual void frame(fmt::memory_buffer& out, const Dissection& dissection) = 0;
};

/// A JSON object a line, with every field that the frame has.
class JsonList : public ListFormat {
 public:
  void frame(fmt::memory_buffer& out, const Dissection& dissection) override;

 private:
  FieldList fields_;
};

/// csv_columns(), RFC 4180.
class CsvList : public ListFormat {
 public:
  void begin(fmt::memory_buffer& out) override;
  void frame(fmt::memory_buffer& out, const Dissection& dissection) override;

 private:
  FieldList fields_;
};

/// For people: number, seconds since the first frame, addresses, opcode, QP, PSN, the rest in
/// words. Address columns grow with the longest so far.
class TextList : public ListFormat {
 public:
  void frame(fmt::memory_buffer& out, const Dissection& dissection) override;

 private:
  std::optional<Instant> first_;
  std::size_t source_width_ = 0, destination_width_ = 0;
};

}  // namespace lw::dissect
