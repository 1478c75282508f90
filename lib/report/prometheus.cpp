// SPDX-License-Identifier: BSD-3-Clause
#include "report/prometheus.h"

#include <fmt/format.h>

namespace lw::report {
namespace {

/// In a label's value a backslash, a quote and a line's end are written as two characters each.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void Prometheus::family(std::string_view name, Type type, std::string_view help) {
  family_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                       type == Type::counter ? "counter" : "gauge");
}

void Prometheus::begin_sample(const Labels& labels) {
  text_ += family_;
  if (labels.empty()) return;
  char before = '{';
  for (const auto& [name, value] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", before, name, escaped(value));
    before = ',';
  }
  text_ += '}';
}

void Prometheus::sample(const Labels& labels, std::uint64_t value) {
  begin_sample(labels);
  text_ += fmt::format(" {}\n", value);
}

void Prometheus::sample(const Labels& labels, double value) {
  begin_sample(labels);
  text_ += fmt::format(" {}\n", value);
}

}  // namespace lw::report
