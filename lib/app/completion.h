// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"

namespace lw::app {

/// The chosen command of a command line, and the commands that contain it.
class CommandPath {
 public:
  explicit CommandPath(const Command& program) : path_{&program} {}

  /// Returns the option with this name ("--qps", "-q", "-q4") in the command or one that contains
  /// it; null if there is none.
  [[nodiscard]] const Option* find(std::string_view name) const;
  /// Returns "--help", "--version" and the last name of each option.
  [[nodiscard]] std::vector<std::string_view> option_names() const;
  [[nodiscard]] std::vector<std::string_view> command_names() const;
  /// Returns the positional argument that the next word sets; null if the command has no more.
  [[nodiscard]] const Option* argument() const;
  /// Takes a word as a positional argument of the command. Returns false if the command has no more
  /// arguments.
  bool takes_argument();
  /// Chooses a subcommand. Returns false if there is none of this name.
  bool enter(std::string_view name);

  /// Returns the full name: "roce-impair ctl show".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] const Command& command() const { return *path_.back(); }
  [[nodiscard]] std::span<const Command* const> commands() const { return path_; }

 private:
  std::vector<const Command*> path_;
  std::size_t arguments_ = 0;
};

/// Completions of an unfinished word.
struct Completions {
  struct Word {
    std::string text, description;
  };
  std::vector<Word> words;
  bool files = false, folders = false;  // the shell adds the names of files or folders
};

/// Returns the completions of the last of `words`, which follow the program's name; the last word
/// may be empty. Completes commands, options, the words of enumerations, names of profiles, and
/// network interfaces.
Completions complete(const Command& program, std::span<const std::string_view> words);

/// Returns completions for packaging/completions: a line per word, with its description after a
/// tab, then ":files" and ":folders" if the shell adds these.
std::string completion_lines(const Completions& completions);

}  // namespace lw::app
