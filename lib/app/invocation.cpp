// SPDX-License-Identifier: BSD-3-Clause
#include "app/invocation.h"

#include <string_view>
#include <utility>

namespace lw::app {
namespace {

constexpr std::string_view kSecret = "--token";

std::vector<AtEnd>& end_actions() {
  static std::vector<AtEnd> actions;
  return actions;
}

}  // namespace

std::string quoted_for_shell(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Invocation::text() const {
  std::string line = program;
  bool is_secret = false;
  for (const std::string& word : words) {
    const bool is_joined = word.starts_with(std::string(kSecret) + "=");
    line += ' ';
    line += is_secret ? "..." : is_joined ? std::string(kSecret) + "=..." : quoted_for_shell(word);
    is_secret = word == kSecret;
  }
  return line;
}

Invocation& this_invocation() {
  static Invocation invocation;
  return invocation;
}

void at_end(AtEnd action) { end_actions().push_back(std::move(action)); }

std::vector<AtEnd> take_end_actions() { return std::exchange(end_actions(), {}); }

}  // namespace lw::app
