// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/toml/diagnostics.h"
#include "config/toml/readers.h"
#include "config/toml/value.h"

namespace lw::config {

/// A table of a profile, taken apart key by key. Nothing here fails: what is wrong is noted in the
/// document, with its place, and the caller goes on with a default so that all mistakes come out
/// together. Every key that was asked for is a known one; finish() refuses the rest.
///
/// Copies share their list of known keys. Lives as long as its document. Not thread safe.
class Table {
 public:
  /// `value` holds Entries.
  Table(const Value& value, Diagnostics& diagnostics);

  /// The same table, in which a key that is absent is looked up in `defaults`.
  [[nodiscard]] Table over(const Table& defaults) const;

  /// The key's value as `read` understands it; nothing when the key is absent, or wrong (noted).
  /// `read` takes a `const Value&` (readers.h) or a string_view (core/quantity.h; it is then given
  /// numbers as text too) and returns a Parsed<T>.
  template <class Read>
  [[nodiscard]] auto get(std::string_view key, Read&& read) const {
    using T = ReadResult<Read>;
    const Value* value = find(key);
    if (value == nullptr) return std::optional<T>();
    Parsed<T> result = read_value(*value, read);
    if (result) return std::optional<T>(std::move(*result));
    note(value->at, key, result.error());
    return std::optional<T>();
  }

  /// get(), with a value for a key that is absent (or wrong).
  template <class Read>
  [[nodiscard]] auto get_or(std::string_view key, Read&& read, ReadResult<Read> fallback) const {
    return get(key, std::forward<Read>(read)).value_or(std::move(fallback));
  }

  /// get(), where an absent key is a mistake; `what` is what should stand there, for the message.
  template <class Read>
  [[nodiscard]] auto require(std::string_view key, Read&& read, std::string_view what) const {
    if (find(key) == nullptr) note_missing(key, what);
    return get(key, std::forward<Read>(read));
  }

  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }

  /// The table itself has the key: not only its defaults.
  [[nodiscard]] bool has_itself(std::string_view key) const;

  /// A sub-table; nothing when absent or something else (noted).
  [[nodiscard]] std::optional<Table> table(std::string_view key) const;

  /// `[[key]]`, in the order of the file; empty when absent or something else (noted).
  [[nodiscard]] std::vector<Table> tables(std::string_view key) const;

  /// The keys that stand in the table itself, whatever they are: for tables whose keys are names
  /// that a person chose.
  [[nodiscard]] std::vector<std::string_view> keys() const;

  /// Notes a mistake that only the caller can see ("expected at most mtu, found 9000") at the
  /// key's value, or at the table where the key is absent.
  void refuse(std::string_view key, std::string_view message) const;
  /// The same about the table as a whole.
  void refuse(std::string_view message) const;

  /// Notes every key that nobody asked for, with the nearest known one. Call it last.
  void finish() const;

  [[nodiscard]] Position position() const { return value_->at; }

 private:
  struct Known;

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

  [[nodiscard]] const Entry* find_itself(std::string_view key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
  void note(Position at, std::string_view key, std::string_view message) const;
  void note_missing(std::string_view key, std::string_view what) const;

  const Value* value_;
  Diagnostics* diagnostics_;
  std::shared_ptr<Known> known_;
  std::shared_ptr<const Table> defaults_;
};

}  // namespace lw::config
