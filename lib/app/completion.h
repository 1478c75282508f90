// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"

namespace lw::app {

/// The command that words of a command line have chosen, and the outer ones.
class CommandPath {
 public:
  explicit CommandPath(const Command& program) : path_{&program} {}

  /// The option of this name ("--qps", "-q", "-q4") in the command or an outer one, or null.
  [[nodiscard]] const Option* find(std::string_view name) const;
  /// "--help", "--version" and the last name of each option.
  [[nodiscard]] std::vector<std::string_view> option_names() const;
  [[nodiscard]] std::vector<std::string_view> command_names() const;
  /// The argument that the next word is, or null: the command has no more of them.
  [[nodiscard]] const Option* argument() const;
  /// Whether the word is an argument of the command itself; the next word is its next argument.
  bool takes_argument();
  /// Chooses a command of the present one. False: it has none of this name.
  bool enter(std::string_view name);

  /// "roce-impair ctl show"
  [[nodiscard]] std::string name() const;
  [[nodiscard]] const Command& command() const { return *path_.back(); }
  [[nodiscard]] std::span<const Command* const> commands() const { return path_; }

 private:
  std::vector<const Command*> path_;
  std::size_t arguments_ = 0;
};

/// What may stand for an unfinished word.
struct Completions {
  struct Word {
    std::string text, description;
  };
  std::vector<Word> words;
  bool files = false, folders = false;  // names of these too, which the shell knows
};

/// `words` follow the program's name; the last one is unfinished and may be empty. Offers commands,
/// options, the words of enumerations, profiles by name, and network interfaces.
Completions complete(const Command& program, std::span<const std::string_view> words);

/// For packaging/completions: a line for each word, with its description after a tab; then ":files"
/// and ":folders" where the shell adds these.
std::string completion_lines(const Completions& completions);

}  // namespace lw::app
