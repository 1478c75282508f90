// SPDX-License-Identifier: BSD-3-Clause
#include "app/command_line.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/completion.h"
#include "app/invocation.h"
#include "app/manual.h"
#include "app/option_groups.h"
#include "app/retired_names.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/output.h"
#include "core/printable.h"

namespace lw::app {
namespace {

constexpr const char* kHelpAll = "--help-all";

/// Returns "a", "a or b" or "a, b or c".
std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

/// Returns "; did you mean ...?" if one of the words is similar; otherwise nothing.
std::string suggestion(std::string_view text, const std::vector<std::string>& words) {
  const std::string_view near =
      nearest(text, std::vector<std::string_view>(words.begin(), words.end()));
  return near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near);
}

std::string help_of(const Option& option) {
  const std::string& text = option.value.default_text;
  const std::string help = option.what_it_is();
  return text.empty() ? help : fmt::format("{} (default: {})", help, text);
}

void read_or_throw(const Option& option, const std::string& text) {
  if (const auto read = option.read(text); !read)
    throw CLI::ValidationError(option.name(), read.error());
}

CLI::Option* add_texts(CLI::App& app, const Option& option) {
  const auto read = [&option](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) read_or_throw(option, text);
  };
  CLI::Option* added =
      app.add_option_function<std::vector<std::string>>(option.names, read, help_of(option));
  return added->take_all()->allow_extra_args(option.is_positional() || option.value.takes_list);
}

CLI::Option* add_text(CLI::App& app, const Option& option) {
  const auto read = [&option](const std::string& text) { read_or_throw(option, text); };
  return app.add_option_function<std::string>(option.names, read, help_of(option));
}

CLI::Option* add_option(CLI::App& app, const Option& option) {
  CLI::Option* added = nullptr;
  if (option.value.is_flag) {
    const auto read = [&option] { read_or_throw(option, "true"); };
    added = app.add_flag_callback(option.names, read, option.help);
  } else {
    added = option.value.repeats ? add_texts(app, option) : add_text(app, option);
    added->type_name(option.placeholder);
  }
  return added->required(option.is_required);
}

/// `all`: the help lists the rarely used ones, too.
void add_options(CLI::App& app, const Options& options, bool all) {
  for (const OptionGroup& group : groups_of(options))
    for (const Option* option : group.options) {
      CLI::Option* added = add_option(app, *option);
      if (!group.heading.empty()) added->group(std::string(group.heading));
      if (!all && is_rare(options, *option)) added->group("");  // hidden
    }
  for (const Option& option : options)
    for (const std::string& other : option.excluded)
      app.get_option(option.name())->excludes(app.get_option(other));
}

std::string footer_of(const Command& command, bool all) {
  const auto rare = std::ranges::count_if(command.options, [&](const Option& option) {
    return !all && is_rare(command.options, option);
  });
  std::string footer = rare > 0 ? fmt::format("{} further options: --help-all\n\n", rare) : "";
  footer += "Examples:\n";
  for (std::size_t at = 0; at < command.examples.size();) {
    const std::size_t end = std::min(command.examples.find('\n', at), command.examples.size());
    footer += fmt::format("  {}\n", command.examples.substr(at, end - at));
    at = end + 1;
  }
  return command.notes.empty() ? footer : footer + "\n" + command.notes;
}

void fill(CLI::App& app, const Command& command, bool nested, bool all) {
  add_options(app, command.options, all);
  app.footer(footer_of(command, all));
  if (nested) app.fallthrough();  // the options of the outer command may follow
  for (const Command& each : command.commands)
    fill(*app.add_subcommand(each.name, each.help), each, !command.options.empty(), all);
  if (!command.commands.empty()) app.require_subcommand(1);
}

Given given_of(const CLI::App& app, const Options& options) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const Option& option : options)
    if (app.count(option.name()) > 0) given.emplace_back(option.name(), option.group);
  return Given(std::move(given));
}

