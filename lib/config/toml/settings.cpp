// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/settings.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/toml/value.h"
#include "core/setting.h"
#include "core/struct_source.h"

namespace lw::config {
namespace {

using Shape = FigureType::Shape;

template <class T>
Parsed<std::string> text_if(const Parsed<T>& read, auto text) {
  if (!read) return std::unexpected(read.error());
  return text(*read);
}

/// Returns the value of a setting as set_setting() reads it. Its form is checked here, so that the
/// error is as that of other keys; the bounds of a quantity are checked by set_setting().
Parsed<std::string> text_of_value(const Figure& row, const Value& value) {
  if (!row.choices.empty())
    return text_if(read_choice(value, row.choices),
                   [&](std::size_t index) { return std::string(row.choices[index]); });
  if (row.type->shape == Shape::truth)
    return text_if(read_boolean(value), [](bool truth) { return truth ? "true" : "false"; });
  if (row.type->shape == Shape::natural && quantity_of(row).empty())
    return text_if(read_unsigned(value, static_cast<std::uint64_t>(row.least),
                                 static_cast<std::uint64_t>(row.most)),
                   [](std::uint64_t number) { return std::to_string(number); });
  if (row.type->shape == Shape::number && quantity_of(row).empty())
    return text_if(read_number(value, row.least, row.most), [&](double) { return text_of(value); });
  const std::string text = text_of(value);
  if (text.empty()) return std::unexpected("expected text, found " + describe(value));
  return text;
}

Parsed<bool> set(const Figure& row, void* object, const Value& value) {
  const auto text = text_of_value(row, value);
  if (!text) return std::unexpected(text.error());
  const auto set = set_setting(row, object, *text);
  if (!set) return std::unexpected(set.error());
  return true;
}

/// Sets the structs of one row, one after another, each from a table.
class TablesSource final : public StructSource {
 public:
  explicit TablesSource(std::vector<Table> tables) : tables_(std::move(tables)) {}

  std::size_t begin_list(std::size_t /*fixed*/) override { return tables_.size(); }
  void object(const FigureTable& rows, void* object) override {
    read_settings(tables_[next_++], rows, object);
  }

 private:
  std::vector<Table> tables_;
  std::size_t next_ = 0;
};

void set_from(std::vector<Table> tables, const Figure& row, void* object) {
  TablesSource source(tables);
  row.write(object, source);
  for (const Table& table : tables) table.finish();
}

void read_row(const Table& table, const Figure& row, void* object) {
  if (row.name.empty()) {  // the rows of its struct stand in the place of this one
    TablesSource source({table});
    row.write(object, source);
  } else if (!row.is_setting()) {
    return;
  } else if (row.type->shape == Shape::object) {
    if (const auto inner = table.table(row.name)) set_from({*inner}, row, object);
  } else if (row.type->shape == Shape::list) {
    const std::vector<Table> inner = table.tables(row.name);
    const auto count = static_cast<double>(inner.size());
    if (table.has(row.name) && (count < row.least || count > row.most))
      return table.refuse(row.name, fmt::format("expected {:.0f} to {:.0f} tables, found {}",
                                                row.least, row.most, inner.size()));
    if (!inner.empty()) set_from(inner, row, object);
  } else {
    (void)table.get(key_of_setting(row),
                    [&](const Value& value) { return set(row, object, value); });
  }
}

}  // namespace

void read_settings(const Table& table, const FigureTable& rows, void* object) {
  for (const Figure& row : rows.rows)
    if (row.write != nullptr) read_row(table, row, object);
}

}  // namespace lw::config
