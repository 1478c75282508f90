// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/figure.h"
#include "dissect/upper/command_reader.h"

namespace lw::dissect {

/// A row of `commands`.
struct CommandRow {
  const FoundCommand& found;
  const CapturedCommands& all;

  static const FigureTable& figures();
};

/// A row of `commands --facts`.
struct CommandFactsRow {
  const FoundConnection& found;
  const CapturedCommands& all;

  static const FigureTable& figures();
};

/// A row of `commands --by`.
struct CommandGroupRow {
  const CommandGroups::value_type& entry;

  static const FigureTable& figures();
};

inline constexpr JsonOutput kCommandOutput{
    .name = "command", .title = "roce-dissect commands --json", .figures = &CommandRow::figures};
inline constexpr JsonOutput kCommandFactsOutput{.name = "command_facts",
                                                .title = "roce-dissect commands --facts --json",
                                                .figures = &CommandFactsRow::figures};
inline constexpr JsonOutput kCommandGroupOutput{.name = "command_group",
                                                .title = "roce-dissect commands --by --json",
                                                .figures = &CommandGroupRow::figures};

}  // namespace lw::dissect
