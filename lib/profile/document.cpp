// SPDX-License-Identifier: BSD-3-Clause
#include "profile/document.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <toml++/toml.h>

namespace lw::profile {
namespace {

Position position_of(const toml::source_region& region) {
  return {static_cast<std::uint32_t>(region.begin.line),
          static_cast<std::uint32_t>(region.begin.column)};
}

Value convert(const toml::node& node);

Entries convert_table(const toml::table& table) {
  Entries entries;
  entries.reserve(table.size());
  for (const auto& [key, node] : table) {
    entries.push_back({std::string(key.str()), position_of(key.source()), convert(node)});
  }
  return entries;
}

Array convert_array(const toml::array& array) {
  Array items;
  items.reserve(array.size());
  for (const auto& node : array) items.push_back(convert(node));
  return items;
}

/// Recursion is as deep as toml++ allows values to nest, which is bounded.
Value convert(const toml::node& node) {
  const Position at = position_of(node.source());
  switch (node.type()) {
    case toml::node_type::table:
      return {at, convert_table(*node.as_table())};
    case toml::node_type::array:
      return {at, convert_array(*node.as_array())};
    case toml::node_type::string:
      return {at, node.as_string()->get()};
    case toml::node_type::integer:
      return {at, node.as_integer()->get()};
    case toml::node_type::floating_point:
      return {at, node.as_floating_point()->get()};
    case toml::node_type::boolean:
      return {at, node.as_boolean()->get()};
    default:
      return {at, DateOrTime{}};
  }
}

constexpr std::size_t kLargestProfile = 64u << 20;

Value value_of(const std::string& text, Position at) {
  try {
    const toml::table table = toml::parse("value = " + text);
    if (table.size() == 1) {
      Value value = convert(*table.get("value"));
      value.at = at;
      return value;
    }
  } catch (const toml::parse_error&) {
    // A word without quotes: 2ms, path.
  }
  return {at, text};
}

Entry* find(Entries& entries, std::string_view key) {
  for (Entry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

/// The `[[table]]` of this name; null where there is none.
Value* find_named(Value& root, const Edit& edit) {
  Entry* list = find(std::get<Entries>(root.data), edit.table);
  if (!list || !std::holds_alternative<Array>(list->value.data)) return nullptr;
  for (Value& item : std::get<Array>(list->value.data)) {
    auto* entries = std::get_if<Entries>(&item.data);
    Entry* name = entries ? find(*entries, "name") : nullptr;
    const auto* text = name ? std::get_if<std::string>(&name->value.data) : nullptr;
    if (text && *text == edit.name) return &item;
  }
  return nullptr;
}

}  // namespace

Result<std::string> read_profile_text(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  if (!in) return fail(fmt::format("{}: can't read the profile: {}", path, std::strerror(errno)));
  std::string text;
  std::array<char, 65536> piece;
  // Piece by piece and not by iterators: a directory opens well and fails at the first read, which
  // the stream notes and an iterator would throw.
  while (in.read(piece.data(), piece.size()), in.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    // A device such as /dev/zero has no end.
    if (text.size() > kLargestProfile) {
      return fail(fmt::format("{}: a profile has at most {} MiB; is it a profile?", path,
                              kLargestProfile >> 20));
    }
  }
  if (in.bad()) return fail(fmt::format("{}: can't read the profile: is it a file?", path));
  return text;
}

Result<void> Document::apply(const Edit& edit) {
  Value* table = find_named(content_->root, edit);
  if (!table)
    return fail(fmt::format("{}: no [[{}]] has name = \"{}\"", name(), edit.table, edit.name));
  auto& entries = std::get<Entries>(table->data);
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == edit.key; });
  if (!edit.value.empty())
    entries.push_back({edit.key, table->at, value_of(edit.value, table->at)});
  return {};
}

Result<Document> Document::load(const std::string& path) {
  auto text = read_profile_text(path);
  if (!text) return std::unexpected(text.error());
  return parse(*text, path == "-" ? "<stdin>" : path);
}

Result<Document> Document::parse(std::string_view text, std::string name) {
  try {
    const toml::table table = toml::parse(text);
    Value root{{1, 1}, convert_table(table)};
    return Document(
        std::make_unique<Content>(Content{Diagnostics(std::move(name)), std::move(root)}));
  } catch (const toml::parse_error& error) {
    const Position at = position_of(error.source());
    return fail(
        fmt::format("{}:{}:{}: not TOML: {}", name, at.line, at.column, error.description()));
  }
}

}  // namespace lw::profile
