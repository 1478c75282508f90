// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "core/quantity.h"

namespace lw::gen {

/// An option that takes what `read` makes of its text: a size, a rate, a probability.
template <class Read, class T>
CLI::Option* add_quantity(CLI::App* command, const std::string& name, Read read, T& into,
                          const std::string& help) {
  const auto take = [name, read, &into](const std::string& text) {
    const auto value = read(text);
    if (!value) throw CLI::ValidationError(name, value.error());
    into = static_cast<T>(*value);
  };
  return command->add_option_function<std::string>(name, take, help);
}

/// An option that takes a time such as 500ms; a bare number counts seconds.
inline CLI::Option* add_time_option(CLI::App* command, const std::string& name,
                                    std::optional<Duration>& into, const std::string& help) {
  const auto read = [name, &into](const std::string& text) {
    auto time = parse_duration(text);
    if (!time) time = parse_duration(text + "s");
    if (!time) {
      throw CLI::ValidationError(name,
                                 "expected a time such as 10s or 500ms, found \"" + text + "\"");
    }
    into = *time;
  };
  return command->add_option_function<std::string>(name, read, help)->type_name("TIME");
}

}  // namespace lw::gen