/// Returns the innermost chosen command; the combination of its options is checked.
const Command& chosen(const CLI::App& app, const Command& command) {
  std::string& name = this_invocation().command;
  name += (name.empty() ? "" : " ") + command.name;
  for (const Command& each : command.commands)
    if (app.got_subcommand(each.name)) return chosen(*app.get_subcommand(each.name), each);
  if (!command.check) return command;
  if (const auto checked = command.check(given_of(app, command.options)); !checked)
    throw CLI::ValidationError(checked.error().message);
  return command;
}

}  // namespace

OptionValue flag(bool& target) {
  OptionValue value{.is_flag = true};
  value.read = [&target](std::string_view text) -> Parsed<void> {
    if (text != "true" && text != "false")
      return std::unexpected(fmt::format("expected true or false, found \"{}\"", text));
    target = text == "true";
    return {};
  };
  return value;
}

OptionValue text(std::string& target) {
  OptionValue value{.default_text = target};
  value.read = [&target](std::string_view text) -> Parsed<void> {
    target = text;
    return {};
  };
  return value;
}

OptionValue text(std::optional<std::string>& target) {
  return parsed([](std::string_view text) -> Parsed<std::string> { return std::string(text); },
                target);
}

OptionValue texts(std::vector<std::string>& target) {
  OptionValue value{.repeats = true, .takes_list = true};
  value.read = [&target](std::string_view text) -> Parsed<void> {
    target.emplace_back(text);
    return {};
  };
  return value;
}

OptionValue profile(std::string& target, std::vector<std::string_view> kinds) {
  OptionValue value = text(target);
  value.profile_kinds = std::move(kinds);
  return value;
}

OptionValue choice(std::string& target, std::vector<std::string> choices) {
  OptionValue value = text(target);
  value.choices = std::move(choices);
  return value;
}

OptionValue choices(std::vector<std::string>& target, std::vector<std::string> allowed) {
  OptionValue value = texts(target);
  value.choices = std::move(allowed);
  return value;
}

OptionValue number(std::optional<std::uint64_t>& target) {
  return parsed(
      [](std::string_view text) {
        return read_whole(text, 0, std::numeric_limits<std::uint64_t>::max());
      },
      target);
}

Parsed<Duration> read_time(std::string_view text) {
  if (const auto time = parse_duration(text)) return *time;
  if (const auto time = parse_duration(std::string(text) + "s")) return *time;
  return std::unexpected(
      fmt::format("expected a time such as 10s or 500ms, of at most {}, found \"{}\"",
                  format_set_duration(kLongestTime), excerpt(text)));
}

std::string default_text_of(double value) { return fmt::format("{:g}", value); }
std::string default_text_of(std::uint64_t value) { return std::to_string(value); }

Option& Option::required() {
  is_required = true;
  return *this;
}

Option& Option::defaults_to(std::string text) {
  value.default_text = std::move(text);
  return *this;
}

Option& Option::excludes(std::string other) {
  excluded.push_back(std::move(other));
  return *this;
}

bool Option::has_name(std::string_view name) const {
  return ("," + names + ",").find("," + std::string(name) + ",") != std::string::npos;
}

std::string Option::name() const { return names.substr(names.rfind(',') + 1); }

std::vector<std::string> Option::long_names() const {
  std::vector<std::string> found;
  for (std::string_view rest = names; !rest.empty();) {
    const std::string_view each = rest.substr(0, rest.find(','));
    if (each.starts_with("--")) found.emplace_back(each);
    rest.remove_prefix(std::min(rest.size(), each.size() + 1));
  }
  if (found.empty()) found.push_back(name());
  return found;
}

std::string Option::what_it_is() const {
  const bool listed = value.repeats && !is_positional();
  return listed ? help + "; may be given several times" : help;
}

Parsed<void> Option::read(std::string_view text) const {
  if (!value.choices.empty() && std::ranges::find(value.choices, text) == value.choices.end())
    return std::unexpected(fmt::format("expected {}, found \"{}\"{}", alternatives(value.choices),
                                       text, suggestion(text, value.choices)));
  return value.read(text);
}

