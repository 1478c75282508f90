// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/toml/client_files.h"
#include "config/toml/value.h"
#include "core/error.h"

namespace lw::config {

/// Collects all errors of a profile, so that one run reports them together.
class Diagnostics {
 public:
  /// `name`: the profile's name in messages.
  explicit Diagnostics(std::string name) : files_{std::move(name)} {}

  /// Adds the name of an included file. Returns its FilePosition::file.
  std::uint32_t add_file(std::string name) {
    files_.push_back(std::move(name));
    return static_cast<std::uint32_t>(files_.size() - 1);
  }

  /// Adds an error. The same message at the same position counts once: an error in [defaults] is
  /// reported once, not once per flow.
  /// Keeps the first kMostErrors (config/limits.h); the verdict says that there are more.
  void add(FilePosition at, std::string message);

  [[nodiscard]] bool empty() const { return errors_.empty(); }
  [[nodiscard]] bool full() const;
  /// Says that there are errors which were not added.
  void omit() { omitted_ = true; }

  /// What errors show. A remote client is shown no text of a file.
  enum class Texts : std::uint8_t {
    shown,
    hidden_in_files,  // those of the files that the profile's stages name are hidden
    hidden,           // also the profile's own: the verdict has only positions
  };
  void hide(Texts texts) noexcept { texts_ = texts; }
  [[nodiscard]] Texts texts() const noexcept { return texts_; }

  /// Success without errors. Otherwise a usage error (exit code 2) with a line per error, in file
  /// order: "profiles/x.toml:12:8: rate: expected ..., found ...".
  [[nodiscard]] Result<void> verdict() const;

  [[nodiscard]] const std::string& name() const { return files_.front(); }
  /// The profile's name, then those of the files that it includes.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

 private:
  std::vector<std::string> files_;
  std::set<std::pair<FilePosition, std::string>> errors_;
  bool omitted_ = false;  // further errors came
  Texts texts_ = Texts::shown;
};

/// A table of a profile, read key by key. Functions record errors in the document and return a
/// default, so that reading continues and all errors are reported together. finish() reports every
/// key that was never read.
///
/// Copies share their list of read keys. A Table must not outlive its document. Not thread-safe.
class Table {
 public:
  /// `value` must hold Entries.
  Table(const Value& value, Diagnostics& diagnostics);

  /// Returns this table with `defaults` for absent keys.
  [[nodiscard]] Table with_defaults(const Table& defaults) const;

  /// Reads a key with `read`. Returns nullopt when the key is absent or invalid (error recorded).
  /// `read` takes a `const Value&` (value.h) or a string_view (core/quantity.h; numbers are passed
  /// as text) and returns a Parsed<T>.
  template <class Read>
  [[nodiscard]] auto get(std::string_view key, Read&& read) const {
    using T = ReadResult<Read>;
    const Value* value = find(key);
    if (value == nullptr) return std::optional<T>();
    Parsed<T> result = read_value(*value, read);
    if (result) return std::optional<T>(std::move(*result));
    add_error(value->at, key, result.error());
    return std::optional<T>();
  }

  /// get(), or `fallback` when the key is absent or invalid.
  template <class Read>
  [[nodiscard]] auto get_or(std::string_view key, Read&& read, ReadResult<Read> fallback) const {
    return get(key, std::forward<Read>(read)).value_or(std::move(fallback));
  }

  /// get() for a required key. `what` describes the expected value in the error message.
  template <class Read>
  [[nodiscard]] auto require(std::string_view key, Read&& read, std::string_view what) const {
    if (find(key) == nullptr) add_missing(key, what);
    return get(key, std::forward<Read>(read));
  }

  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }

  /// Whether this table has the key, defaults not included.
  [[nodiscard]] bool has_own(std::string_view key) const;

  /// Returns a sub-table; nullopt when the key is absent or not a table (error recorded).
  [[nodiscard]] std::optional<Table> table(std::string_view key) const;

  /// Returns all `[[key]]` tables in file order; none when the key is absent or of another type
  /// (error recorded), or when there are more than kMostTables (config/limits.h; error recorded).
  [[nodiscard]] std::vector<Table> tables(std::string_view key) const;

  /// Returns the name of the file at a key; nothing when the key is absent or invalid (error
  /// recorded).
  [[nodiscard]] std::optional<FileName> file_name(std::string_view key) const;

  /// Keys of this table, for tables whose keys are names that the user chose.
  [[nodiscard]] std::vector<std::string_view> keys() const;

  /// Records an error that depends on other keys ("expected at most mtu, found 9000"), at the
  /// key's value, or at the table when the key is absent.
  void refuse(std::string_view key, std::string_view message) const;
  /// Records an error about the whole table.
  void refuse(std::string_view message) const;
  /// Records an error in the text of the file that a key names: "line 3: expected ...".
  void refuse_file(std::string_view key, const std::string& message) const;

  /// Records an error for each key that was never read, with the nearest known key. Call it last.
  void finish() const;

  [[nodiscard]] FilePosition position() const { return value_->at; }
  /// The position for a later error: "profiles/x.toml:12:8".
  [[nodiscard]] std::string place() const;
  /// That of a key's value; of the table when the key is absent.
  [[nodiscard]] std::string place(std::string_view key) const;

 private:
  struct Known;

  [[nodiscard]] std::string place_of(FilePosition at) const;

  template <class Read>
  static auto read_value(const Value& value, Read& read) -> Parsed<ReadResult<Read>> {
    if constexpr (std::is_invocable_v<Read&, const Value&>) {
      return read(value);
    } else {
      const std::string text = text_of(value);
      if (text.empty()) return std::unexpected("expected text, found " + describe(value));
      return read(std::string_view(text));
    }
  }

  [[nodiscard]] const Entry* find_own(std::string_view key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
  void add_error(FilePosition at, std::string_view key, std::string_view message) const;
  void add_missing(std::string_view key, std::string_view what) const;

  const Value* value_;
  Diagnostics* diagnostics_;
  std::shared_ptr<Known> known_;
  std::shared_ptr<const Table> defaults_;
};

}  // namespace lw::config
