// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/document.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "capture/reader.h"
#include "config/limits.h"
#include "config/toml/bounds.h"
#include "config/toml/include.h"
#include "config/toml/profile_search.h"
#include "core/input.h"
#include "core/names.h"

namespace lw::config {
namespace {

FilePosition position_of(const toml::source_region& region) {
  return {static_cast<std::uint32_t>(region.begin.line),
          static_cast<std::uint32_t>(region.begin.column)};
}

/// Converts a parsed text. Recursive: toml++ bounds the nesting depth.
class Conversion {
 public:
  explicit Conversion(std::string_view text) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines_.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  Entries table(const toml::table& table) const {
    Entries entries;
    entries.reserve(table.size());
    for (const auto& [key, node] : table)
      entries.push_back({std::string(key.str()), position_of(key.source()), value(node)});
    return entries;
  }

 private:
  Array array(const toml::array& array) const {
    Array items;
    items.reserve(array.size());
    for (const auto& node : array) items.push_back(value(node));
    return items;
  }

  Value value(const toml::node& node) const {
    const FilePosition at = position_of(node.source());
    switch (node.type()) {
      case toml::node_type::table:
        return {at, table(*node.as_table()), !node.as_table()->is_inline()};
      case toml::node_type::array:
        return {at, array(*node.as_array())};
      case toml::node_type::string:
        return {at, node.as_string()->get()};
      case toml::node_type::integer:
        return {at, node.as_integer()->get()};
      case toml::node_type::floating_point:
        return {.at = at, .data = node.as_floating_point()->get(), .exact = has_exponent(at)};
      case toml::node_type::boolean:
        return {at, node.as_boolean()->get()};
      default:
        return {at, DateOrTime{}};
    }
  }

  /// True if the number at this position is written as 1e-3.
  bool has_exponent(FilePosition at) const {
    if (at.line == 0 || at.line > lines_.size()) return false;
    std::string_view rest = lines_[at.line - 1];
    const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    for (std::uint32_t column = 1; column < at.column && !rest.empty(); ++column) do
        rest.remove_prefix(1);
      while (!rest.empty() && !is_first(rest.front()));
    rest = rest.substr(0, rest.find_first_not_of("0123456789+-._eE"));
    return rest.find_first_of("eE") != rest.npos;
  }

  std::vector<std::string_view> lines_;
};

bool has_nul(std::string_view text) noexcept { return text.find('\0') != text.npos; }

/// Returns the value with a NUL in its text or its key; null if none has one. A NUL would end the
/// name of a file, or a filter, for the libraries that read it.
const Value* holder_of_nul(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data))
    return has_nul(*text) ? &value : nullptr;
  if (const auto* items = std::get_if<Array>(&value.data))
    for (const Value& item : *items)
      if (const Value* holder = holder_of_nul(item)) return holder;
  if (const auto* entries = std::get_if<Entries>(&value.data))
    for (const Entry& entry : *entries) {
      if (has_nul(entry.key)) return &entry.value;
      if (const Value* holder = holder_of_nul(entry.value)) return holder;
    }
  return nullptr;
}

std::unexpected<Error> refuse(const std::string& name, FilePosition at, std::string_view why) {
  return fail(fmt::format("{}:{}:{}: {}", name, at.line, at.column, why));
}

/// What a file is that begins with these bytes and is no profile; empty: it may be one.
std::string_view other_file(std::string_view text) {
  const auto start = std::as_bytes(std::span(text));
  if (capture::PcapFormat::recognises(start) || capture::PcapngFormat::recognises(start))
    return "a capture";
  if (text.starts_with("\x1f\x8b") || text.starts_with("\x28\xb5\x2f\xfd"))
    return "a compressed file";
  return {};
}

/// Parses a text within the bounds of profiles; it may contain NUL characters.
Result<Value> parse_any(std::string_view text, const std::string& name) {
  if (const auto found = other_file(text); !found.empty())
    return fail(fmt::format("{}: expected a profile (TOML), found {}; the profile comes first",
                            name, found));
  if (auto bounded = check_bounds(text, name); !bounded) return std::unexpected(bounded.error());
  try {
    return Value{{1, 1}, Conversion(text).table(toml::parse(text))};
  } catch (const toml::parse_error& error) {
    return refuse(name, position_of(error.source()),
                  fmt::format("not TOML: {}", error.description()));
  }
}

