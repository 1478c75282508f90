// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/table.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "config/limits.h"
#include "core/names.h"

namespace lw::config {
namespace {

const Entries& entries_of(const Value& value) { return std::get<Entries>(value.data); }

}  // namespace

/// The keys that were read.
struct Table::Known {
  std::set<std::string, std::less<>> keys;
};

Table::Table(const Value& value, Diagnostics& diagnostics)
    : value_(&value), diagnostics_(&diagnostics), known_(std::make_shared<Known>()) {}

Table Table::with_defaults(const Table& defaults) const {
  Table layered = *this;
  layered.defaults_ = std::make_shared<const Table>(defaults);
  return layered;
}

const Entry* Table::find_own(std::string_view key) const {
  known_->keys.emplace(key);
  const auto found = std::ranges::find(entries_of(*value_), key, &Entry::key);
  return found == entries_of(*value_).end() ? nullptr : &*found;
}

const Value* Table::find(std::string_view key) const {
  // Always look the key up in the defaults too: finish() must know that it was read.
  const Value* fallback = defaults_ ? defaults_->find(key) : nullptr;
  const Entry* entry = find_own(key);
  return entry != nullptr ? &entry->value : fallback;
}

bool Table::has_own(std::string_view key) const { return find_own(key) != nullptr; }

std::optional<Table> Table::table(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (std::holds_alternative<Entries>(value->data)) return Table{*value, *diagnostics_};
  add_error(value->at, key, fmt::format("expected a table, found {}", describe(*value)));
  return std::nullopt;
}

std::vector<Table> Table::tables(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return {};
  const auto* array = std::get_if<Array>(&value->data);
  if (array == nullptr) {
    add_error(value->at, key,
              fmt::format("expected [[{}]] tables, found {}", key, describe(*value)));
    return {};
  }
  if (array->size() > kMostTables) {
    add_error((*array)[kMostTables].at, key,
              fmt::format("expected at most {} [[{}]] tables, found {}", kMostTables, key,
                          array->size()));
    return {};
  }
  std::vector<Table> result;
  for (const Value& item : *array) {
    if (std::holds_alternative<Entries>(item.data)) {
      result.emplace_back(item, *diagnostics_);
    } else {
      add_error(item.at, key, fmt::format("expected a table, found {}", describe(item)));
    }
  }
  return result;
}

std::optional<FileName> Table::file_name(std::string_view key) const {
  const auto text = get(key, read_text);
  if (!text) return std::nullopt;
  return FileName{*text, find(key)->only};
}

std::vector<std::string_view> Table::keys() const {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries_of(*value_)) names.emplace_back(entry.key);
  return names;
}

void Table::add_error(FilePosition at, std::string_view key, std::string_view message) const {
  diagnostics_->add(at, fmt::format("{}: {}", key, message));
}

void Table::add_missing(std::string_view key, std::string_view what) const {
  diagnostics_->add(value_->at, fmt::format("{}: expected {}, found none", key, what));
}

void Table::refuse(std::string_view key, std::string_view message) const {
  const Value* value = find(key);
  add_error(value == nullptr ? value_->at : value->at, key, message);
}

void Table::refuse(std::string_view message) const {
  diagnostics_->add(value_->at, std::string(message));
}

void Table::refuse_file(std::string_view key, const std::string& message) const {
  const bool shown = diagnostics_->texts() == Diagnostics::Texts::shown;
  refuse(key, fmt::format("{}: {}", text_of(*find(key)), shown ? message : without_text(message)));
}

void Table::finish() const {
  const std::vector<std::string_view> known(known_->keys.begin(), known_->keys.end());
  for (const Entry& entry : entries_of(*value_)) {
    if (known_->keys.contains(entry.key)) continue;
    if (diagnostics_->full()) return diagnostics_->omit();
    const std::string_view near = nearest(entry.key, known);
    diagnostics_->add(entry.at, near.empty()
                                    ? fmt::format("unknown key \"{}\"", excerpt(entry.key))
                                    : fmt::format("unknown key \"{}\": did you mean \"{}\"?",
                                                  excerpt(entry.key), near));
  }
}

bool Diagnostics::full() const { return errors_.size() >= kMostErrors; }

void Diagnostics::add(FilePosition at, std::string message) {
  message = bounded_message(std::move(message));
  if (!full()) {
    errors_.emplace(at, std::move(message));
  } else if (!errors_.contains({at, message})) {
    omit();
  }
}

std::string Table::place() const { return place_of(position()); }

std::string Table::place(std::string_view key) const {
  const Value* value = find(key);
  return place_of(value == nullptr ? position() : value->at);
}

std::string Table::place_of(FilePosition at) const {
  return fmt::format("{}:{}:{}", diagnostics_->files()[at.file], at.line, at.column);
}

Result<void> Diagnostics::verdict() const {
  if (errors_.empty()) return {};
  std::string text;
  for (const auto& [at, whole] : errors_) {
    const std::string message = texts_ == Texts::hidden ? without_text({}) : whole;
    if (!text.empty()) text += '\n';
    // A command's edits have no position in the file.
    text += at.line == 0
                ? fmt::format("{}: {}", name(), message)
                : fmt::format("{}:{}:{}: {}", files_[at.file], at.line, at.column, message);
  }
  if (omitted_)
    text += fmt::format("\n{}: further errors are not listed: correct these first", name());
  return fail(std::move(text));
}

}  // namespace lw::config
