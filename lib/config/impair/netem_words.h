// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace lw::config {

/// Splits a line at its spaces.
std::vector<std::string_view> tc_words(std::string_view text);

/// Refuses what is not one qdisc of a known kind.
Result<void> check_qdisc(std::span<const std::string_view> words);
bool is_tbf(std::span<const std::string_view> words);
/// Returns the place of the word behind the name of a qdisc; 0 if there is no such qdisc.
std::size_t place_behind(std::span<const std::string_view> words, std::string_view qdisc);

/// Returns the words without the counters that `tc -s qdisc show` prints behind a qdisc.
std::vector<std::string_view> without_counters(std::vector<std::string_view> words);

/// A parameter of a qdisc, and whether tc takes only its whole name: of others it takes any
/// beginning.
struct NetemParameterName {
  std::string_view name;
  bool is_whole = false;
};
/// Returns the first of `parameters` that tc takes `word` for; `word` itself if there is none.
std::string_view whole_parameter(std::string_view word,
                                 std::span<const NetemParameterName> parameters);

/// Words of a tc command line, read one by one. Units are those of tc. Keeps the first error.
class NetemWords {
 public:
  explicit NetemWords(std::vector<std::string_view> words);

  [[nodiscard]] bool ended() const { return error_ || at_ == words_.size(); }
  std::string_view next() { return words_[at_++]; }
  /// Skips the next word if it is `word`; returns whether it was.
  bool accept(std::string_view word);
  /// Reads a share in per cent. If the next word is not a share and `must` is false, returns
  /// nothing without an error. `of` is the parameter in the error; so below.
  std::optional<double> share(std::string_view of, bool must = true);
  /// Reads a time, in ns.
  std::optional<double> time(std::string_view of, bool must = true);
  std::optional<double> slot_time(bool must);
  std::optional<double> rate(std::string_view of);
  /// Reads a number of bytes.
  std::optional<double> size(std::string_view of);
  /// Reads a whole number up to 10^12.
  std::optional<std::int64_t> count(std::string_view of, bool must = true, bool negative = false);
  std::optional<std::uint64_t> seed();
  void fail(std::string message);
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void skip_place();
  template <class Parse>
  auto number(std::string_view of, std::string_view expected, bool must, Parse parse)
      -> decltype(parse(expected));

  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

}  // namespace lw::config