/// The value of an edit: TOML, or a string without quotes such as 2ms or path.
Result<Value> value_of(const std::string& text, FilePosition at, const std::string& name) {
  const std::string line = "value = " + text;
  if (auto bounded = check_bounds(line, name); !bounded) return std::unexpected(bounded.error());
  const auto root = parse_any(line, name);
  const auto* entries = root ? &std::get<Entries>(root->data) : nullptr;
  if (!entries || entries->size() != 1) return Value{at, text};
  Value value = entries->front().value;
  value.at = at;
  return value;
}

template <class SomeEntries>
auto* find_entry(SomeEntries& entries, std::string_view key) {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &*found;
}

/// Returns the table that an edit changes, or null. `Node` is Value or const Value.
template <class Node>
Node* find_table(Node& root, const Edit& edit) {
  if (edit.table.empty()) return &root;
  auto* list = find_entry(std::get<Entries>(root.data), edit.table);
  auto* items = list ? std::get_if<Array>(&list->value.data) : nullptr;
  if (!items) return nullptr;
  for (std::size_t i = 0; i < items->size(); ++i) {
    auto* entries = std::get_if<Entries>(&(*items)[i].data);
    if (!entries) continue;
    const auto* name = find_entry(*entries, "name");
    const auto* text = name ? std::get_if<std::string>(&name->value.data) : nullptr;
    if (name ? text && *text == edit.name : unnamed(edit.table, i) == edit.name)
      return &(*items)[i];
  }
  return nullptr;
}

/// Returns the names of all [[table]]s.
std::vector<std::string> names_of(const Value& root, std::string_view table) {
  std::vector<std::string> names;
  const Entry* list = find_entry(std::get<Entries>(root.data), table);
  const auto* items = list ? std::get_if<Array>(&list->value.data) : nullptr;
  for (std::size_t i = 0; items && i < items->size(); ++i) {
    const auto* entries = std::get_if<Entries>(&(*items)[i].data);
    const Entry* name = entries ? find_entry(*entries, "name") : nullptr;
    const auto* text = name ? std::get_if<std::string>(&name->value.data) : nullptr;
    names.push_back(text ? *text : unnamed(table, i));
  }
  return names;
}

/// Returns "x.toml: no [[rule]] has name = "long hall": did you mean "long haul"?".
std::string unknown_name(const std::string& file, const Value& root, const Edit& edit) {
  const std::vector<std::string> names = names_of(root, edit.table);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(edit.name, candidates);
  return fmt::format("{}: no [[{}]] has name = \"{}\"{}", file, edit.table, edit.name,
                     near.empty() ? "" : fmt::format(": did you mean \"{}\"?", near));
}

bool removes_key(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  return text && text->empty();
}

/// Follows the dots of `key` and creates missing tables; leaves the last part in `key`. Null if a
/// part is not a table.
Value* reach(Value* table, std::string_view& key) {
  for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
    auto* entries = std::get_if<Entries>(&table->data);
    if (!entries) return nullptr;
    Entry* entry = find_entry(*entries, key.substr(0, dot));
    if (!entry)
      entry = &entries->emplace_back(
          Entry{std::string(key.substr(0, dot)), table->at, Value{table->at, Entries{}}});
    table = &entry->value;
    key.remove_prefix(dot + 1);
  }
  return std::holds_alternative<Entries>(table->data) ? table : nullptr;
}

/// For profile_texts(): the web page of a run may load a profile in a thread of its own.
struct KeptTexts {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::string>> texts;
};
KeptTexts& kept_texts() {
  static KeptTexts kept;
  return kept;
}

}  // namespace

