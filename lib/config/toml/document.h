// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/toml/table.h"
#include "config/toml/value.h"
#include "core/error.h"

namespace lw::config {

/// Reads a profile's text from a file; "-" is standard input. `only`: of the client that named the
/// file. Errors: the file is missing, unreadable or too large.
Result<std::string> read_profile_text(const std::string& path, const ClientFiles* only = nullptr);
/// A profile's text and its name in messages: a path, "<stdin>", "<options>".
struct ProfileText {
  std::string name, text;
};
/// Keeps a text for profile_texts(). read_profile_text() does it itself.
void keep_profile_text(const ProfileText& profile);
/// Names and texts of the profiles that this process has read, in the order of the first reading;
/// a profile that was read again has its latest text. For the page of a run. Any thread.
std::vector<std::pair<std::string, std::string>> profile_texts();

/// The root table of a TOML text; `name` is its name in the error.
Result<Value> parse_toml(std::string_view text, const std::string& name);
/// parse_toml() of a file that a remote client named: marks all values, and hides the text in the
/// error.
Result<Value> parse_hidden(std::string_view text, const std::string& name, const ClientFiles* only);

/// Path of a file that a profile names, relative to the profile's folder. A client's is that of
/// ClientFiles::path_of().
std::string beside(const std::string& profile, const std::string& file);
std::string beside(const std::string& profile, const FileName& file);

/// Returns the name of the `index`-th of all [[table]]s, counted from 0, if it has no `name`:
/// "rule0".
std::string unnamed(std::string_view table, std::size_t index);

/// A change to a parsed profile: sets `key` of the `[[table]]` with this `name` (or unnamed()).
/// Dots in `key` name sub-tables: `queue.rate`. An empty `table` means the profile's root; an
/// empty `key` appends `parsed` as another `[[table]]`.
struct Edit {
  /// `value` is TOML, or a string without quotes. An empty value removes the key.
  std::string table, name, key, value;
  std::optional<Value> parsed = {};  // replaces `value`; its position is used in errors
  bool of_scenario = false;          // made by the profile's scenario or by --set, not by a command
  const ClientFiles* only = nullptr;  // of a remote client; must outlive the edit: see Value::only

  [[nodiscard]] bool same_target(const Edit& other) const {
    return table == other.table && name == other.name && key == other.key && !key.empty();
  }
};

/// A key and its value as typed: "loss=0.1%". The value is the text after the first `=`, and may be
/// empty. Error: no `=`, or no key.
struct Assignment {
  std::string key, value;
};
Parsed<Assignment> parse_assignment(std::string_view text);

/// A parsed profile. `include = "other.toml"` at its root adds the keys of another file
/// (config/toml/include.h). Usage: read root() with Table::get() and require(), call finish() on
/// every table, then check verdict(). The values read are valid only if verdict() succeeds.
class Document {
 public:
  /// Parses a file; "-" is standard input. `only`: see parse(). Errors: missing, unreadable, not
  /// TOML.
  static Result<Document> load(const std::string& path, const ClientFiles* only = nullptr);

  /// load() of what find_profile() finds.
  static Result<Document> find(const std::string& name, std::string_view kind);

  /// Parses a text; `name` is its name in error messages, and included files are beside it. `only`:
  /// a remote client named the file. Then its values are the client's, and errors do not show its
  /// text.
  static Result<Document> parse(std::string_view text, std::string name,
                                const ClientFiles* only = nullptr);

  /// Returns a copy without recorded errors, to try edits on.
  [[nodiscard]] Document copy() const;

  /// Converts `changes` such as "long haul.loss=0.1%" to edits: the name of a [[table]], a dot, a
  /// key, and its value. Errors (usage): another form; no table of that name, with the most similar
  /// name.
  [[nodiscard]] Result<std::vector<Edit>> edits_of(std::string_view table,
                                                   std::span<const std::string> changes) const;
  /// Moves all keys of the root into a new table `key`.
  void nest(std::string key);
  /// Removes keys of the root.
  void remove(std::initializer_list<std::string_view> keys);
  /// Applies an edit. Call it before root(). Error (usage): no such table.
  Result<void> apply(const Edit& edit);
  /// Returns the value that the edit would replace, or null.
  [[nodiscard]] const Value* find(const Edit& edit) const;

  /// Sets what errors show from now on. An edit of a remote client hides the texts of files.
  void hide(Diagnostics::Texts texts) noexcept { content_->diagnostics.hide(texts); }
  /// Records an error.
  void refuse(FilePosition at, std::string message) {
    content_->diagnostics.add(at, std::move(message));
  }

  /// The root table. Valid as long as the document, which may be moved.
  [[nodiscard]] Table root() { return Table{content_->root, content_->diagnostics}; }

  /// The root as a value.
  [[nodiscard]] const Value& value() const { return content_->root; }

  /// All recorded errors, or success.
  [[nodiscard]] Result<void> verdict() const { return content_->diagnostics.verdict(); }

  [[nodiscard]] const std::string& name() const { return content_->diagnostics.name(); }
  /// The names of the files that the profile was read from.
  [[nodiscard]] const std::vector<std::string>& files() const {
    return content_->diagnostics.files();
  }

 private:
  struct Content {
    Diagnostics diagnostics;
    Value root;
  };
  explicit Document(std::unique_ptr<Content> content) : content_(std::move(content)) {}
  Result<void> append(const Edit& edit);

  std::unique_ptr<Content> content_;  // stable address: tables point into it
};

}  // namespace lw::config
