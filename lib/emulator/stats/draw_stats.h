// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lw::emulator {

/// Delays as they were drawn, ns: enough for mean and deviation. Sums are of distances from the
/// first draw, which is no further from the mean than some deviations: so little is lost to
/// rounding, and nothing is divided while frames go by.
struct DrawStats {
  std::uint64_t count = 0;
  double first = 0, sum = 0, sum_of_squares = 0;

  void add(double value, std::size_t times = 1) noexcept {
    if (count == 0) first = value;
    const double distance = value - first;
    count += times;
    sum += static_cast<double>(times) * distance;
    sum_of_squares += static_cast<double>(times) * distance * distance;
  }
  /// One after the other.
  void add(std::span<const double> values) noexcept {
    if (values.empty()) return;
    if (count == 0) first = values[0];
    double all = sum, squares = sum_of_squares;
    for (const double value : values) {
      const double distance = value - first;
      all += distance;
      squares += distance * distance;
    }
    count += values.size();
    sum = all;
    sum_of_squares = squares;
  }
  [[nodiscard]] double mean() const noexcept {
    return count ? first + sum / static_cast<double>(count) : 0;
  }
  /// Of the distances from the mean, summed.
  [[nodiscard]] double squares() const noexcept {
    return count ? sum_of_squares - sum * sum / static_cast<double>(count) : 0;
  }
  /// Its distances are from another first draw.
  void add(const DrawStats& other) noexcept {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const auto its = static_cast<double>(other.count);
    const double apart = other.first - first;
    sum_of_squares += other.sum_of_squares + 2 * apart * other.sum + its * apart * apart;
    sum += other.sum + its * apart;
    count += other.count;
  }
};

}  // namespace lw::emulator
