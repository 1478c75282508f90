// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lw::report {

/// Text in Prometheus' exposition format 0.0.4: families of samples, each family announced once.
///
///   # HELP longwire_frames_total Frames received.
///   # TYPE longwire_frames_total counter
///   longwire_frames_total{direction="west-to-east"} 120000
class Prometheus {
 public:
  enum class Type : std::uint8_t { counter, gauge, summary };
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  /// Samples that follow belong to this family. A counter's name ends in `_total`. A summary's
  /// samples have a label `quantile`, which nothing else may have, and beside them is its count.
  void family(std::string_view name, Type type, std::string_view help);
  void sample(const Labels& labels, std::uint64_t value);
  void sample(const Labels& labels, double value);
  /// How many values a summary is of.
  void count(const Labels& labels, std::uint64_t values);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void begin_sample(const Labels& labels, std::string_view suffix = {});

  std::string text_, family_;
};

}  // namespace lw::report
