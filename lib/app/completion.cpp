// SPDX-License-Identifier: BSD-3-Clause
#include "app/completion.h"

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <system_error>

#include "app/option_groups.h"
#include "config/toml/profile_search.h"

namespace lw::app {
namespace {

/// Collects the words that begin with `prefix`. Puts `before` in front of each: "--op=".
class Collector {
 public:
  Collector(std::string_view prefix, std::string_view before) : prefix_(prefix), before_(before) {}

  void add(std::string_view text, std::string_view description) {
    if (text.starts_with(prefix_))
      found.words.push_back({before_ + std::string(text), std::string(description)});
  }
  Completions found;

 private:
  std::string_view prefix_;
  std::string before_;
};

/// Adds ports: the machine's interfaces, and the prefixes of the other forms.
void add_ports(Collector& to) {
  std::vector<std::string> names;
  std::error_code unknown;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net", unknown))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  for (const std::string& name : names) to.add(name, "network interface");
  to.add("memif:", "shared memory with another process");
  to.add("vhost:", "a guest of QEMU");
  to.add("pcap:", "capture files");
  to.add("null", "no frames; discards what is sent");
}

void add_profiles(const Option& option, Collector& to) {
  for (const auto& profile : config::list_profiles(option.value.profile_kinds))
    to.add(profile.name, profile.description);
  to.found.files = true;
}

/// Adds the completions of a value by its placeholder: "FILE", "DIR", "CAPTURE|PORT".
void add_by_placeholder(std::string_view placeholder, Collector& to) {
  constexpr std::string_view kFiles[] = {"CAPTURE", "IN", "OUT", "NEAR", "FAR", "SOCKET"};
  for (const auto part : std::views::split(placeholder, '|')) {
    const std::string_view word(part);
    if (word == "PORT") add_ports(to);
    if (word == "DIR") to.found.folders = true;
    if (word.starts_with("FILE") || std::ranges::find(kFiles, word) != std::end(kFiles))
      to.found.files = true;
  }
}

Completions values_of(const Option& option, std::string_view prefix, std::string_view before) {
  Collector to(prefix, before);
  for (const std::string& choice : option.value.choices) to.add(choice, "");
  if (!option.value.profile_kinds.empty()) {
    add_profiles(option, to);
  } else {
    add_by_placeholder(option.is_positional() ? option.names : option.placeholder, to);
  }
  return std::move(to.found);
}

bool was_given(const Option& option, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) {
    return option.has_name(word.substr(0, word.find('=')));
  });
}

Completions options_of(const CommandPath& path, std::span<const std::string_view> before,
                       std::string_view prefix) {
  Collector to(prefix, "");
  for (const Command* command : path.commands())
    for (const OptionGroup& group : groups_of(command->options))
      for (const Option* option : group.options)
        if (!option->is_positional() && (option->value.repeats || !was_given(*option, before)))
          for (const std::string& name : option->long_names()) to.add(name, option->help);
  to.add("--help", "print what the command takes");
  to.add("--help-all", "print all of it, also rarely used options");
  if (path.commands().size() == 1) to.add("--version", "print the version");
  return std::move(to.found);
}

/// Returns the option whose value comes next, or null. Advances `path` over the words.
const Option* follow(CommandPath& path, std::span<const std::string_view> words) {
  const Option* awaiting = nullptr;
  for (const std::string_view word : words) {
    if (awaiting != nullptr) {
      awaiting = nullptr;
    } else if (word.size() > 1 && word.starts_with('-')) {
      const Option* option = path.find(word);
      if (option != nullptr && !option->value.is_flag && option->has_name(word)) awaiting = option;
    } else if (!path.enter(word)) {
      path.takes_argument();
    }
  }
  return awaiting;
}

}  // namespace

const Option* CommandPath::find(std::string_view name) const {
  for (const Command* command : path_)
    if (const Option* option = command->options.find(name)) return option;
  const bool has_value = name.size() > 2 && name[0] == '-' && name[1] != '-';
  return has_value ? find(name.substr(0, 2)) : nullptr;
}

std::vector<std::string_view> CommandPath::option_names() const {
  std::vector<std::string_view> names = {"--help", "--help-all", "--version"};
  for (const Command* command : path_)
    for (const Option& option : command->options)
      if (!option.is_positional())
        names.push_back(std::string_view(option.names).substr(option.names.rfind(',') + 1));
  return names;
}

std::vector<std::string_view> CommandPath::command_names() const {
  std::vector<std::string_view> names;
  for (const Command& each : command().commands) names.emplace_back(each.name);
  return names;
}

std::string CommandPath::name() const {
  std::string name;
  for (const Command* command : path_) name += (name.empty() ? "" : " ") + command->name;
  return name;
}

const Option* CommandPath::argument() const {
  std::size_t left = arguments_;
  const Option* last = nullptr;
  for (const Option& option : command().options) {
    if (!option.is_positional()) continue;
    if (left-- == 0) return &option;
    last = &option;
  }
  return last != nullptr && last->value.repeats ? last : nullptr;
}

bool CommandPath::takes_argument() {
  const bool taken = argument() != nullptr;
  ++arguments_;
  return taken;
}

bool CommandPath::enter(std::string_view name) {
  for (const Command& each : command().commands) {
    if (each.name != name) continue;
    path_.push_back(&each);
    arguments_ = 0;
    return true;
  }
  return false;
}

Completions complete(const Command& program, std::span<const std::string_view> words) {
  const std::string_view last = words.empty() ? "" : words.back();
  const auto before = words.first(words.empty() ? 0 : words.size() - 1);
  CommandPath path(program);
  if (const Option* option = follow(path, before)) return values_of(*option, last, "");
  const std::size_t equals = last.find('=');
  if (last.starts_with("--") && equals != std::string_view::npos) {
    const Option* option = path.find(last.substr(0, equals));
    return option == nullptr
               ? Completions()
               : values_of(*option, last.substr(equals + 1), last.substr(0, equals + 1));
  }
  if (last.starts_with('-')) return options_of(path, before, last);
  if (const Option* argument = path.argument()) return values_of(*argument, last, "");
  Collector to(last, "");
  for (const Command& each : path.command().commands) to.add(each.name, each.help);
  return std::move(to.found);
}

std::string completion_lines(const Completions& completions) {
  std::string lines;
  for (const auto& [text, description] : completions.words)
    lines += text + (description.empty() ? "" : "\t" + description) + "\n";
  if (completions.files) lines += ":files\n";
  if (completions.folders) lines += ":folders\n";
  return lines;
}

}  // namespace lw::app
