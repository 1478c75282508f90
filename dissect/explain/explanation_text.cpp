// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/explanation_text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity.h"

namespace lw::dissect {
namespace {

/// Breaks `text` between words, so that no line is longer than kColumns. Lines after the first
/// begin with `indent`.
std::string broken(std::string_view text, std::string_view indent) {
  constexpr std::size_t kColumns = 100;
  std::string lines;
  std::size_t column = indent.size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const bool fits = column + word.size() + 1 <= kColumns;
    if (at > 0 && !fits) {
      lines += "\n";
      lines += indent;
      column = indent.size();
    } else if (at > 0) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
    at = end + 1;
  }
  return lines;
}

/// A line of its own, or several.
std::string line(std::string_view text, std::string_view indent = "  ") {
  return fmt::format("{}\n", broken(text, indent));
}

std::string capitalized(std::string_view text) {
  std::string word(text);
  if (!word.empty())
    word.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(word.front())));
  return word;
}

// The questions.

/// "Fine"; of the question whether it was congestion "No".
std::string verdict_text(const Answer& answer, const CongestionVerdict& congestion) {
  return capitalized(answer.question == OperatorQuestion::congestion ? name_of(congestion.answer)
                                                                     : name_of(answer.health));
}

/// " (1, 3-7)": the numbers of the statements that show it.
std::string numbers_text(const Answer& answer) {
  std::vector<std::string> parts;
  const auto& all = answer.numbers;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t last = i;
    while (last + 1 < all.size() && all[last + 1] == all[last] + 1) ++last;
    if (last - i < 2) last = i;
    parts.push_back(last == i ? fmt::to_string(all[i]) : fmt::format("{}-{}", all[i], all[last]));
    i = last + 1;
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

std::string answers_text(const Explanation& explanation) {
  std::string text;
  for (const Answer& answer : explanation.answers)
    text += line(fmt::format("{} {}: {}{}.", text_of(answer.question),
                             verdict_text(answer, explanation.congestion), answer.text,
                             numbers_text(answer)));
  return text;
}

/// What happened at each place of the path; empty: no path was analysed.
std::string places_text(const std::optional<PathVerdict>& path) {
  if (!path) return {};
  std::size_t width = 0;
  for (const PlaceVerdict& place : path->places) width = std::max(width, place.place.size());
  std::string text = "\nWhere it happened:\n";
  for (const PlaceVerdict& place : path->places) {
    text += fmt::format("  {:<{}}  {}\n", place.place, width, broken(place.words(), "    "));
    for (const std::string& change : place.changes)
      text += fmt::format("    {}\n", broken(change, "      "));
  }
  for (const std::string& note : path->notes) text += "  " + line(note);
  return text;
}

// The statements.

std::string evidence_line(const Statement& statement, const CommandLine& command_line) {
  std::string text;
  if (!statement.frames.empty()) {
    text = fmt::format("frame{} {}", statement.frames.size() == 1 ? "" : "s",
                       fmt::join(statement.frames, ", "));
    if (statement.events > statement.frames.size())
      text += fmt::format(" and {} more", statement.events - statement.frames.size());
    text += ": ";
  }
  return text + command_line(statement.show);
}

std::string statements_text(const Explanation& explanation, const CommandLine& command_line) {
  std::string text;
  if (explanation.nothing_is_wrong())
    text = fmt::format("\nNothing is wrong{}.\n",
                       explanation.followed == Followed::all ? "" : " in what was followed");
  std::size_t number = 0;
  for (const Statement& statement : explanation.statements)
    text += fmt::format("\n{}. {}\n   {}\n", ++number, broken(statement.text, "   "),
                        evidence_line(statement, command_line));
  return text;
}

// Counters.

std::string port_text(const CounterReport& report) {
  return report.port.empty() ? "the port" : report.port;
}

/// "Counters of mlx5_0/1, which of 2 ports fits 10.0.0.1 best: 1 of 8 contradict the capture."
std::string counters_head(const CounterReport& report) {
  if (report.host.empty())
    return fmt::format("Counters of {}, without a capture:", port_text(report));
  const std::string fits = report.other_ports.empty()
                               ? fmt::format(" of {}", report.host)
                               : fmt::format(", which of {} ports fits {} best",
                                             report.other_ports.size() + 1, report.host);
  if (report.compared.empty())
    return fmt::format("Counters of {}{}: the capture shows nothing that they count.",
                       port_text(report), fits);
  return fmt::format("Counters of {}{}: {} of {} contradict the capture.", port_text(report), fits,
                     report.contradictions(), report.compared.size());
}

std::string list_text(std::string_view head, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  return line(fmt::format("{}: {}.", head, fmt::join(names, ", ")), "");
}

/// The counters that changed, with their meanings: without a capture, nothing else tells of them.
std::string changes_text(const CounterReport& report) {
  if (!report.host.empty()) return list_text("Changed, and not compared", report.not_compared);
  if (report.signs.changes.empty()) return "  Nothing changed.\n";
  std::string text;
  for (const CounterChange& change : report.signs.changes)
    text += line(fmt::format("  {} +{}{}{}", change.name, change.rise,
                             change.what.empty() ? "" : ": ", change.what),
                 "     ");
  return text;
}

}  // namespace

std::string explanation_text(const Explanation& explanation, const CommandLine& command_line) {
  std::string text;
  for (const std::string& sentence : explanation.overview) text += "  " + line(sentence);
  if (!explanation.commands.empty()) text += "  " + line(explanation.commands);
  text += places_text(explanation.path) + "\n" + answers_text(explanation) +
          statements_text(explanation, command_line);
  const std::string unknown = explanation.unknown();
  if (!unknown.empty())
    text += "\n" + line(fmt::format("This capture does not show: {}", unknown), "");
  return text;
}

std::string counters_text(const CounterReport& report) {
  std::string text = "\n" + line(counters_head(report), "");
  for (const CounterComparison& one : report.compared)
    text += fmt::format("{} {}\n", one.contradicts ? " !" : "  ",
                        broken(fmt::format("{} ({}): {}", one.name, one.what, one.text), "     "));
  for (const std::string& sentence : report.signs.sentences())
    text += "   " + line(sentence, "     ");
  text += changes_text(report);
  return text + list_text("Smaller than before, so not compared", report.reset);
}

}  // namespace lw::dissect
