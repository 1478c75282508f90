// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lw::report {

/// Builds text in Prometheus' exposition format 0.0.4: families of samples, each with its header.
///
///   # HELP longwire_frames_total Frames received.
///   # TYPE longwire_frames_total counter
///   longwire_frames_total{direction="west-to-east"} 120000
class Prometheus {
 public:
  enum class Type : std::uint8_t { counter, gauge, histogram };
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  /// Starts a family; the following samples belong to it. A counter's name ends in `_total`.
  void family(std::string_view name, Type type, std::string_view help);
  void sample(const Labels& labels, std::uint64_t value);
  void sample(const Labels& labels, double value);
  /// The number of values up to `limit`, in the family's unit.
  struct Bucket {
    double limit;
    std::uint64_t count;
  };
  /// Adds a histogram of `count` values: its buckets in ascending order, the last without a limit,
  /// and the sum of the values.
  void histogram(const Labels& labels, std::span<const Bucket> buckets, std::uint64_t count,
                 double sum);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void begin_sample(const Labels& labels, std::string_view suffix = {});

  std::string text_, family_;
};

}  // namespace lw::report
