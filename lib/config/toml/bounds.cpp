// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/bounds.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "config/limits.h"

namespace lw::config {
namespace {

/// Follows the nesting of a TOML text. A level is a bracket, a brace, or a further part of a dotted
/// key; keys are within their header. The point of a number counts too, until the next comma or
/// line. An invalid text may be followed wrongly from its first error on, where the parser stops.
class BoundsScanner {
 public:
  explicit BoundsScanner(std::string_view text) : text_(text) {}

  /// Returns what exceeds a limit, found at at(); nothing if the text is within the limits.
  std::optional<std::string> excess() {
    for (; at_ < text_.size(); ++at_) {
      scan(text_[at_]);
      if (depth_ > kDeepestProfile)
        return fmt::format(
            "expected at most {} tables, arrays and parts of keys within each other, found more",
            kDeepestProfile);
      if (items_ > kMostProfileItems)
        return fmt::format("expected at most {} keys and array items, found more",
                           kMostProfileItems);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }

 private:
  void scan(char c) {
    if (c == '\n') return end_line();
    if (c == ' ' || c == '\t' || c == '\r') return;
    if (c == '[' || c == '{') open();
    if (c == ']' || c == '}') close();
    if (c == '.') ++depth_;
    if (c == ',' && !outside_.empty()) depth_ = outside_.back() + 1;
    if (c == ',' || c == '=') ++items_;
    if (c == '#') skip_comment();
    if (c == '"' || c == '\'') skip_string(c);
    at_line_start_ = false;
    deepest_ = std::max(deepest_, depth_);
  }

  void open() {
    if (at_line_start_ && outside_.empty()) {
      in_header_ = true;
      depth_ = 0;
      ++items_;
    }
    outside_.push_back(depth_++);
  }

  void close() {
    if (outside_.empty()) return;
    depth_ = outside_.back();
    outside_.pop_back();
  }

  void end_line() {
    if (!outside_.empty()) return;
    if (in_header_) header_ = deepest_;
    depth_ = header_;
    deepest_ = 0;
    in_header_ = false;
    at_line_start_ = true;
  }

  void skip_comment() { at_ = std::min(text_.find('\n', at_), text_.size()) - 1; }

  /// Leaves at_ at the last character of the string.
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool long_one = text_.substr(at_).starts_with(three);
    std::size_t i = at_ + (long_one ? three.size() : 1);
    const auto ends = [&] {
      return long_one ? text_.substr(i).starts_with(three) : text_[i] == quote || text_[i] == '\n';
    };
    while (i < text_.size() && !ends()) i += quote == '"' && text_[i] == '\\' ? 2U : 1U;
    if (long_one) {
      i = std::min(i + 2, text_.size());
      // The text itself may end with one or two quotes.
      for (int more = 0; more < 2 && i + 1 < text_.size() && text_[i + 1] == quote; ++more) ++i;
    } else if (i < text_.size() && text_[i] == '\n') {
      --i;
    }
    at_ = std::min(i, text_.size() - 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0, deepest_ = 0;  // here, and the largest of this line
  std::size_t header_ = 0;               // depth of the keys under the last header
  std::vector<std::size_t> outside_;     // depth around each open bracket
  std::uint64_t items_ = 0;
  bool at_line_start_ = true, in_header_ = false;
};

/// Returns "x.toml:12:8".
std::string place_in(std::string_view text, std::size_t at, const std::string& name) {
  const std::string_view before = text.substr(0, at);
  const std::string_view line = before.substr(before.rfind('\n') + 1);
  const auto starts_character = [](char c) { return (c & 0xc0) != 0x80; };
  return fmt::format("{}:{}:{}", name, std::ranges::count(before, '\n') + 1,
                     std::ranges::count_if(line, starts_character) + 1);
}

}  // namespace

Result<void> check_bounds(std::string_view text, const std::string& name) {
  if (text.size() > kMostProfileBytes)
    return fail(fmt::format("{}: expected a profile of at most {} MiB, found a larger one",
                            place_in(text, kMostProfileBytes, name), kMostProfileBytes >> 20));
  BoundsScanner scanner(text);
  if (const auto excess = scanner.excess())
    return fail(fmt::format("{}: {}", place_in(text, scanner.at(), name), *excess));
  return {};
}

}  // namespace lw::config