Option& Options::add(const char* names, OptionValue value, const char* placeholder,
                     std::string help) {
  options_.push_back({names, std::move(value), placeholder, std::move(help), group_});
  return options_.back();
}

Option& Options::add_flag(const char* names, bool& target, const char* help) {
  return add(names, flag(target), "", help);
}

const Option* Options::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      options_, [name](const Option& option) { return option.has_name(name); });
  return found == options_.end() ? nullptr : &*found;
}

bool Given::has(std::string_view name) const {
  return std::ranges::any_of(given_, [name](const auto& each) { return each.first == name; });
}

std::string Given::first_of(std::string_view group) const {
  const auto found = std::ranges::find(given_, group, [](const auto& each) { return each.second; });
  return found == given_.end() ? std::string() : found->first;
}

namespace {

/// Returns "roce-gen run: no option `--pcpa`; did you mean `--pcap`?".
std::string unknown(const CommandPath& path, const char* kind, std::string_view word,
                    const std::vector<std::string_view>& names) {
  const std::string_view near = nearest(word, names);
  return fmt::format("{}: no {} `{}`{}\n", path.name(), kind, word,
                     near.empty() ? "" : fmt::format("; did you mean `{}`?", near));
}

/// Returns the error for a word in the place of a command.
std::string unknown_command(const CommandPath& path, std::string_view word) {
  std::error_code error;
  const std::string& command = path.command().for_file;
  const bool is_file =
      !command.empty() && std::filesystem::is_regular_file(std::string(word), error);
  return (is_file ? fmt::format("{0}: expected a command before {1}, for example `{0} {2} {1}`\n",
                                path.name(), word, command)
                  : unknown(path, "command", word, path.command_names())) +
         fmt::format("its commands: {}\n", fmt::join(path.command_names(), ", "));
}

/// Returns the error for a command line that CLI11 refused, if the reason is the first word that is
/// neither an option nor a command, an option that was given twice, or a missing command; empty for
/// other reasons.
std::string wrong_word(const Command& program, const std::vector<std::string_view>& words) {
  CommandPath path(program);
  std::vector<const Option*> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i], name = word.substr(0, word.find('='));
    if (name.size() > 1 && name.starts_with('-')) {
      const Option* option = path.find(name);
      const bool of_all = name == "--help" || name == "-h" || name == kHelpAll;
      if (option == nullptr && !of_all && name != "--version")
        return unknown(path, "option", name, path.option_names());
      if (option == nullptr || option->value.is_flag) continue;
      if (!option->value.repeats && std::ranges::find(given, option) != given.end())
        return fmt::format("{}: expected `{}` once, found it twice\n", path.name(), option->name());
      given.push_back(option);
      if (name == word && option->has_name(name)) ++i;
    } else if (!path.enter(word) && !path.takes_argument() && !path.command_names().empty()) {
      return unknown_command(path, word);
    }
  }
  if (path.command_names().empty() || path.argument() != nullptr) return {};
  return fmt::format("{}: expected a command: {}\n", path.name(),
                     fmt::join(path.command_names(), ", "));
}

/// Runs a command. Running out of memory, or an exception of a library, gives a message and an exit
/// code.
ExitCode run_command(const Command& command) {
  try {
    return command.run();
  } catch (const std::bad_alloc&) {
    return print_error({"out of memory", ExitCode::environment});
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again)
      return print_error({error.what(), ExitCode::environment});
    return print_error(
        {"the system starts no further thread for this user: raise `ulimit -u`, or "
         "TasksMax of the service",
         ExitCode::environment});
  } catch (const std::exception& error) {
    return print_error({error.what(), ExitCode::environment});
  }
}

/// Closes the outputs. Their errors are printed last, after the report.
ExitCode end_program(ExitCode code) {
  for (const Error& error : close_outputs()) code = std::max(code, print_error(error));
  for (const AtEnd& act : take_end_actions())
    if (const auto done = act(code); !done) code = std::max(code, print_error(done.error()));
  return code;
}

