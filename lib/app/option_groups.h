// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "app/command_line.h"

/// The headings under which help, man pages and completions list the options of a command, in their
/// order. Options without a heading are the common ones, which come first.
namespace lw::app {

/// Headings that a command gives by Options::begin_group(); they are always printed.
inline constexpr const char* kPathHeading = "A path without a file";
inline constexpr const char* kPaceHeading = "Pace";
inline constexpr const char* kRewriteHeading = "Rewritten headers";
inline constexpr const char* kClassHeading = "Class of traffic";

/// The options under one heading; those without a heading are the common ones.
struct OptionGroup {
  std::string_view heading;
  std::vector<const Option*> options;
};

/// The options of a command as help, man page and completions list them: the common ones first,
/// then under the headings of a table of names. A command with few options has one list.
std::vector<OptionGroup> groups_of(const Options& options);

/// Whether only --help-all lists the option, one of a command with many.
bool is_rare(const Options& options, const Option& option);

}  // namespace lw::app
