// SPDX-License-Identifier: BSD-3-Clause
#include "gen/stats/watch.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

#include <fmt/format.h>

namespace lw::gen {
namespace {

constexpr Duration kBetweenLines = std::chrono::seconds(5);

const FlowProgress& at_or_none(const std::vector<FlowProgress>& flows, std::size_t i) {
  static const FlowProgress kNone;
  return i < flows.size() ? flows[i] : kNone;
}

}  // namespace

Result<Watch> Watch::open(const WatchOptions& options) {
  Watch watch(options);
  watch.terminal_ = isatty(STDERR_FILENO) != 0;
  if (options.series.empty()) return watch;
  watch.series_.reset(std::fopen(options.series.c_str(), "w"));
  if (!watch.series_) {
    return fail(fmt::format("{}: {}", options.series, std::strerror(errno)), ExitCode::environment);
  }
  std::fputs(series_header().c_str(), watch.series_.get());
  return watch;
}

void Watch::start(Instant now) {
  start_ = last_ = now;
  next_ = now + options_.interval;
  next_line_ = now + kBetweenLines;
}

Result<void> Watch::show(Instant now, const std::vector<FlowProgress>& flows,
                         std::optional<Duration> left) {
  auto written = write_rows(now, flows);
  if (!options_.quiet) draw(now, flows, left);
  before_ = flows;
  last_ = now;
  while (next_ <= now) next_ += options_.interval;
  return written;
}

Result<void> Watch::finish(Instant now, const std::vector<FlowProgress>& flows) {
  auto written = write_rows(now, flows);
  if (written && series_ && std::fflush(series_.get()) != 0) {
    return fail(fmt::format("{}: {}", options_.series, std::strerror(errno)),
                ExitCode::environment);
  }
  return written;
}

Result<void> Watch::write_rows(Instant now, const std::vector<FlowProgress>& flows) {
  if (!series_ || now <= last_) return {};
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const std::string row =
        series_row(last_ - start_, now - start_, flows[i], at_or_none(before_, i));
    if (std::fputs(row.c_str(), series_.get()) >= 0) continue;
    return fail(fmt::format("{}: {}", options_.series, std::strerror(errno)),
                ExitCode::environment);
  }
  return {};
}

void Watch::draw(Instant now, const std::vector<FlowProgress>& flows,
                 std::optional<Duration> left) {
  if (terminal_) {
    constexpr const char* kHomeAndClear = "\x1b[H\x1b[J";
    fmt::print(stderr, "{}{}", kHomeAndClear,
               screen_of(now - start_, left, now - last_, flows, before_));
  } else if (now >= next_line_) {
    fmt::print(stderr, "{}",
               line_of(now - start_, left, now - last_, total_of(flows), total_of(before_)));
    next_line_ = now + kBetweenLines;
  }
  std::fflush(stderr);
}

}  // namespace lw::gen