/// Returns "roce-gen 0.1.0", and one line each for the commit and the libraries if they are known.
std::string version_text(const std::string& name, const BuildInfo& build) {
  std::string text = fmt::format("{} {}", name, program_version());
  if (!build.commit.empty()) text += fmt::format("\ncommit {} of {}", build.commit, build.date);
  if (!build.libraries.empty()) text += "\nbuilt with " + build.libraries;
  return text;
}

/// Prints --help, --version or an error after CLI11 has stopped parsing. `wrong`, if not empty,
/// replaces CLI11's error text.
ExitCode answer(const CLI::App& app, const CLI::ParseError& error, const std::string& wrong) {
  std::ostringstream answer, refusal;
  app.exit(error, answer, refusal);
  if (error.get_exit_code() == 0) {
    print_out(answer.str());
    return ExitCode::done;
  }
  std::cerr << (wrong.empty() ? refusal.str() : wrong + "Run with --help for more information.\n");
  return ExitCode::usage;
}

/// Handles `--complete` and `--man`. Returns nullopt for other command lines.
std::optional<ExitCode> answer_shell(const Command& program,
                                     std::span<const std::string_view> words,
                                     const BuildInfo& build) {
  if (words.empty() || (words.front() != "--complete" && words.front() != "--man"))
    return std::nullopt;
  if (words.front() == "--complete") {
    print_out(completion_lines(complete(program, words.subspan(1))));
    return ExitCode::done;
  }
  const auto page = man_page(program, words.subspan(1), build);
  if (!page) return print_error(page.error());
  print_out(*page);
  return ExitCode::done;
}

}  // namespace

std::string_view program_version() noexcept { return LONGWIRE_VERSION; }

int run_program(const Command& program, int argc, char** argv, const BuildInfo& build) {
  std::string option = "--help";
  std::vector<char*> asked(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {  // "help run" is "run --help"
    asked.erase(asked.begin() + 1);
    CommandPath path(program);
    for (const std::string_view word : std::span(asked).subspan(1)) {
      if (path.enter(word)) continue;
      std::cerr << unknown_command(path, word) << "Run with --help for more information.\n";
      return to_int(ExitCode::usage);
    }
    asked.push_back(option.data());
    argv = asked.data();
  }
  // Make writes to a closed pipe, and beyond the file size limit, return errors, so that the run
  // still prints its report.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string_view> given(argv + std::min(argc, 1), argv + argc);
  if (const auto answered = answer_shell(program, given, build))
    return to_int(end_program(*answered));
  this_invocation() = {.program = program.name,
                       .command = {},
                       .words = {given.begin(), given.end()},
                       .build = build,
                       .errors = {}};
  const std::vector<std::string> named = with_names_in_use(program, given);
  const std::vector<std::string_view> words(named.begin(), named.end());
  CLI::App app(program.help, program.name);
  app.set_version_flag("--version", version_text(program.name, build));
  app.set_help_all_flag(kHelpAll, "Print all options, and those of commands");
  fill(app, program, false, std::ranges::find(given, kHelpAll) != given.end());
  const Command* command = nullptr;
  try {
    app.parse(std::vector<std::string>(named.rbegin(), named.rend()));  // CLI11 begins at the end
    command = &chosen(app, program);
  } catch (const CLI::ParseError& error) {
    return to_int(end_program(answer(app, error, wrong_word(program, words))));
  }
  return to_int(end_program(run_command(*command)));
}

}  // namespace lw::app

namespace lw {

ExitCode print_error(const Error& error) {
  standard_output().flush();
  if (!error.message.empty()) {
    std::fputs((visible(error.message, LineEnds::kept) + "\n").c_str(), stderr);
    app::this_invocation().errors.push_back(error.message);
  }
  return error.exit;
}

}  // namespace lw
