// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
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
  enum class Type : std::uint8_t { counter, gauge, histogram };
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  /// Samples that follow belong to this family. A counter's name ends in `_total`.
  void family(std::string_view name, Type type, std::string_view help);
  void sample(const Labels& labels, std::uint64_t value);
  void sample(const Labels& labels, double value);
  /// How many values are at most `limit`, in the family's unit.
  struct Bucket {
    double limit;
    std::uint64_t count;
  };
  /// A histogram of `count` values: its buckets, in ascending order, the last one without a limit,
  /// and the values' sum.
  void histogram(const Labels& labels, std::span<const Bucket> buckets, std::uint64_t count,
                 double sum);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void begin_sample(const Labels& labels, std::string_view suffix = {});

  std::string text_, family_;
};

}  // namespace lw::report
