// SPDX-License-Identifier: BSD-3-Clause
#include "report/live_screen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace lw::report {
namespace {

enum class LineKind : std::uint8_t { title, verdict, heading, plain };

struct ScreenLine {
  LineKind kind;
  std::string text;
};

bool has_header(const LiveSection& section) {
  return std::ranges::any_of(section.columns, [](const auto& c) { return !c.title.empty(); });
}

/// Lines of a section with `shown` of its rows: a blank one, titles, rows, and the number of those
/// that are not shown.
std::size_t height_of(const LiveSection& section, std::size_t shown) {
  const bool hides = shown < section.rows.size() || section.more > 0;
  return 1 + (section.title.empty() ? 0 : 1) + (has_header(section) ? 1 : 0) + shown +
         (hides ? 1 : 0);
}

/// How many rows each section shows, so that all fit into `height` lines if they can: the tallest
/// section gives up its rows first, and each keeps one.
std::vector<std::size_t> rows_shown(const std::vector<LiveSection>& sections, std::size_t height) {
  std::vector<std::size_t> shown, heights;
  for (const LiveSection& section : sections) {
    shown.push_back(std::min(section.rows.size(), height + 1));
    heights.push_back(height_of(section, shown.back()));
  }
  std::size_t all = std::accumulate(heights.begin(), heights.end(), std::size_t{0});
  while (all > height) {
    const auto most = std::ranges::max_element(shown);
    if (most == shown.end() || *most <= 1) break;
    const auto place = static_cast<std::size_t>(most - shown.begin());
    all -= heights[place];
    heights[place] = height_of(sections[place], --*most);
    all += heights[place];
  }
  return shown;
}

void add_section(std::vector<ScreenLine>& lines, const LiveSection& section, std::size_t shown) {
  lines.push_back({LineKind::plain, ""});
  if (!section.title.empty()) lines.push_back({LineKind::heading, section.title});
  // All rows give the widths, so that the columns stay where they are.
  TextTable table(section.columns);
  for (const auto& row : section.rows) table.add_row(row);
  const std::string text = table.to_string();
  std::size_t left = shown + (has_header(section) ? 1 : 0);
  for (std::size_t at = 0; left > 0 && at < text.size(); --left) {
    const std::size_t end = text.find('\n', at);
    lines.push_back({LineKind::plain, text.substr(at, end - at)});
    at = end + 1;
  }
  const std::size_t hidden = section.rows.size() - shown + section.more;
  if (hidden > 0) lines.push_back({LineKind::plain, fmt::format("{} more", hidden)});
}

void add_column(LiveSection& part, const LiveSection& section, std::size_t place) {
  part.columns.push_back(section.columns[place]);
  part.rows.resize(section.rows.size());
  for (std::size_t i = 0; i < section.rows.size(); ++i)
    part.rows[i].push_back(section.rows[i][place]);
}

/// Adds a section in parts that fit into `width`, each with the first column; no part has fewer
/// than two columns.
void add_fitting(std::vector<LiveSection>& parts, const LiveSection& section, std::size_t width) {
  const auto width_at = [&](std::size_t place) {
    std::size_t most = width_of(section.columns[place].title);
    for (const auto& row : section.rows) most = std::max(most, width_of(row[place]));
    return most;
  };
  LiveSection part{.title = section.title};
  std::size_t used = 0;
  for (std::size_t place = 0; place < section.columns.size(); ++place) {
    const std::size_t more = width_at(place) + 2;
    if (part.columns.size() > 1 && used + more > width + 2) {
      parts.push_back(std::exchange(part, {}));
      add_column(part, section, 0);
      used = width_at(0) + 2;
    }
    add_column(part, section, place);
    used += more;
  }
  part.more = section.more;
  parts.push_back(std::move(part));
}

std::vector<ScreenLine> lines_of(const LiveModel& model, ScreenSize size) {
  std::vector<ScreenLine> lines;
  lines.push_back(
      {LineKind::title, model.status.empty() ? model.title : model.title + "  " + model.status});
  if (!model.verdict_text.empty()) lines.push_back({LineKind::verdict, model.verdict_text});
  const std::size_t left = size.rows > lines.size() ? size.rows - lines.size() : 0;
  std::vector<LiveSection> sections;
  for (const LiveSection& section : model.sections) add_fitting(sections, section, size.columns);
  const auto shown = rows_shown(sections, left);
  for (std::size_t i = 0; i < shown.size(); ++i) add_section(lines, sections[i], shown[i]);
  if (lines.size() > size.rows) lines.resize(size.rows);
  for (ScreenLine& line : lines) line.text = clipped(line.text, size.columns);
  return lines;
}

std::string_view style_of(LineKind kind, std::optional<Colour> verdict) {
  switch (kind) {
    case LineKind::title:
    case LineKind::heading:
      return "\x1b[1m";
    case LineKind::verdict:
      return verdict == Colour::red     ? "\x1b[31m"
             : verdict == Colour::amber ? "\x1b[33m"
             : verdict == Colour::green ? "\x1b[32m"
                                        : "";
    case LineKind::plain:
      break;
  }
  return "";
}

}  // namespace

void LiveModel::show(const Verdict& verdict) {
  colour = verdict.colour();
  verdict_text = verdict.headline();
  if (colour != Colour::green) line += "; " + verdict_text;
}

std::vector<std::string> screen_lines(const LiveModel& model, ScreenSize size) {
  std::vector<std::string> texts;
  for (ScreenLine& line : lines_of(model, size)) texts.push_back(std::move(line.text));
  return texts;
}

std::string screen_bytes(const LiveModel& model, ScreenSize size, bool color) {
  std::string bytes = "\x1b[H";
  bool first = true;
  for (const ScreenLine& line : lines_of(model, size)) {
    if (!std::exchange(first, false)) bytes += "\r\n";
    const std::string_view style = color ? style_of(line.kind, model.colour) : "";
    bytes.append(style).append(line.text);
    if (!style.empty()) bytes += "\x1b[0m";
    bytes += "\x1b[K";
  }
  return bytes + "\x1b[J";
}

std::string clipped(std::string_view text, std::size_t columns) {
  std::string out;
  std::size_t width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = (byte & 0xc0) == 0x80;
    if (!continues && width++ == columns) break;
    // A control character of a name must not reach the terminal; of C1, the second byte.
    const bool c1 = continues && !out.empty() && out.back() == '\xc2' && byte < 0xa0;
    if (c1) out.pop_back();
    out.push_back(byte < 0x20 || byte == 0x7f || c1 ? '?' : c);
  }
  return out;
}

std::string bar(double share, std::size_t width) {
  const double part = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
  const auto full = static_cast<std::size_t>(part * static_cast<double>(width));
  return std::string(full, '#') + std::string(width - full, '-');
}

void Sparkline::add(double value) {
  values_.push_back(std::isfinite(value) ? std::max(value, 0.0) : 0);
  if (values_.size() > kMost) values_.pop_front();
}

std::string Sparkline::text(bool blocks) const {
  static constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                              "▅", "▆", "▇", "█"};
  static constexpr std::array<std::string_view, 9> kAscii = {" ", ".", ":", "-", "=",
                                                             "+", "*", "#", "@"};
  const double largest = values_.empty() ? 0 : *std::ranges::max_element(values_);
  std::string text;
  for (const double value : values_) {
    const double eighths = largest > 0 ? std::ceil(8 * value / largest) : 0;
    text += (blocks ? kBlocks : kAscii)[static_cast<std::size_t>(eighths)];
  }
  return text;
}

}  // namespace lw::report
