// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/toml/diagnostics.h"
#include "config/toml/table.h"
#include "config/toml/value.h"
#include "core/error.h"

namespace lw::config {

/// A profile's text from a file; "-" is standard input. Errors: not there, not readable, too large.
Result<std::string> read_profile_text(const std::string& path);

/// A change to a profile that has been read: `key` of the `[[table]]` whose `name` is this gets
/// `value`, written as in TOML; what isn't TOML is taken as a string, so that quotes may be left
/// out. An empty value takes the key away. Dots lead into tables: `queue.rate`.
/// Without a table it is a key of the profile itself; without a key another `[[table]]`, `parsed`.
struct Edit {
  std::string table, name, key, value;
  std::optional<Value> parsed = {};  // in place of `value`; its place is where mistakes are
  bool of_scenario = false;          // by the profile itself, as time went by

  [[nodiscard]] bool same_target(const Edit& other) const {
    return table == other.table && name == other.name && key == other.key && !key.empty();
  }
};

/// A profile's text, parsed. Reading it goes in three steps: take root() apart with Table's get()
/// and require(), call finish() on every table, and ask verdict(). What was read counts only when
/// the verdict is good.
class Document {
 public:
  /// Reads a file; "-" is standard input. Errors: not there, not readable, not TOML.
  static Result<Document> load(const std::string& path);

  /// The same for a text; `name` is what errors call it.
  static Result<Document> parse(std::string_view text, std::string name);

  /// The same once more, with no mistakes noted yet: for what changes would make of it.
  [[nodiscard]] Document copy() const;

  /// Before root() is asked for. Error (usage): there is no such table.
  Result<void> apply(const Edit& edit);
  /// What the edit would change; null where nothing is there yet.
  [[nodiscard]] const Value* find(const Edit& edit) const;

  /// Notes a mistake that only the whole shows.
  void refuse(Position at, std::string message) {
    content_->diagnostics.add(at, std::move(message));
  }

  /// The table that holds everything. Lives as long as the document (which may be moved).
  [[nodiscard]] Table root() { return Table{content_->root, content_->diagnostics}; }

  /// All that was wrong, or nothing.
  [[nodiscard]] Result<void> verdict() const { return content_->diagnostics.verdict(); }

  [[nodiscard]] const std::string& name() const { return content_->diagnostics.name(); }

 private:
  struct Content {
    Diagnostics diagnostics;
    Value root;
  };
  explicit Document(std::unique_ptr<Content> content) : content_(std::move(content)) {}
  Result<void> append(const Edit& edit);

  std::unique_ptr<Content> content_;  // behind a pointer, because tables point into it
};

}  // namespace lw::config
