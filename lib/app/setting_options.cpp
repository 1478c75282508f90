// SPDX-License-Identifier: BSD-3-Clause
#include "app/setting_options.h"

#include <algorithm>
#include <cctype>

namespace lw::app {
namespace {

/// The name of the value in the help: "N", "true|false", or the last word of the setting's name.
std::string placeholder_of(const Figure& row) {
  if (row.type->shape == FigureType::Shape::truth) return "true|false";
  if (const std::string_view quantity = quantity_of(row); !quantity.empty())
    return std::string(quantity);
  if (row.choices.empty()) return "N";
  std::string word(row.name.substr(row.name.rfind('_') + 1));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::toupper(c); });
  return word;
}

OptionValue value_of(const Figure& row, void* object) {
  OptionValue value{
      .read = [&row, object](std::string_view text) { return set_setting(row, object, text); }};
  value.default_text = text_of_setting(row, object);
  if (row.type->shape == FigureType::Shape::truth) {
    value.is_flag = value.default_text == "false";
    if (!value.is_flag) value.choices = {"true", "false"};
  }
  for (const std::string_view name : row.choices) value.choices.emplace_back(name);
  if (value.is_flag) value.default_text.clear();
  return value;
}

}  // namespace

std::string option_names(const Figure& row) {
  if (!row.option.empty()) return std::string(row.option);
  std::string name = "--" + std::string(key_of_setting(row));
  std::ranges::replace(name, '_', '-');
  return name;
}

void add_settings(Options& options, const FigureTable& table, void* object) {
  for (const Figure& row : table.rows) {
    if (!row.is_setting()) continue;
    options.add(option_names(row).c_str(), value_of(row, object), placeholder_of(row).c_str(),
                help_of_setting(row));
  }
}

}  // namespace lw::app
