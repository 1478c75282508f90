// SPDX-License-Identifier: BSD-3-Clause
#include "config/class/traffic_class.h"

#include <fmt/format.h>

#include "config/toml/document.h"
#include "config/toml/profile_search.h"

namespace lw::config {
namespace {

/// Sets a mark of each kind that a table names.
Parsed<bool> set_kinds(const roce::ClassSetting& setting, const Entries& kinds,
                       roce::ClassOfTraffic& target) {
  for (const Entry& kind : kinds) {
    const auto set = setting.set(target, kind.key + "=" + text_of(kind.value));
    if (!set) return std::unexpected(fmt::format("{}: {}", kind.key, set.error()));
  }
  return true;
}

/// Returns a reader of the setting's value.
auto into(const roce::ClassSetting& setting, roce::ClassOfTraffic& target) {
  return [&](const Value& value) -> Parsed<bool> {
    if (const auto* kinds = std::get_if<Entries>(&value.data); kinds != nullptr && setting.of_kinds)
      return set_kinds(setting, *kinds, target);
    const std::string text = text_of(value);
    if (text.empty())
      return std::unexpected("expected a number or a text, found " + describe(value));
    const auto set = setting.set(target, text);
    if (!set) return std::unexpected(set.error());
    return true;
  };
}

Result<roce::ClassOfTraffic> read_class_document(Document document) {
  const Table root = document.root();
  if (!root.has("class")) root.refuse("expected a table [class]");
  (void)root.get("title", read_text);
  const roce::ClassOfTraffic traffic = read_traffic_class(root);
  root.finish();
  if (const auto verdict = document.verdict(); !verdict) return std::unexpected(verdict.error());
  return traffic;
}

}  // namespace

roce::ClassOfTraffic read_traffic_class(const Table& root) {
  roce::ClassOfTraffic traffic;
  const auto table = root.table("class");
  if (!table) return traffic;
  for (const roce::ClassSetting& setting : roce::class_settings())
    (void)table->get(setting.key, into(setting, traffic));
  table->finish();
  return traffic;
}

Result<roce::ClassOfTraffic> load_traffic_class(const std::string& file) {
  auto document = Document::find(file, kClassProfiles);
  if (!document) return std::unexpected(document.error());
  return read_class_document(std::move(*document));
}

Result<roce::ClassOfTraffic> parse_traffic_class(std::string_view text, std::string name) {
  auto document = Document::parse(text, std::move(name));
  if (!document) return std::unexpected(document.error());
  return read_class_document(std::move(*document));
}

}  // namespace lw::config
