// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/list/list_format.h"

#include <algorithm>
#include <iterator>

#include "dissect/list/words.h"
#include "report/json_line.h"

namespace lw::dissect {
namespace {

void append(fmt::memory_buffer& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

void append_json_value(fmt::memory_buffer& out, const Field& field) {
  if (const auto* number = std::get_if<std::uint64_t>(&field.value)) {
    fmt::format_to(std::back_inserter(out), "{}", *number);
  } else if (std::holds_alternative<Hex>(field.value)) {
    fmt::format_to(std::back_inserter(out), "\"{}\"", to_string(field));
  } else {
    append(out, report::json_string(std::get<std::string>(field.value)));
  }
}

/// Quoted where it must be. (RFC 4180, 2)
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

/// "-0.000001000" for a frame that the file holds behind a later one.
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

}  // namespace

void JsonList::frame(fmt::memory_buffer& out, const Dissection& dissection) {
  fields_.clear();
  append_fields(fields_, dissection);
  char separator = '{';
  for (const Field& field : fields_) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\":", separator, field.name);
    append_json_value(out, field);
    separator = ',';
  }
  append(out, "}\n");
}

void CsvList::begin(fmt::memory_buffer& out) {
  append(out, fmt::format("{}\n", fmt::join(csv_columns(), ",")));
}

void CsvList::frame(fmt::memory_buffer& out, const Dissection& dissection) {
  fields_.clear();
  append_fields(fields_, dissection);
  // Columns and fields come in the same order, so one pass over both is enough.
  auto field = fields_.begin();
  bool first = true;
  for (const std::string_view column : csv_columns()) {
    if (!first) append(out, ",");
    first = false;
    const auto found =
        std::find_if(field, fields_.end(), [&](const Field& f) { return f.name == column; });
    if (found == fields_.end()) continue;
    append(out, csv_cell(to_string(*found)));
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
  std::string line = fmt::format("{:>6}  {:>13}  {:<{}} > {:<{}}  ", captured.number,
                                 seconds_text(captured.record.stamp - *first_), source,
                                 source_width_, destination, destination_width_);
  if (dissection.frame) {
    const wire::Bth& bth = *dissection.frame->bth;
    line += fmt::format("{:<21} qp {:#08x} psn {:<8}  ", kind_of(dissection), bth.dest_qp.get(),
                        bth.psn().value());
  } else {
    line += fmt::format("{}, {} bytes  ", kind_of(dissection), captured.record.wire_length);
  }
  line += details_of(dissection);
  line.erase(line.find_last_not_of(' ') + 1);
  append(out, line);
  append(out, "\n");
}

}  // namespace lw::dissect
