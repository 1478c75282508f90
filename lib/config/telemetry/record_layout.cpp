// SPDX-License-Identifier: BSD-3-Clause
#include "config/telemetry/record_layout.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "config/class/traffic_class.h"
#include "config/toml/document.h"
#include "config/toml/profile_search.h"

namespace lw::config {
namespace {

constexpr Choice<RecordSource> kRecordSources[] = {{"ethernet", RecordSource::ethernet},
                                                   {"ip", RecordSource::ip},
                                                   {"transport", RecordSource::transport},
                                                   {"counter", RecordSource::counter}};
constexpr std::uint8_t kTcp = 6, kUdp = 17;
constexpr std::size_t kLongestCounter = 8;

/// Reads "tcp", "udp", or the number of an IP protocol.
Parsed<std::uint8_t> read_protocol(const Value& value) {
  if (const auto text = read_text(value)) {
    if (*text == "tcp") return kTcp;
    if (*text == "udp") return kUdp;
    return std::unexpected(
        fmt::format("expected \"tcp\", \"udp\" or a number from 0 to 255, found \"{}\"", *text));
  }
  return integer<std::uint8_t>()(value);
}

Parsed<std::uint8_t> read_ip_version(const Value& value) {
  const auto version = integer<std::uint8_t>()(value);
  if (!version) return version;
  if (*version == 4 || *version == 6) return version;
  return std::unexpected(fmt::format("expected 4 or 6, found {}", *version));
}

RecordField read_record_field(const Table& table, const std::vector<RecordField>& before) {
  RecordField field;
  field.name = table.require("name", read_text, "a name such as \"source\"").value_or("");
  if (std::ranges::find(before, field.name, &RecordField::name) != before.end())
    table.refuse(fmt::format("another field is called \"{}\"", field.name));
  field.source = table
                     .require("header", choice(kRecordSources),
                              "\"ethernet\", \"ip\", \"transport\" or \"counter\"")
                     .value_or(RecordSource::counter);
  const bool counter = field.source == RecordSource::counter;
  const std::size_t most = counter ? kLongestCounter : RecordLayout::kLongest;
  field.bytes =
      table.require("bytes", integer<std::size_t>(1, most), "a number of bytes").value_or(1);
  if (!counter)
    field.offset = table
                       .require("offset", integer<std::size_t>(0, RecordLayout::kLongest),
                                "an offset in bytes")
                       .value_or(0);
  table.finish();
  return field;
}

Result<RecordLayout> read_layout_document(Document document) {
  const Table root = document.root();
  RecordLayout layout;
  layout.name = root.get_or("name", read_text, document.name());
  layout.ip_version = root.get("ip", read_ip_version);
  layout.protocol = root.get("protocol", read_protocol);
  layout.traffic = read_traffic_class(root);
  for (const Table& field : root.tables("field"))
    layout.fields.push_back(read_record_field(field, layout.fields));
  const auto counters =
      std::ranges::count(layout.fields, RecordSource::counter, &RecordField::source);
  if (counters != 1)
    root.refuse(
        fmt::format("expected one [[field]] with header = \"counter\", found {}", counters));
  if (layout.size() > RecordLayout::kLongest)
    root.refuse(fmt::format("expected at most {} bytes in all, found {}", RecordLayout::kLongest,
                            layout.size()));
  root.finish();
  if (const auto verdict = document.verdict(); !verdict) return std::unexpected(verdict.error());
  return layout;
}

}  // namespace

std::size_t RecordLayout::size() const noexcept {
  return std::accumulate(
      fields.begin(), fields.end(), std::size_t{0},
      [](std::size_t sum, const RecordField& field) { return sum + field.bytes; });
}

Result<RecordLayout> load_record_layout(const std::string& file) {
  auto document = Document::find(file, kTelemetryProfiles);
  if (!document) return std::unexpected(document.error());
  return read_layout_document(std::move(*document));
}

Result<RecordLayout> parse_record_layout(std::string_view text, std::string name) {
  auto document = Document::parse(text, std::move(name));
  if (!document) return std::unexpected(document.error());
  return read_layout_document(std::move(*document));
}

}  // namespace lw::config
