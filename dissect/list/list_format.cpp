// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/list/list_format.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "report/json_line.h"
#include "roce/describe.h"

namespace lw::dissect {
namespace {

/// Appends a cell, quoted if necessary. (RFC 4180, 2)
void append_cell(std::string& out, const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

/// Appends text with its tabs and line ends escaped, as tshark does.
void append_escaped(std::string& out, const std::string& text) {
  for (const char c : text) {
    if (c == '\t') {
      out += "\\t";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
}

std::string address_or_mac(const roce::Envelope& envelope, bool source) {
  std::string address = source ? envelope.source() : envelope.destination();
  if (address.empty() && envelope.ethernet) {
    address = to_string(source ? envelope.ethernet->source : envelope.ethernet->destination);
  }
  return address;
}

std::string icrc_remark(const Dissection& dissection) {
  if (dissection.icrc() != roce::IcrcVerdict::bad) return {};
  const auto place = roce::expected_icrc(dissection.captured.envelope);
  const auto found = wire::view_at<wire::Be32>(dissection.captured.envelope.bytes, place->offset);
  return fmt::format("ICRC BAD: expected {:08x}, found {:08x}", __builtin_bswap32(place->expected),
                     found->get());
}

/// "in VXLAN 5001", "[ESP is not opened]"; empty without tunnels.
std::string tunnel_remark(const roce::TunnelStack* tunnels) {
  if (!tunnels) return {};
  std::string text = tunnels->empty() ? "" : "  in " + tunnels->text();
  if (!tunnels->unopened().empty()) text += fmt::format("  [{}: not opened]", tunnels->unopened());
  return text;
}

std::string frame_text(const Dissection& dissection) {
  if (dissection.frame) return roce::describe(*dissection.frame, icrc_remark(dissection));
  const CapturedFrame& captured = dissection.captured;
  if (!dissection.is_roce()) {
    return fmt::format("{}, {} bytes", roce::protocol_of(captured.envelope),
                       captured.record.wire_length);
  }
  return fmt::format("RoCE (no BTH), {} bytes  {}", captured.record.wire_length,
                     roce::to_string(dissection.frame.error()));
}

/// Returns the chosen fields, or those of the table with `is_in`.
std::vector<const Field*> fields_of(ListLayout& layout, bool Field::* is_in) {
  if (!layout.fields.empty()) return std::move(layout.fields);
  std::vector<const Field*> fields;
  for (const Field& field : field_table())
    if (field.*is_in) fields.push_back(&field);
  return fields;
}

/// The frame in one line, for any protocol.
std::string text_of(const Dissection& dissection) {
  return frame_text(dissection) + tunnel_remark(dissection.captured.tunnels);
}

class JsonList : public ListFormat {
 public:
  explicit JsonList(ListLayout layout) : fields_(fields_of(layout, &Field::in_json)) {}
  void frame(std::string& out, const Dissection& dissection) override;

 private:
  std::vector<const Field*> fields_;
  std::string text_;
};

/// Columns, with or without a header line.
class ColumnList : public ListFormat {
 public:
  explicit ColumnList(ListLayout layout)
      : csv_(layout.style == ListStyle::csv), fields_(fields_of(layout, &Field::in_csv)) {}
  void begin(std::string& out) override;
  void frame(std::string& out, const Dissection& dissection) override;

 private:
  bool csv_;
  std::vector<const Field*> fields_;
  std::string text_;
};

class TextList : public ListFormat {
 public:
  explicit TextList(TimeStyle style) : times_(style) {}
  void frame(std::string& out, const Dissection& dissection) override;

 private:
  RowTimes times_;
  std::size_t source_width_ = 0, destination_width_ = 0;
};

void JsonList::frame(std::string& out, const Dissection& dissection) {
  static const std::string kBegin = fmt::format(R"({{"schema":"longwire.{}","version":{})",
                                                kFrameOutput.name, kFrameOutput.version);
  out += kBegin;
  for (const Field* field : fields_) {
    text_.clear();
    const std::size_t values = append_field(text_, *field, dissection);
    if (values == 0) continue;
    out += ",\"";
    out += field->name;
    out += "\":";
    const bool number =
        values == 1 && field->type == FieldType::number && field->base == wire::Base::decimal;
    out += number ? text_ : report::json_string(text_);
  }
  out += "}\n";
}

void ColumnList::begin(std::string& out) {
  if (!csv_) return;
  const char* separator = "";
  for (const Field* field : fields_) {
    out += separator;
    out += field->name;
    separator = ",";
  }
  out += '\n';
}

void ColumnList::frame(std::string& out, const Dissection& dissection) {
  bool first = true;
  for (const Field* field : fields_) {
    if (!first) out += csv_ ? ',' : '\t';
    first = false;
    const std::size_t before = out.size();
    const std::size_t values = append_field(out, *field, dissection);
    if (field->type != FieldType::text && values <= 1) continue;
    text_.assign(out, before);
    out.resize(before);
    csv_ ? append_cell(out, text_) : append_escaped(out, text_);
  }
  out += '\n';
}

void TextList::frame(std::string& out, const Dissection& dissection) {
  const CapturedFrame& captured = dissection.captured;
  const std::string source = address_or_mac(captured.envelope, true);
  const std::string destination = address_or_mac(captured.envelope, false);
  source_width_ = std::max(source_width_, source.size());
  destination_width_ = std::max(destination_width_, destination.size());
  fmt::format_to(std::back_inserter(out), "{:>6}  {:>13}  {:<{}} > {:<{}}  {}\n", captured.number,
                 times_.text(captured.record.stamp), source, source_width_, destination,
                 destination_width_, text_of(dissection));
}

}  // namespace

std::unique_ptr<ListFormat> make_list_format(ListLayout layout) {
  if (layout.style == ListStyle::json) return std::make_unique<JsonList>(std::move(layout));
  if (layout.style == ListStyle::csv || !layout.fields.empty())
    return std::make_unique<ColumnList>(std::move(layout));
  return std::make_unique<TextList>(layout.time);
}

const FigureTable& frame_figures() {
  static constexpr FigureType kNumber{FigureType::Shape::field}, kText{FigureType::Shape::text};
  static const auto kRows = [] {
    std::vector<Figure> rows;
    for (const Field& field : field_table())
      rows.push_back({.name = field.name,
                      .meaning = field.help.empty() ? field.name : field.help,
                      .empty = Figure::Empty::left_out,
                      .type = field.type == FieldType::number ? &kNumber : &kText});
    return rows;
  }();
  static const FigureTable kTable{
      "A frame; a line each. Fields have the names of Wireshark; a field that the frame lacks is "
      "left out. Several values of a field are one text, joined by commas.",
      kRows};
  return kTable;
}

}  // namespace lw::dissect
