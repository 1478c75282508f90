// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/list/list_format.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "report/json_line.h"

namespace lw::dissect {
namespace {

void append(fmt::memory_buffer& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

/// Quoted where necessary. (RFC 4180, 2)
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

/// "0.000001000"; negative for a frame earlier than the first one of the file.
std::string seconds_text(Duration since) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const std::int64_t ns = since.count();
  return fmt::format("{}{}.{:09}", ns < 0 ? "-" : "", std::abs(ns / kNsPerSecond),
                     std::abs(ns % kNsPerSecond));
}

std::string address_or_mac(const roce::Envelope& envelope, bool source) {
  std::string address = source ? envelope.source() : envelope.destination();
  if (address.empty() && envelope.ethernet) {
    address = to_string(source ? envelope.ethernet->source : envelope.ethernet->destination);
  }
  return address;
}

std::string icrc_remark(const Dissection& dissection) {
  if (dissection.icrc != roce::IcrcVerdict::bad) return {};
  const auto place = roce::expected_icrc(dissection.captured.envelope);
  const auto found = wire::view_at<wire::Be32>(dissection.captured.record.bytes, place->offset);
  return fmt::format("ICRC BAD: expected {:08x}, found {:08x}", __builtin_bswap32(place->expected),
                     found->get());
}

/// The frame in one line, whatever its protocol.
std::string text_of(const Dissection& dissection) {
  if (dissection.frame) return roce::describe(*dissection.frame, icrc_remark(dissection));
  const CapturedFrame& captured = dissection.captured;
  if (dissection.icrc == roce::IcrcVerdict::not_roce) {
    return fmt::format("{}, {} bytes", roce::protocol_of(captured.envelope),
                       captured.record.wire_length);
  }
  return fmt::format("RoCE (no BTH), {} bytes  {}", captured.record.wire_length,
                     roce::to_string(dissection.frame.error()));
}

class JsonList : public ListFormat {
 public:
  void frame(fmt::memory_buffer& out, const Dissection& dissection) override;

 private:
  roce::FieldList fields_;
};

class CsvList : public ListFormat {
 public:
  void begin(fmt::memory_buffer& out) override;
  void frame(fmt::memory_buffer& out, const Dissection& dissection) override;

 private:
  roce::FieldList fields_;
};

class TextList : public ListFormat {
 public:
  void frame(fmt::memory_buffer& out, const Dissection& dissection) override;

 private:
  std::optional<Instant> first_;
  std::size_t source_width_ = 0, destination_width_ = 0;
};

void JsonList::frame(fmt::memory_buffer& out, const Dissection& dissection) {
  fields_.clear();
  add_fields(fields_, dissection);
  char separator = '{';
  for (const roce::NamedField& field : fields_) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\":", separator, field.name);
    append(out, field.number ? field.value : report::json_string(field.value));
    separator = ',';
  }
  append(out, "}\n");
}

void CsvList::begin(fmt::memory_buffer& out) {
  append(out, fmt::format("{}\n", fmt::join(csv_columns(), ",")));
}

void CsvList::frame(fmt::memory_buffer& out, const Dissection& dissection) {
  fields_.clear();
  add_fields(fields_, dissection);
  // Columns and fields come in the same order, so one pass over both is enough.
  auto field = fields_.begin();
  bool first = true;
  for (const std::string_view column : csv_columns()) {
    if (!first) append(out, ",");
    first = false;
    const auto found =
        std::find_if(field, fields_.end(), [&](const auto& f) { return f.name == column; });
    if (found == fields_.end()) continue;
    append(out, csv_cell(found->value));
    field = std::next(found);
  }
  append(out, "\n");
}

void TextList::frame(fmt::memory_buffer& out, const Dissection& dissection) {
  const CapturedFrame& captured = dissection.captured;
  if (!first_) first_ = captured.record.stamp;
  const std::string source = address_or_mac(captured.envelope, true);
  const std::string destination = address_or_mac(captured.envelope, false);
  source_width_ = std::max(source_width_, source.size());
  destination_width_ = std::max(destination_width_, destination.size());
  std::string line =
      fmt::format("{:>6}  {:>13}  {:<{}} > {:<{}}  ", captured.number,
                  seconds_text(capture::stamp_difference(captured.record.stamp, *first_)), source,
                  source_width_, destination, destination_width_);
  line += text_of(dissection);
  append(out, line);
  append(out, "\n");
}

}  // namespace

std::unique_ptr<ListFormat> make_list_format(ListStyle style) {
  if (style == ListStyle::json) return std::make_unique<JsonList>();
  if (style == ListStyle::csv) return std::make_unique<CsvList>();
  return std::make_unique<TextList>();
}

}  // namespace lw::dissect
