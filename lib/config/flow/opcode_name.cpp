// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/opcode_name.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/nearest.h"
#include "wire/opcode.h"

namespace lw::config {
namespace {

/// As the table of opcodes has it.
std::string canonical(std::string text) {
  for (char& c : text)
    c = c == '_' || c == '-' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

Parsed<std::uint8_t> read_opcode(const Value& value) {
  if (const auto number = integer<std::uint8_t>()(value)) return *number;
  const auto* text = std::get_if<std::string>(&value.data);
  const std::string name = text ? canonical(*text) : std::string();
  std::vector<std::string_view> names;
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    if (info.name == name) return info.opcode;
    names.push_back(info.name);
  }
  std::string sentence =
      fmt::format("expected a number from 0 to 255 or a name such as \"RC SEND FIRST\", found {}",
                  describe(value));
  if (const auto near = nearest(name, names); text && !near.empty())
    sentence += fmt::format(": did you mean \"{}\"?", near);
  return std::unexpected(std::move(sentence));
}

}  // namespace lw::config
