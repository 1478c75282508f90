// SPDX-License-Identifier: BSD-3-Clause
#include "app/manual.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/completion.h"
#include "app/option_groups.h"

namespace lw::app {
namespace {

/// Returns text that roff prints unchanged. Each line ends with a newline.
std::string plain(std::string_view text) {
  std::string out;
  for (const auto part : std::views::split(text, '\n')) {
    const std::string_view line(part);
    if (line.starts_with('.') || line.starts_with('\'')) out += "\\&";
    for (const char c : line) {
      if (c == '\\') {
        out += "\\e";
      } else if (c == '-') {
        out += "\\-";
      } else {
        out += c;
      }
    }
    out += '\n';
  }
  return out;
}

/// Returns text for use within a line.
std::string words_of(std::string_view text) {
  std::string out = plain(text);
  out.pop_back();
  return out;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", words_of(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", words_of(text)); }

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

/// Returns "-q, --qps N" or "PROFILE".
std::string heading_of(const Option& option) {
  if (option.is_positional()) return italic(option.names) + (option.value.repeats ? "..." : "");
  std::string text;
  for (const auto name : std::views::split(option.names, ','))
    text += (text.empty() ? "" : ", ") + bold(std::string_view(name));
  if (!option.value.is_flag) text += " " + italic(option.placeholder);
  return text;
}

std::string text_of(const Option& option) {
  std::string text = option.what_it_is();
  if (!option.value.choices.empty())
    text += fmt::format("; one of {}", fmt::join(option.value.choices, ", "));
  if (!option.value.is_flag && !option.value.default_text.empty())
    text += fmt::format(" (default: {})", option.value.default_text);
  if (option.is_required) text += "; required";
  if (!option.excluded.empty())
    text += fmt::format("; not with {}", fmt::join(option.excluded, ", "));
  return text;
}

/// Adds the options under their headings, as --help has them.
void add_options(const Options& options, std::string& page) {
  for (const OptionGroup& group : groups_of(options)) {
    if (!group.heading.empty()) page += fmt::format(".SS {}\n", words_of(group.heading));
    for (const Option* option : group.options)
      page += fmt::format(".TP\n{}\n{}", heading_of(*option), plain(text_of(*option)));
  }
}

/// Returns "roce-gen run PROFILE [OPTION...]".
std::string synopsis(std::string_view name, const Command& command) {
  std::string line = bold(name);
  bool has_options = false;
  for (const Option& option : command.options) {
    has_options |= !option.is_positional() && !option.is_required;
    if (option.is_positional() || option.is_required)
      line +=
          option.is_required ? " " + heading_of(option) : fmt::format(" [{}]", heading_of(option));
  }
  if (has_options) line += " [" + italic("OPTION") + "...]";
  if (!command.commands.empty()) line += " " + italic("COMMAND") + " ...";
  return line;
}

std::string example_block(const Command& command) {
  return fmt::format(".nf\n{}.fi\n", plain(command.examples));
}

/// Adds the subcommands of a command, each with its options.
void add_commands(std::string_view name, const Command& command, std::string& page) {
  for (const Command& each : command.commands) {
    page += fmt::format(".SS {}\n{}\n.PP\n{}", words_of(each.name),
                        synopsis(fmt::format("{} {}", name, each.name), each), plain(each.help));
    add_options(each.options, page);
    page += ".PP\n" + example_block(each);
  }
}

void add_notes(const Command& program, const Command& command, std::string& page) {
  constexpr std::string_view kExitCodes = "Exit codes: ";
  for (const std::string& notes : {command.notes, program.notes}) {
    const bool is_exit = notes.starts_with(kExitCodes);
    if (!notes.empty() && page.find(plain(notes)) == std::string::npos)
      page += fmt::format(".SH {}\n{}", is_exit ? "EXIT STATUS" : "NOTES",
                          plain(is_exit ? notes.substr(kExitCodes.size()) : notes));
    if (&command == &program) return;
  }
}

std::string page_name(const Command& program, const Command& command) {
  return &program == &command ? program.name : fmt::format("{}-{}", program.name, command.name);
}

void add_references(const Command& program, const Command& command, std::string& page) {
  std::vector<std::string> names;
  if (&program != &command) names.push_back(bold(program.name) + "(1)");
  for (const Command& each : program.commands)
    if (&each != &command) names.push_back(bold(page_name(program, each)) + "(1)");
  if (program.name == "roce-impair") names.push_back(bold("longwire-impair-profile") + "(5)");
  if (program.name == "roce-gen") names.push_back(bold("longwire-flow-profile") + "(5)");
  page += fmt::format(".SH SEE ALSO\n{}\n", fmt::join(names, ",\n"));
}

}  // namespace

Result<std::string> man_page(const Command& program, std::span<const std::string_view> words,
                             const BuildInfo& build) {
  CommandPath path(program);
  if (words.size() > 1 || (words.size() == 1 && !path.enter(words.front())))
    return fail(fmt::format("--man: {} has no command `{}`; it has {}", program.name,
                            fmt::join(words, " "), fmt::join(path.command_names(), ", ")));
  const Command& command = path.command();
  const bool is_program = &command == &program;
  const std::string name = page_name(program, command);
  const std::string called = is_program ? name : fmt::format("{} {}", program.name, command.name);
  std::string page = fmt::format(
      ".TH {} 1 \"{}\" \"longwire {}\" \"longwire\"\n.SH NAME\n{} \\- {}.SH SYNOPSIS\n{}\n",
      words_of(upper(name)), build.date, program_version(), words_of(name), plain(command.help),
      synopsis(called, command));
  if (is_program) {
    page += ".SH COMMANDS\n";
    for (const Command& each : program.commands)
      page += fmt::format(".TP\n{}(1)\n{}", bold(page_name(program, each)), plain(each.help));
  } else if (!command.options.empty()) {
    page += ".SH OPTIONS\n";
    add_options(command.options, page);
  }
  if (!is_program && !command.commands.empty()) {
    page += ".SH COMMANDS\n";
    add_commands(called, command, page);
  }
  page += ".SH EXAMPLES\n" + example_block(command);
  add_notes(program, command, page);
  add_references(program, command, page);
  return page;
}

}  // namespace lw::app
