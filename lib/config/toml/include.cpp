// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/include.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/limits.h"
#include "config/toml/document.h"
#include "core/names.h"

namespace lw::config {
namespace {

/// Sets the file of all positions in a value. Recursive; the parser bounds the depth.
void set_file(Value& value, std::uint32_t file) {
  value.at.file = file;
  if (auto* items = std::get_if<Array>(&value.data))
    for (Value& item : *items) set_file(item, file);
  if (auto* entries = std::get_if<Entries>(&value.data))
    for (Entry& entry : *entries) {
      entry.at.file = file;
      set_file(entry.value, file);
    }
}

Entry* entry_of(Entries& entries, std::string_view key) {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &*found;
}

std::string name_in(Value& table) {
  auto* entries = std::get_if<Entries>(&table.data);
  const Entry* name = entries ? entry_of(*entries, "name") : nullptr;
  const auto* text = name ? std::get_if<std::string>(&name->value.data) : nullptr;
  return text ? *text : "";
}

/// Returns true if a value is an array of [[tables]].
bool is_tables(const Value& value) {
  const auto* items = std::get_if<Array>(&value.data);
  return items && !items->empty() && std::ranges::all_of(*items, [](const Value& item) {
           return std::holds_alternative<Entries>(item.data) && item.dotted;
         });
}

void merge(Value& base, Value own);

/// Merges tables of one name at the position of the included one. Tables that exist only in the
/// including file come first.
void merge_tables(Array& base, Array own) {
  Array before;
  for (Value& table : own) {
    const std::string name = name_in(table);
    const auto same =
        std::ranges::find_if(base, [&](Value& other) { return name_in(other) == name; });
    if (!name.empty() && same != base.end()) {
      merge(*same, std::move(table));
    } else {
      before.push_back(std::move(table));
    }
  }
  base.insert(base.begin(), std::move_iterator(before.begin()), std::move_iterator(before.end()));
}

/// Requires that both hold Entries. `own` belongs to the including file.
void merge(Value& base, Value own) {
  auto& entries = std::get<Entries>(base.data);
  base.at = own.at;
  for (Entry& entry : std::get<Entries>(own.data)) {
    Entry* old = entry_of(entries, entry.key);
    if (!old) {
      entries.push_back(std::move(entry));
    } else if (is_tables(old->value) && is_tables(entry.value)) {
      merge_tables(std::get<Array>(old->value.data), std::move(std::get<Array>(entry.value.data)));
    } else if (std::holds_alternative<Entries>(old->value.data) &&
               std::holds_alternative<Entries>(entry.value.data) && entry.value.dotted) {
      merge(old->value, std::move(entry.value));
    } else {
      *old = std::move(entry);
    }
  }
}

/// Reads included files. `open` holds the names of the files that are being read.
class Includer {
 public:
  explicit Includer(Diagnostics& diagnostics) : diagnostics_(&diagnostics) {}

  Result<void> expand(Value& root, std::uint32_t file) {
    auto& entries = std::get<Entries>(root.data);
    const Entry* entry = entry_of(entries, "include");
    if (!entry) return {};
    const auto names = list_of(read_text)(entry->value);
    if (!names) return refuse(entry->value.at, names.error());
    const FilePosition at = entry->value.at;
    const ClientFiles* only = entry->value.only;
    std::erase_if(entries, [](const Entry& each) { return each.key == "include"; });
    Value base{root.at, Entries{}, root.dotted};
    open_.push_back(diagnostics_->files()[file]);
    for (const std::string& name : *names) {
      auto included = read({name, only}, diagnostics_->files()[file], at);
      if (!included) return std::unexpected(included.error());
      merge(base, std::move(*included));
    }
    open_.pop_back();
    merge(base, std::move(root));
    root = std::move(base);
    return {};
  }

 private:
  std::unexpected<Error> refuse(FilePosition at, std::string_view why) const {
    return fail(fmt::format("{}:{}:{}: include: {}", diagnostics_->files()[at.file], at.line,
                            at.column, bounded_message(std::string(why))));
  }

  Result<Value> read(const FileName& name, const std::string& from, FilePosition at) {
    const std::string path = beside(from, name);
    std::error_code ignored;
    if (!name.only && !std::filesystem::is_regular_file(path, ignored))
      return refuse(at, fmt::format("expected a file, found none at {}", path));
    const auto same = [&](const std::string& open) {
      std::error_code missing;
      return std::filesystem::equivalent(open, path, missing);
    };
    if (std::ranges::any_of(open_, same))
      return refuse(at,
                    fmt::format("expected no cycle, found {} > {}", fmt::join(open_, " > "), path));
    if (open_.size() > kDeepestInclude)
      return refuse(at, fmt::format("expected at most {} files within each other, found more",
                                    kDeepestInclude));
    if (diagnostics_->files().size() > kMostFiles)
      return refuse(at, fmt::format("expected at most {} files, found more", kMostFiles));
    return parsed(path, name.only);
  }

  Result<Value> parsed(const std::string& path, const ClientFiles* only) {
    const auto text = read_profile_text(path, only);
    if (!text) return std::unexpected(text.error());
    auto root = only ? parse_hidden(*text, path, only) : parse_toml(*text, path);
    if (!root) return root;
    const std::uint32_t file = diagnostics_->add_file(path);
    set_file(*root, file);
    if (auto expanded = expand(*root, file); !expanded) return std::unexpected(expanded.error());
    return root;
  }

  Diagnostics* diagnostics_;
  std::vector<std::string> open_;
};

}  // namespace

Result<void> include_files(Value& root, Diagnostics& diagnostics) {
  return Includer(diagnostics).expand(root, 0);
}

}  // namespace lw::config
