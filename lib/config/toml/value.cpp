// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/value.h"

#include <fmt/format.h>

namespace lw::config {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

}  // namespace

std::string describe(const Value& value) {
  return std::visit(Overloaded{
                        [](bool b) { return std::string(b ? "true" : "false"); },
                        [](std::int64_t i) { return fmt::format("{}", i); },
                        [](double d) { return fmt::format("{}", d); },
                        [](const std::string& s) { return fmt::format("\"{}\"", s); },
                        [](const Array&) { return std::string("an array"); },
                        [](const Entries&) { return std::string("a table"); },
                        [](DateOrTime) { return std::string("a date or time"); },
                    },
                    value.data);
}

std::string text_of(const Value& value) {
  return std::visit(Overloaded{
                        [](std::int64_t i) { return fmt::format("{}", i); },
                        [](double d) { return fmt::format("{}", d); },
                        [](const std::string& s) { return s; },
                        [](const auto&) { return std::string(); },
                    },
                    value.data);
}

}  // namespace lw::config