void keep_profile_text(const ProfileText& profile) {
  constexpr std::size_t kMost = 32;  // files of one run; a list of profiles has more
  const std::lock_guard lock(kept_texts().mutex);
  auto& texts = kept_texts().texts;
  const auto known =
      std::ranges::find(texts, profile.name, &std::pair<std::string, std::string>::first);
  if (known != texts.end()) {
    known->second = profile.text;
  } else if (texts.size() < kMost) {
    texts.emplace_back(profile.name, profile.text);
  }
}

Result<std::string> read_profile_text(const std::string& path, const ClientFiles* only) {
  auto text = only ? only->read(path) : read_start(path, kMostProfileBytes + 1);
  if (!text)
    return fail(only ? fmt::format("{}: {}", path, text.error().message) : text.error().message);
  keep_profile_text({path == "-" ? "standard input" : path, *text});
  return std::move(*text);
}

std::vector<std::pair<std::string, std::string>> profile_texts() {
  const std::lock_guard lock(kept_texts().mutex);
  return kept_texts().texts;
}

std::string unnamed(std::string_view table, std::size_t index) {
  return fmt::format("{}{}", table, index);
}

void Document::nest(std::string key) {
  const FilePosition at = content_->root.at;
  Value inner = std::exchange(content_->root, Value{at, Entries{}});
  std::get<Entries>(content_->root.data).push_back({std::move(key), at, std::move(inner)});
}

void Document::remove(std::initializer_list<std::string_view> keys) {
  std::erase_if(std::get<Entries>(content_->root.data), [&](const Entry& entry) {
    return std::ranges::find(keys, entry.key) != keys.end();
  });
}

Document Document::copy() const {
  const auto& files = content_->diagnostics.files();
  auto copy = std::make_unique<Content>(Content{Diagnostics(files.front()), content_->root});
  for (std::size_t i = 1; i < files.size(); ++i) copy->diagnostics.add_file(files[i]);
  copy->diagnostics.hide(content_->diagnostics.texts());
  return Document(std::move(copy));
}

