// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/build_info.h"
#include "core/error.h"
#include "core/quantity.h"
#include "core/setting.h"

namespace lw {

/// Flushes standard output, then prints the message to standard error. Returns the error's exit
/// code. The line has no program name in front, so that editors recognize file:line:column.
ExitCode print_error(const Error& error);

}  // namespace lw

/// The command line of a program as data: commands, options, values, examples. run_program() parses
/// it; everything else about an option (help, man page, completions) comes from the same lists.
namespace lw::app {

/// How an option's text becomes a value. Targets must outlive the command line.
struct OptionValue {
  /// Stores the value of one text. The error states what was expected and what was found.
  using Read = std::function<Parsed<void>(std::string_view)>;

  Read read{};
  bool is_flag = false;     // an option without a value: read() gets "true"
  bool repeats = false;     // may be given several times
  bool takes_list = false;  // takes several values at once: --port A B
  std::vector<std::string> choices{};
  std::string default_text{};  // empty: no default
  // For a profile's name or path: the accepted kinds, as in config/toml/profile_search.h.
  std::vector<std::string_view> profile_kinds{};
};

OptionValue flag(bool& target);
OptionValue text(std::string& target);
OptionValue text(std::optional<std::string>& target);
OptionValue texts(std::vector<std::string>& target);
/// The name of a profile of one of these kinds, or a path.
OptionValue profile(std::string& target, std::vector<std::string_view> kinds);
OptionValue choice(std::string& target, std::vector<std::string> choices);
/// One or more of the choices; the option may be given several times.
OptionValue choices(std::vector<std::string>& target, std::vector<std::string> allowed);

/// Reads a time: "10s", "500ms"; a bare number is in seconds.
Parsed<Duration> read_time(std::string_view text);
std::string default_text_of(double value);
std::string default_text_of(std::uint64_t value);

/// A value that `parse` (std::string_view to Parsed<T>) reads.
template <class Parse, class T>
OptionValue parsed(Parse parse, T& target) {
  return {.read = [parse, &target](std::string_view text) -> Parsed<void> {
    const auto value = parse(text);
    if (!value) return std::unexpected(value.error());
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(*value))
        return std::unexpected("expected less, found \"" + std::string(text) + "\"");
      target = static_cast<T>(*value);
    } else {
      target = *value;
    }
    return {};
  }};
}

/// Like parsed(), for an option that may be given several times: calls `store` with each value.
template <class Parse, class Store>
OptionValue each(Parse parse, Store store) {
  return {.read = [parse, store](std::string_view text) -> Parsed<void> {
            const auto value = parse(text);
            if (!value) return std::unexpected(value.error());
            store(*value);
            return {};
          },
          .repeats = true};
}

/// A text; the option may be given several times.
inline OptionValue repeated(std::vector<std::string>& target) {
  return each([](std::string_view text) -> Parsed<std::string> { return std::string(text); },
              [&target](const std::string& text) { target.push_back(text); });
}

/// A number from `low` to `high`; the target's value is the default.
template <class T>
OptionValue number(T& target, T low = 0, T high = std::numeric_limits<T>::max()) {
  OptionValue value = parsed(
      [low, high](std::string_view text) {
        if constexpr (std::is_floating_point_v<T>) {
          return read_decimal(text, low, high);
        } else {
          return read_whole(text, static_cast<std::uint64_t>(low),
                            static_cast<std::uint64_t>(high));
        }
      },
      target);
  if constexpr (std::is_floating_point_v<T>) {
    value.default_text = default_text_of(target);
  } else {
    value.default_text = default_text_of(static_cast<std::uint64_t>(target));
  }
  return value;
}

/// A number without a default.
OptionValue number(std::optional<std::uint64_t>& target);

/// One of several words, each with its value; the first is the default.
template <class T>
OptionValue choice(T& target, std::vector<std::pair<std::string, T>> words) {
  OptionValue value{.default_text = words.front().first};
  for (const auto& [word, meaning] : words) value.choices.push_back(word);
  value.read = [&target, words = std::move(words)](std::string_view text) -> Parsed<void> {
    for (const auto& [word, meaning] : words)
      if (word == text) target = meaning;
    return {};
  };
  return value;
}

/// An option ("-q,--qps") or a positional argument ("PROFILE").
struct Option {
  std::string names;
  OptionValue value;
  std::string placeholder;  // name of the value in the help: "TIME"
  std::string help;         // a noun phrase with its unit; default and repetition are added
  std::string group{};      // heading that its command gives; empty: the usual one
  bool is_required = false;
  std::vector<std::string> excluded{};

  Option& required();
  /// Sets the description of the default in the help, which otherwise is the target's value.
  Option& defaults_to(std::string text);
  Option& excludes(std::string other);

  [[nodiscard]] bool is_positional() const { return !names.starts_with('-'); }
  [[nodiscard]] bool has_name(std::string_view name) const;
  /// The last of the names: "--qps".
  [[nodiscard]] std::string name() const;
  /// The names of more than one letter; the last name if it has none.
  [[nodiscard]] std::vector<std::string> long_names() const;
  /// The help, and whether the option may be given several times.
  [[nodiscard]] std::string what_it_is() const;
  /// Reads one text; checks the choices first. Errors: those of OptionValue::Read.
  [[nodiscard]] Parsed<void> read(std::string_view text) const;
};

/// A list of options.
class Options {
 public:
  /// The returned reference is valid until the next add().
  Option& add(const char* names, OptionValue value, const char* placeholder, std::string help);
  Option& add_flag(const char* names, bool& target, const char* help);
  /// Options that are added from now on are listed under this heading (app/option_groups.h).
  void begin_group(const char* heading) { group_ = heading; }

  [[nodiscard]] const Option* find(std::string_view name) const;
  [[nodiscard]] auto begin() const { return options_.begin(); }
  [[nodiscard]] auto end() const { return options_.end(); }
  [[nodiscard]] bool empty() const { return options_.empty(); }

 private:
  std::vector<Option> options_;
  std::string group_;
};

/// The options that were given on the command line.
class Given {
 public:
  explicit Given(std::vector<std::pair<std::string, std::string>> given)
      : given_(std::move(given)) {}

  [[nodiscard]] bool has(std::string_view name) const;
  /// The name of the first given option of a group; empty when none was given.
  [[nodiscard]] std::string first_of(std::string_view group) const;

 private:
  std::vector<std::pair<std::string, std::string>> given_;  // name, group
};

/// A command of a program, or the program itself.
struct Command {
  std::string name;
  std::string help;      // one line
  std::string examples;  // one per line
  std::string notes{};   // text after the examples
  Options options{};
  std::vector<Command> commands{};  // if not empty, one of them is required
  std::string for_file{};           // of `commands`, the one that is proposed for a file's name
  /// Checks the combination of the options. Errors are usage errors.
  std::function<Result<void>(const Given&)> check{};
  std::function<ExitCode()> run{};
};

/// Returns the version: "0.1.0".
std::string_view program_version() noexcept;

/// Parses the command line, prints help, version and usage errors, and runs the chosen command.
/// Returns the exit code of the process. `help COMMAND` is `COMMAND --help`. Two hidden options are
/// for shells and manuals: `--complete WORD...` prints completions of the last word (completion.h),
/// and `--man [COMMAND]` prints a man page (manual.h).
int run_program(const Command& program, int argc, char** argv, const BuildInfo& build = {});

}  // namespace lw::app
