// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/verdict.h"
#include "report/table.h"

namespace lw::report {

/// A table of a live view. The rows are in order of importance: those that don't fit are counted.
struct LiveSection {
  std::string title = {};                       // empty: none
  std::vector<TextTable::Column> columns = {};  // if all titles are empty there is no header line
  std::vector<std::vector<std::string>> rows = {};
  std::size_t more = 0;  // further rows, which are not in `rows`
};

/// What a live view shows at one moment.
struct LiveModel {
  std::string title;                  // command and what it works on
  std::string status = {};            // "12 s, 48 s left"
  std::optional<Colour> colour = {};  // of the verdict; none: there is none
  std::string verdict_text = {};
  std::vector<LiveSection> sections = {};
  std::string line = {};  // the most important figures, where there is no screen; no newline

  /// Shows a verdict: its headline, and in the line if it is not green.
  void show(const Verdict& verdict);
};

/// Size of a terminal, in characters.
struct ScreenSize {
  std::size_t columns = 80, rows = 24;
  bool operator==(const ScreenSize&) const = default;
};

/// Returns the lines of a screen without control sequences: at most `size.rows`, none wider than
/// `size.columns`. The first line is title and status, the second the verdict, if there is one.
std::vector<std::string> screen_lines(const LiveModel& model, ScreenSize size);

/// Returns what draws a screen over the previous one: plain ANSI (ECMA-48) sequences, bold titles,
/// and a green or red verdict if `color`.
std::string screen_bytes(const LiveModel& model, ScreenSize size, bool color);

/// The first `columns` characters of a UTF-8 text, control characters as `?`.
std::string clipped(std::string_view text, std::size_t columns);

/// "######----": `share`, in [0, 1], of `width` characters.
std::string bar(double share, std::size_t width);

/// The last values of a figure, as a row of characters whose heights are the values: of the largest
/// of them, in eighths.
class Sparkline {
 public:
  static constexpr std::size_t kMost = 40;  // values

  void add(double value);
  /// `blocks`: Unicode block elements; otherwise ASCII.
  [[nodiscard]] std::string text(bool blocks) const;

 private:
  std::deque<double> values_;
};

}  // namespace lw::report