Parsed<Assignment> parse_assignment(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos)
    return std::unexpected(fmt::format("expected KEY=VALUE, found {}", text));
  return Assignment{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<std::vector<Edit>> Document::edits_of(std::string_view table,
                                             std::span<const std::string> changes) const {
  const std::vector<std::string> names = names_of(content_->root, table);
  std::vector<Edit> edits;
  for (const std::string& change : changes) {
    const auto assignment = parse_assignment(change);
    if (!assignment) return fail("--set: " + assignment.error());
    const std::string& path = assignment->key;
    // Names may contain dots: use the longest name that matches.
    std::size_t length = path.find('.');
    if (length == std::string::npos || length == 0 || length + 1 == path.size())
      return fail(fmt::format(
          "--set: expected the name of a [[{}]], a dot, and KEY=VALUE, found {}", table, change));
    for (const std::string& name : names)
      if (name.size() > length && name.size() + 1 < path.size() && path[name.size()] == '.' &&
          path.starts_with(name))
        length = name.size();
    Edit edit{.table = std::string(table),
              .name = path.substr(0, length),
              .key = path.substr(length + 1),
              .value = assignment->value,
              .of_scenario = true};
    if (std::ranges::find(names, edit.name) == names.end())
      return fail("--set: " + unknown_name(name(), content_->root, edit));
    edits.push_back(std::move(edit));
  }
  return edits;
}

std::string beside(const std::string& profile, const std::string& file) {
  return (std::filesystem::path(profile).parent_path() / file).string();
}

std::string beside(const std::string& profile, const FileName& file) {
  if (!file.only) return beside(profile, file.text);
  return file.only->path_of(std::filesystem::path(profile).parent_path(), file.text);
}

Result<void> Document::apply(const Edit& edit) {
  using enum Diagnostics::Texts;
  const bool of_client = edit.only || (edit.parsed && edit.parsed->only);
  if (of_client && content_->diagnostics.texts() == shown) hide(hidden_in_files);
  if (edit.key.empty()) return append(edit);
  Value* table = find_table(content_->root, edit);
  if (!table) return fail(unknown_name(name(), content_->root, edit));
  if (std::ranges::count(edit.key, '.') >= static_cast<std::ptrdiff_t>(kDeepestProfile))
    return fail(fmt::format("{}: expected a key of at most {} parts, found more: {}", name(),
                            kDeepestProfile, excerpt(edit.key)));
  auto given = edit.parsed ? Result<Value>(*edit.parsed) : value_of(edit.value, table->at, name());
  if (!given) return std::unexpected(given.error());
  Value& value = *given;
  if (holder_of_nul(value))
    return fail(fmt::format("{}: {}: expected text without NUL characters, found one", name(),
                            excerpt(edit.key)));
  if (edit.only) restrict_files(value, edit.only);
  std::string_view key = edit.key;
  Value* inner = reach(table, key);
  if (!inner)
    return fail(fmt::format("{}:{}:{}: {}: expected a table to change, found a value", name(),
                            value.at.line, value.at.column, edit.key));
  auto& entries = std::get<Entries>(inner->data);
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
  const FilePosition at = value.at;
  if (!removes_key(value)) entries.push_back({std::string(key), at, std::move(value)});
  return {};
}

Result<void> Document::append(const Edit& edit) {
  if (holder_of_nul(*edit.parsed))
    return fail(fmt::format("{}: [[{}]]: expected text without NUL characters, found one", name(),
                            edit.table));
  auto& entries = std::get<Entries>(content_->root.data);
  Entry* list = find_entry(entries, edit.table);
  const FilePosition at = edit.parsed->at;
  if (!list) list = &entries.emplace_back(Entry{edit.table, at, Value{at, Array{}}});
  auto* items = std::get_if<Array>(&list->value.data);
  if (!items)
    return fail(fmt::format("{}: expected [[{}]] tables, found another value", name(), edit.table));
  items->push_back(*edit.parsed);
  return {};
}

const Value* Document::find(const Edit& edit) const {
  const Value* value = find_table(std::as_const(content_->root), edit);
  for (std::string_view key = edit.key; value && !key.empty();) {
    const auto dot = std::min(key.find('.'), key.size());
    const auto* entries = std::get_if<Entries>(&value->data);
    const Entry* entry = entries ? find_entry(*entries, key.substr(0, dot)) : nullptr;
    value = entry ? &entry->value : nullptr;
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return value;
}

Result<Document> Document::load(const std::string& path, const ClientFiles* only) {
  auto text = read_profile_text(path, only);
  if (!text) return std::unexpected(text.error());
  return parse(*text, path == "-" ? "<stdin>" : path, only);
}

Result<Document> Document::find(const std::string& name, std::string_view kind) {
  const auto found = find_profile(name, {kind});
  return found ? load(*found) : std::unexpected(found.error());
}

Result<Value> parse_toml(std::string_view text, const std::string& name) {
  auto root = parse_any(text, name);
  if (!root) return root;
  if (const Value* value = holder_of_nul(*root))
    return refuse(name, value->at, "expected text without NUL characters, found one");
  return root;
}

Result<Value> parse_hidden(std::string_view text, const std::string& name,
                           const ClientFiles* only) {
  auto root = parse_toml(text, name);
  if (root) {
    restrict_files(*root, only);
    return root;
  }
  // After the name and the position, what the parser says quotes the text.
  const std::string& error = root.error().message;
  std::size_t end = name.size();
  for (int colon = 0; colon < 3 && end != std::string::npos; ++colon)
    end = error.find(':', colon == 0 ? end : end + 1);
  return fail(fmt::format("{}: {}", error.substr(0, end), without_text({})));
}

Result<Document> Document::parse(std::string_view text, std::string name, const ClientFiles* only) {
  auto root = only ? parse_hidden(text, name, only) : parse_toml(text, name);
  if (!root) return std::unexpected(root.error());
  auto content = std::make_unique<Content>(Content{Diagnostics(std::move(name)), std::move(*root)});
  if (only) content->diagnostics.hide(Diagnostics::Texts::hidden);
  if (auto included = include_files(content->root, content->diagnostics); !included)
    return std::unexpected(included.error());
  return Document(std::move(content));
}

}  // namespace lw::config
