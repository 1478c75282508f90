// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/path.h"

#include <fmt/format.h>

#include "config/impair/match.h"
#include "config/toml/document.h"
#include "config/toml/profile_search.h"
#include "core/limits.h"

namespace lw::config {
namespace {

// Vacuum, and more than any fibre: values outside are typing errors.
constexpr double kSmallestIndex = 1.0, kLargestIndex = 2.0;

emulator::Span read_span(const Table& table) {
  emulator::Span span;
  span.km =
      table.require("length", parse_kilometres, "a fibre length such as \"80km\"").value_or(0);
  span.group_index =
      table.get_or("group_index", number(kSmallestIndex, kLargestIndex), span.group_index);
  span.ways = read_direction(table);
  table.finish();
  return span;
}

emulator::Equipment read_equipment(const Table& table) {
  emulator::Equipment equipment;
  equipment.name = table.require("name", read_text, "a name such as \"amplifier\"").value_or("");
  equipment.count = table.get_or("count", integer<std::uint32_t>(1, 100'000), 1);
  equipment.latency = table.require("latency", parse_duration, "a delay per item such as \"10us\"")
                          .value_or(Duration{});
  equipment.ways = read_direction(table);
  table.finish();
  return equipment;
}

/// Latency of all equipment, of which the whole sum in ns could overflow.
double equipment_ns(const emulator::Path& path) {
  double ns = 0;
  for (const emulator::Equipment& item : path.equipment)
    ns += static_cast<double>(item.latency.count()) * item.count;
  return ns;
}

Result<emulator::Path> read_path_document(Document document) {
  const Table root = document.root();
  emulator::Path path = read_path(root, document.name());
  if (const auto verdict = document.verdict(); !verdict) return std::unexpected(verdict.error());
  return path;
}

}  // namespace

emulator::Path read_path(const Table& table, std::string fallback_name) {
  emulator::Path path;
  path.name = table.get_or("name", read_text, std::move(fallback_name));
  path.rate_bps = table.get_or("rate", parse_bit_rate, path.rate_bps);
  for (const Table& span : table.tables("span")) path.spans.push_back(read_span(span));
  for (const Table& item : table.tables("equipment"))
    path.equipment.push_back(read_equipment(item));
  if (equipment_ns(path) > static_cast<double>(Duration(kLongestTime).count())) {
    table.refuse("equipment", fmt::format("expected at most {} of latency in all, found more",
                                          format_set_duration(kLongestTime)));
    path.equipment.clear();
  }
  if (!table.has("span") && !table.has("equipment"))
    table.refuse("expected at least one [[span]] or [[equipment]], found none");
  table.finish();
  return path;
}

Result<emulator::Path> load_path_profile(const std::string& file, const ClientFiles* only) {
  const auto found = only ? file : find_profile(file, {kPathProfiles});
  if (!found) return std::unexpected(found.error());
  auto document = Document::load(*found, only);
  if (!document) return std::unexpected(document.error());
  return read_path_document(std::move(*document));
}

Result<emulator::Path> parse_path_profile(std::string_view text, std::string name) {
  auto document = Document::parse(text, std::move(name));
  if (!document) return std::unexpected(document.error());
  return read_path_document(std::move(*document));
}

}  // namespace lw::config
