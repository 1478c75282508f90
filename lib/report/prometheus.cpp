// SPDX-License-Identifier: BSD-3-Clause
#include "report/prometheus.h"

#include <fmt/format.h>

namespace lw::report {
namespace {

/// Escapes backslash, quote and newline in a label's value.
std::string label_text(std::string_view text) {
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

std::string_view type_text(Prometheus::Type type) noexcept {
  using enum Prometheus::Type;
  return type == counter ? "counter" : type == gauge ? "gauge" : "histogram";
}

}  // namespace

void Prometheus::family(std::string_view name, Type type, std::string_view help) {
  family_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type_text(type));
}

void Prometheus::begin_sample(const Labels& labels, std::string_view suffix) {
  text_ += family_;
  text_ += suffix;
  if (labels.empty()) return;
  char before = '{';
  for (const auto& [name, value] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", before, name, label_text(value));
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

void Prometheus::histogram(const Labels& labels, std::span<const Bucket> buckets,
                           std::uint64_t count, double sum) {
  Labels limited = labels;
  limited.emplace_back("le", "");
  const auto add_bucket = [&](std::string limit, std::uint64_t values) {
    limited.back().second = std::move(limit);
    begin_sample(limited, "_bucket");
    text_ += fmt::format(" {}\n", values);
  };
  for (const Bucket& bucket : buckets) add_bucket(fmt::format("{}", bucket.limit), bucket.count);
  add_bucket("+Inf", count);
  begin_sample(labels, "_sum");
  text_ += fmt::format(" {}\n", sum);
  begin_sample(labels, "_count");
  text_ += fmt::format(" {}\n", count);
}

}  // namespace lw::report
