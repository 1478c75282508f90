// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/key_values.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "config/toml/document.h"

namespace lw::config {
namespace {

auto order_of(const KeyValue& one) { return std::tie(one.table, one.name, one.key); }

/// Returns a TOML string, quoted and escaped.
std::string toml_string(std::string_view text) {
  std::string toml = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      toml += '\\';
      toml += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      toml += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      toml += c;
    }
  }
  return toml + '"';
}

std::string toml_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return toml_string(*text);
  std::string toml;
  if (const auto* items = std::get_if<Array>(&value.data)) {
    for (const Value& item : *items) toml += (toml.empty() ? "" : ", ") + toml_of(item);
    return "[" + toml + "]";
  }
  if (const auto* entries = std::get_if<Entries>(&value.data)) {
    for (const Entry& entry : *entries)
      toml += fmt::format("{}{} = {}", toml.empty() ? "" : ", ", entry.key, toml_of(entry.value));
    return "{" + toml + "}";
  }
  return describe(value);
}

/// Adds the keys of a table: those of tables within it have dots.
void add_keys(std::vector<KeyValue>& all, const KeyValue& place, const Entries& entries) {
  for (const Entry& entry : entries) {
    KeyValue one = place;
    one.key += (one.key.empty() ? "" : ".") + entry.key;
    if (const auto* inner = std::get_if<Entries>(&entry.value.data)) {
      add_keys(all, one, *inner);
    } else {
      one.value = toml_of(entry.value);
      all.push_back(std::move(one));
    }
  }
}

bool is_list_of_tables(const Array& items) {
  return !items.empty() && std::ranges::all_of(items, [](const Value& item) {
    return std::holds_alternative<Entries>(item.data);
  });
}

void add_tables(std::vector<KeyValue>& all, const std::string& table, const Array& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& entries = std::get<Entries>(items[i].data);
    const auto name = std::ranges::find(entries, "name", &Entry::key);
    add_keys(all,
             {.table = table,
              .name = name == entries.end() ? unnamed(table, i) : text_of(name->value),
              .key = {},
              .value = {}},
             entries);
  }
}

}  // namespace

std::vector<KeyValue> key_values(const Value& root,
                                 std::initializer_list<std::string_view> without) {
  std::vector<KeyValue> all;
  for (const Entry& entry : std::get<Entries>(root.data)) {
    if (std::ranges::find(without, entry.key) != without.end()) continue;
    const auto* items = std::get_if<Array>(&entry.value.data);
    if (items != nullptr && is_list_of_tables(*items)) {
      add_tables(all, entry.key, *items);
    } else {
      add_keys(all, {}, {entry});
    }
  }
  std::ranges::stable_sort(all, {}, order_of);
  return all;
}

std::vector<KeyChange> differences(const std::vector<KeyValue>& before,
                                   const std::vector<KeyValue>& after) {
  std::vector<KeyChange> changes;
  auto old = before.begin(), now = after.begin();
  while (old != before.end() || now != after.end()) {
    const bool has_old =
        old != before.end() && (now == after.end() || order_of(*old) <= order_of(*now));
    const bool has_now =
        now != after.end() && (old == before.end() || order_of(*now) <= order_of(*old));
    const KeyValue& one = has_old ? *old : *now;
    const std::string was = has_old ? old->value : "", is = has_now ? now->value : "";
    if (was != is) changes.push_back({one.table, one.name, one.key, was, is});
    old += has_old ? 1 : 0;
    now += has_now ? 1 : 0;
  }
  return changes;
}

}  // namespace lw::config
