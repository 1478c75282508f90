// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/settings.h"

#include "config/toml/value.h"
#include "core/setting.h"

namespace lw::config {
namespace {

Parsed<bool> set(const Figure& row, void* object, const Value& value) {
  const auto* truth = std::get_if<bool>(&value.data);
  const std::string text = truth == nullptr ? text_of(value) : *truth ? "true" : "false";
  if (text.empty())
    return std::unexpected("expected a number, a text or true or false, found " + describe(value));
  const auto set = set_setting(row, object, text);
  if (!set) return std::unexpected(set.error());
  return true;
}

}  // namespace

void read_settings(const Table& table, const FigureTable& rows, void* object) {
  for (const Figure& row : rows.rows)
    if (row.is_setting())
      (void)table.get(key_of_setting(row),
                      [&](const Value& value) { return set(row, object, value); });
}

}  // namespace lw::config
