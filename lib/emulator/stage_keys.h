// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quantity.h"

namespace lw {
struct FigureTable;
}

namespace lw::emulator {

/// The keys of a profile's table, as stages read them. lib/config implements it. A wrong value is
/// reported with its position in the file, and the caller continues as if the key were absent.
class StageKeys {
 public:
  virtual ~StageKeys() = default;

  [[nodiscard]] virtual bool has(std::string_view key) const = 0;
  [[nodiscard]] virtual bool is_table(std::string_view key) const = 0;
  /// Returns the table at a key; null if it is absent or not a table (reported).
  [[nodiscard]] virtual std::unique_ptr<StageKeys> table(std::string_view key) const = 0;

  /// Sets the settings of `object`, the struct of `rows` (core/figure.h), from the keys of their
  /// names. Absent keys leave their members as they are.
  virtual void settings(const FigureTable& rows, void* object) const = 0;
  template <class T>
  void settings(T& object) const {
    settings(T::figures(), &object);
  }

  /// Returns a number, or a string with a unit, parsed by `parse` (core/quantity.h).
  template <class T>
  [[nodiscard]] std::optional<T> get(std::string_view key,
                                     Parsed<T> (*parse)(std::string_view)) const {
    Reading<T, decltype(parse)> read(parse);
    read_text(key, read);
    return std::move(read.value);
  }
  template <class T>
  [[nodiscard]] T get_or(std::string_view key, Parsed<T> (*parse)(std::string_view),
                         T fallback) const {
    return get(key, parse).value_or(fallback);
  }
  /// Like get(), but reports an absent key. `what`: an example of the value, for the message.
  template <class T>
  [[nodiscard]] std::optional<T> require(std::string_view key, Parsed<T> (*parse)(std::string_view),
                                         std::string_view what) const {
    need(key, what);
    return get(key, parse);
  }

  template <std::unsigned_integral T>
  [[nodiscard]] std::optional<T> integer(std::string_view key, std::uint64_t least = 0,
                                         std::uint64_t most = std::numeric_limits<T>::max()) const {
    const auto value = read_integer(key, least, most);
    return value ? std::optional(static_cast<T>(*value)) : std::nullopt;
  }
  [[nodiscard]] virtual std::optional<double> number(std::string_view key, double least,
                                                     double most) const = 0;
  [[nodiscard]] virtual std::optional<bool> boolean(std::string_view key) const = 0;
  /// Returns a non-empty string.
  [[nodiscard]] virtual std::optional<std::string> text(std::string_view key) const = 0;
  /// Returns an array of at least one whole number, or a single whole number as an array.
  [[nodiscard]] virtual std::vector<std::uint64_t> integers(
      std::string_view key, std::uint64_t least = 0,
      std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const = 0;
  /// Returns the index of the value among the allowed names.
  [[nodiscard]] virtual std::optional<std::size_t> choice(
      std::string_view key, std::span<const std::string_view> names) const = 0;
  /// Returns what `parse`, a function of a text that returns Parsed<T>, makes of the file that a
  /// key names, relative to the profile's folder. Nothing if the key is absent, the file can't be
  /// read, or its text is wrong (reported).
  template <class T, class Parse>
  [[nodiscard]] std::optional<T> file(std::string_view key, Parse parse) const {
    Reading<T, Parse> read(std::move(parse));
    read_file(key, read);
    return std::move(read.value);
  }

  /// Reports a required key that is absent. Does nothing if it is present.
  virtual void need(std::string_view key, std::string_view what) const = 0;
  /// Reports an error at the key's value or, without a key, at the table.
  virtual void refuse(std::string_view key, std::string_view message) const = 0;
  virtual void refuse(std::string_view message) const = 0;
  /// Reports every key that was not read. Call it last.
  virtual void finish() const = 0;

 protected:
  /// Reads a value's text; returns the error, or nothing.
  struct TextReader {
    virtual ~TextReader() = default;
    virtual std::string operator()(std::string_view text) = 0;
  };
  template <class T, class Parse>
  struct Reading final : TextReader {
    explicit Reading(Parse with) : parse(std::move(with)) {}
    std::string operator()(std::string_view text) override {
      Parsed<T> result = parse(text);
      if (!result) return std::move(result.error());
      value = std::move(*result);
      return {};
    }
    Parse parse;
    std::optional<T> value;
  };
  virtual void read_text(std::string_view key, TextReader& read) const = 0;
  virtual void read_file(std::string_view key, TextReader& read) const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> read_integer(std::string_view key,
                                                                  std::uint64_t least,
                                                                  std::uint64_t most) const = 0;
};

/// Parsers of values that several stages use.
Parsed<double> read_rate(std::string_view text);
Parsed<Duration> read_positive_time(std::string_view text);
/// A share up to CorrelatedDraw::kMost.
Parsed<double> read_correlation(std::string_view text);
inline constexpr double kSlowestRate = 1e3;
/// Most bytes that a frame costs besides its own.
inline constexpr std::uint32_t kMostOverhead = 1024;
/// Largest buffer of a queue or policer, in bytes.
inline constexpr std::uint64_t kLargestBuffer = std::uint64_t{4} << 30;

/// Returns the configuration of a stage whose key holds either a probability, or a table with
/// `probability` and the other settings of Config. Nothing if the key is absent. `check(table,
/// config)` refuses what does not go together.
template <class Config>
std::optional<Config> read_hit_share(
    const StageKeys& rule, std::string_view key,
    void (*check)(const StageKeys& table, Config& config) = [](const StageKeys&, Config&) {}) {
  if (!rule.has(key)) return std::nullopt;
  Config config;
  if (!rule.is_table(key)) {
    config.probability = rule.get_or(key, parse_probability, 0.0);
    return config;
  }
  const auto table = rule.table(key);
  table->need("probability", "a share of the frames, \"0.1%\"");
  table->settings(config);
  check(*table, config);
  table->finish();
  return config;
}

/// Format values for descriptions: "0.1 %", "64 B" and "2.00 MB".
std::string percent(double probability);
/// Returns ", correlation 25 %"; nothing for 0.
std::string correlation_text(double correlation);
std::string amount(std::uint64_t bytes);

/// A row of a CSV file that is neither a comment nor empty.
struct CsvRow {
  std::size_t line = 0;                  // from 1
  std::vector<std::string_view> fields;  // without surrounding spaces
};
/// Error: more than `most` rows, with the line.
Parsed<std::vector<CsvRow>> csv_rows(std::string_view csv, std::size_t most);
std::string_view trimmed(std::string_view text);
/// Returns an error that names the line.
std::unexpected<std::string> at_line(std::size_t line, std::string_view what);

}  // namespace lw::emulator
