// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "config/toml/value.h"

namespace lw::config {

/// A key of a profile, and its value as TOML: of the `[[table]]` with this name (or unnamed()), or
/// of the root, whose `table` and `name` are empty. Dots in `key` name sub-tables.
struct KeyValue {
  std::string table, name, key, value;
};

/// Returns all keys of a profile but those of the root's tables `without`, sorted by table, name
/// and key.
std::vector<KeyValue> key_values(const Value& root,
                                 std::initializer_list<std::string_view> without);

/// A key whose value differs between two versions of a profile. An empty value: that version has no
/// such key.
struct KeyChange {
  std::string table, name, key, before, after;
};

/// Returns what differs between two results of key_values().
std::vector<KeyChange> differences(const std::vector<KeyValue>& before,
                                   const std::vector<KeyValue>& after);

}  // namespace lw::config
