// SPDX-License-Identifier: BSD-3-Clause
#include "report/figures/rows.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/single_value.h"
#include "report/figures/json.h"
#include "report/table.h"

namespace lw::report {
namespace {

/// Appends the one value that it gets: as JSON, or a text as it is. Structs and lists go through
/// json_of().
class PlainSink final : public SingleValueSink {
 public:
  PlainSink(std::string& out, bool quotes) : out_(out), quotes_(quotes) {}
  void value(const FigureValue& value) override {
    std::visit([this](const auto& found) { put(found); }, value);
  }

 private:
  void put(bool truth) { out_ += truth ? "true" : "false"; }
  void put(std::int64_t number) { put_whole(number); }
  void put(std::uint64_t number) { put_whole(number); }
  void put(double number) { out_ += Json(number).dump(); }
  void put(std::string_view text) {
    if (quotes_)
      append_json_string(out_, text);
    else
      out_ += text;
  }
  template <class T>
  void put_whole(T number) {
    std::array<char, std::numeric_limits<T>::digits10 + 2> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out_.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }

  std::string& out_;
  bool quotes_;
};

bool is_plain_value(const Figure& row) noexcept {
  using enum FigureType::Shape;
  const auto shape = row.type->shape;
  return shape != object && shape != json && shape != list && shape != map;
}

void append_value(std::string& out, const Figure& row, const void* object, bool quotes) {
  if (!is_plain_value(row)) {
    out += json_line(json_of(row, object));
    out.pop_back();  // the end of the line
    return;
  }
  PlainSink sink(out, quotes);
  row.read(object, sink);
}

std::string header_of(const FigureTable& table) {
  std::string header;
  for (const Figure& row : table.rows) header += (header.empty() ? "" : ",") + csv_field(row.name);
  return header + "\n";
}

}  // namespace

FigureRows::FigureRows(RowStyle style, const JsonOutput& output)
    : style_(style),
      table_(output.figures()),
      json_begin_(
          fmt::format(R"({{"schema":"longwire.{}","version":{})", output.name, output.version)),
      csv_header_(header_of(table_)) {
  for (const Figure& row : table_.rows) json_keys_.push_back(fmt::format(",\"{}\":", row.name));
}

void FigureRows::append_row(std::string& out, const void* object) {
  if (style_ == RowStyle::csv)
    append_csv(out, object);
  else
    append_json(out, object);
}

void FigureRows::append_json(std::string& out, const void* object) {
  out += json_begin_;
  for (std::size_t i = 0; i < table_.rows.size(); ++i) {
    const Figure& row = table_.rows[i];
    const bool is_empty = row.empty != Figure::Empty::shown && row.is_empty(object);
    if (is_empty && row.empty == Figure::Empty::left_out) continue;
    out += json_keys_[i];
    if (is_empty)
      out += "null";
    else
      append_value(out, row, object, true);
  }
  out += "}\n";
}

void FigureRows::append_csv(std::string& out, const void* object) {
  out += std::exchange(csv_header_, {});
  const char* separator = "";
  for (const Figure& row : table_.rows) {
    out += separator;
    separator = ",";
    if (row.empty != Figure::Empty::shown && row.is_empty(object)) continue;
    cell_.clear();
    append_value(cell_, row, object, false);
    out += csv_field(cell_);
  }
  out += '\n';
}

}  // namespace lw::report
