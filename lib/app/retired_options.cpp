// SPDX-License-Identifier: BSD-3-Clause
#include "app/retired_options.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "app/completion.h"

namespace lw::app {
namespace {

struct RetiredOption {
  std::string_view name, in_use;
};

/// Names that release 0.1 had, and that one release accepts where a command has the name in use.
/// Help, man pages and completions lack them.
constexpr RetiredOption kRetired[] = {{"--capture", "--pcap"},
                                      {"--capture-bytes", "--pcap-bytes"},
                                      {"--capture-failures", "--pcap-failures"},
                                      {"--connect", "--peer"},
                                      {"--session", "--connection"},
                                      {"--telemetry", "--dpdk-telemetry"},
                                      {"--telemetry", "--layout"},
                                      {"--wait", "--wait-link"}};

/// The name in use of a retired one; empty for other words.
std::string_view name_in_use(const CommandPath& path, std::string_view name) {
  if (path.find(name) != nullptr) return {};
  for (const RetiredOption& retired : kRetired)
    if (retired.name == name && path.find(retired.in_use) != nullptr) return retired.in_use;
  return {};
}

}  // namespace

std::vector<std::string> with_names_in_use(const Command& program,
                                           std::span<const std::string_view> words) {
  CommandPath path(program);
  bool is_value = false;
  std::vector<std::string> renamed(words.begin(), words.end());
  for (std::string& word : renamed) {
    if (std::exchange(is_value, false)) continue;
    if (word == "--") break;
    if (!word.starts_with('-')) {
      path.enter(word);
      continue;
    }
    const std::string name = word.substr(0, word.find('='));
    if (const std::string_view in_use = name_in_use(path, name); !in_use.empty()) {
      fmt::print(stderr, "note: {} is now {}; the next release refuses the old name\n", name,
                 in_use);
      word.replace(0, name.size(), in_use);
    }
    const Option* option = path.find(word);
    is_value = option != nullptr && !option->value.is_flag && option->has_name(word);
  }
  return renamed;
}

}  // namespace lw::app
