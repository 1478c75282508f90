// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/time.h"
#include "gen/report/progress.h"

namespace lw::gen {

struct WatchOptions {
  std::string series;                           // a CSV file; empty: none
  Duration interval = std::chrono::seconds(1);  // of the series and the screen
  bool quiet = false;                           // show nothing
};

/// Lets people watch: a refreshed screen where stderr is a terminal, else a line every few seconds;
/// and a time series. The loops ask due() and hand over what was counted; between two intervals
/// nothing is done. Touches no clock.
class Watch {
 public:
  /// Errors: the series' file.
  static Result<Watch> open(const WatchOptions& options);

  void start(Instant now);
  [[nodiscard]] bool due(Instant now) const noexcept { return now >= next_; }
  /// `left`: until the run ends, where that is known.
  Result<void> show(Instant now, const std::vector<FlowProgress>& flows,
                    std::optional<Duration> left);
  /// The last, shorter interval's rows; the screen stays as it is.
  Result<void> finish(Instant now, const std::vector<FlowProgress>& flows);

 private:
  struct Closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  explicit Watch(const WatchOptions& options) : options_(options) {}
  Result<void> write_rows(Instant now, const std::vector<FlowProgress>& flows);
  void draw(Instant now, const std::vector<FlowProgress>& flows, std::optional<Duration> left);

  WatchOptions options_;
  std::unique_ptr<std::FILE, Closer> series_;
  bool terminal_ = false;
  Instant start_{}, last_{}, next_{}, next_line_{};
  std::vector<FlowProgress> before_;  // at last_
};

/// What a terminal shows: rates since `before`, which was `span` ago.
std::string screen_of(Duration elapsed, std::optional<Duration> left, Duration span,
                      const std::vector<FlowProgress>& flows,
                      const std::vector<FlowProgress>& before);
/// The same in a line.
std::string line_of(Duration elapsed, std::optional<Duration> left, Duration span,
                    const FlowProgress& total, const FlowProgress& before);

/// The series' first line and a row of it.
std::string series_header();
std::string series_row(Duration from, Duration to, const FlowProgress& flow,
                       const FlowProgress& before);

}  // namespace lw::gen
