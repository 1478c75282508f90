// SPDX-License-Identifier: BSD-3-Clause
#include "app/retired_names.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "app/completion.h"

namespace lw::app {
namespace {

struct RetiredName {
  std::string_view name, in_use;
};

// Names that release 0.1 had, and that one release accepts where a program or command has the name
// in use. Help, man pages and completions lack them.
constexpr RetiredName kRetiredCommands[] = {{"sessions", "connections"}};
constexpr RetiredName kRetiredOptions[] = {{"--capture", "--pcap"},
                                           {"--capture-bytes", "--pcap-bytes"},
                                           {"--capture-failures", "--pcap-failures"},
                                           {"--connect", "--peer"},
                                           {"--session", "--connection"},
                                           {"--telemetry", "--dpdk-telemetry"},
                                           {"--telemetry", "--layout"},
                                           {"--wait", "--wait-link"}};

/// The name in use of a retired one; empty for other words. `is_known`: whether the command line
/// takes a name.
std::string_view name_in_use(std::span<const RetiredName> retired, std::string_view name,
                             const auto& is_known) {
  if (is_known(name)) return {};
  for (const RetiredName& each : retired)
    if (each.name == name && is_known(each.in_use)) return each.in_use;
  return {};
}

/// Replaces the first `length` characters of a word, a retired name.
void replace_name(std::string& word, std::size_t length, std::string_view in_use) {
  if (in_use.empty()) return;
  fmt::print(stderr, "note: {} is now {}; the next release refuses the old name\n",
             word.substr(0, length), in_use);
  word.replace(0, length, in_use);
}

}  // namespace

std::vector<std::string> with_names_in_use(const Command& program,
                                           std::span<const std::string_view> words) {
  CommandPath path(program);
  bool is_value = false;
  const auto is_command = [&path](std::string_view name) {
    return std::ranges::count(path.command_names(), name) > 0;
  };
  const auto is_option = [&path](std::string_view name) { return path.find(name) != nullptr; };
  std::vector<std::string> renamed(words.begin(), words.end());
  for (std::string& word : renamed) {
    if (std::exchange(is_value, false)) continue;
    if (word == "--") break;
    if (!word.starts_with('-')) {
      replace_name(word, word.size(), name_in_use(kRetiredCommands, word, is_command));
      path.enter(word);
      continue;
    }
    const std::size_t length = std::min(word.find('='), word.size());
    replace_name(word, length, name_in_use(kRetiredOptions, word.substr(0, length), is_option));
    const Option* option = path.find(word);
    is_value = option != nullptr && !option->value.is_flag && option->has_name(word);
  }
  return renamed;
}

}  // namespace lw::app
