// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/random/jitter.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "emulator/limits.h"
#include "emulator/random/distribution.h"
#include "emulator/stage_keys.h"

namespace lw::emulator {
namespace {

constexpr std::int64_t kStepsInHalfLife = 8;
// After this number of steps, an innovation contributes less than 10^-12 of itself.
constexpr std::int64_t kMemory = 40 * kStepsInHalfLife;

/// Correlation of two interpolated values one half-life apart, averaged over their phase within a
/// step; `kept` is the correlation of two successive steps.
double correlation_after_half_life(double kept) noexcept {
  constexpr int kPlaces = 64;
  const double far = std::pow(kept, kStepsInHalfLife);
  double sum = 0;
  for (int i = 0; i < kPlaces; ++i) {
    const double b = (i + 0.5) / kPlaces, a = 1 - b;
    const double squares = a * a + b * b;
    sum += far * (squares + a * b * (kept + 1 / kept)) / (squares + 2 * a * b * kept);
  }
  return sum / kPlaces;
}

/// The correlation of successive steps for which that of interpolated values is one half.
double chain_correlation() noexcept {
  double low = 0.5, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (correlation_after_half_life(middle) > 0.5 ? high : low) = middle;
  }
  return low;
}

}  // namespace

ScoreProcess::ScoreProcess(Duration half_life, Chance chance) noexcept
    : chance_(chance),
      step_ns_(std::max<std::int64_t>(1, half_life.count() / kStepsInHalfLife)),
      kept_(chain_correlation()),
      renewed_(std::sqrt(1 - kept_ * kept_)) {}

double ScoreProcess::innovation(std::int64_t step) const noexcept {
  // The middle of one of 2^53 cells: never 0 or 1.
  const double below = chance_.uniform(static_cast<std::uint64_t>(step)) + 0x1.0p-54;
  return normal_quantile(below, 1 - below);
}

double ScoreProcess::after(double value, std::int64_t step) const noexcept {
  return value * kept_ + renewed_ * innovation(step);
}

double ScoreProcess::chain_at(std::int64_t step) const noexcept {
  double value = 0;
  for (std::int64_t i = step - kMemory; i <= step; ++i) value = after(value, i);
  return value;
}

void ScoreProcess::move_to(std::int64_t step) noexcept {
  if (step < step_ || step - step_ > kMemory) {
    here_ = chain_at(step);
    next_ = after(here_, step + 1);
    step_ = step;
    return;
  }
  for (; step_ < step; ++step_) {
    here_ = next_;
    next_ = after(here_, step_ + 2);
  }
}

double ScoreProcess::at(Instant t) noexcept {
  const std::int64_t ns = to_ns(t);
  const std::int64_t step = ns / step_ns_ - (ns % step_ns_ < 0 ? 1 : 0);
  if (step != step_) move_to(step);
  const double b = static_cast<double>(ns - step * step_ns_) / static_cast<double>(step_ns_);
  const double a = 1 - b;
  return (a * here_ + b * next_) / std::sqrt(a * a + b * b + 2 * a * b * kept_);
}

namespace {

/// A heading names the columns in words: a line with a number is not a heading.
bool is_heading(const CsvRow& row) {
  return std::ranges::none_of(row.fields, [](std::string_view field) {
    return field.find_first_of("0123456789") != std::string_view::npos;
  });
}

Parsed<double> weight_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0) || value > 1e300)
    return std::unexpected(fmt::format("expected a weight of 0 to 1e300, found \"{}\"", text));
  return value;
}

enum class Kind : std::uint8_t {
  uniform,
  normal,
  exponential,
  gamma,
  pareto,
  lognormal,
  histogram,
  values,
  netem,
};
constexpr std::string_view kKinds[] = {
    "uniform",   "normal",    "exponential", "gamma", "pareto",
    "lognormal", "histogram", "values",      "netem"};  // as Kind

/// Range of a shape parameter: values outside are typing errors, and lose precision.
constexpr double kSmallestShape = 0.05, kLargestShape = 1e4, kLargestSigma = 10;

Parsed<double> read_ns(std::string_view text) {
  const auto time = parse_duration(text);
  if (!time) return std::unexpected(time.error());
  return static_cast<double>(time->count());
}

/// Also reads a time below 0, "-30ms".
Parsed<double> read_signed_ns(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto ns = read_ns(text.substr(negative ? 1 : 0));
  return ns && negative ? Parsed<double>(-*ns) : ns;
}

Parsed<double> read_some_ns(std::string_view text) {
  const auto ns = read_ns(text);
  if (ns && *ns <= 0)
    return std::unexpected(fmt::format("expected more than 0, found \"{}\"", text));
  return ns;
}

double some_time(const StageKeys& table, std::string_view key) {
  return table.require(key, read_some_ns, "a time, \"10us\"").value_or(1);
}

double shape_of(const StageKeys& table) {
  table.need("shape", "a number, 2.5");
  return table.number("shape", kSmallestShape, kLargestShape).value_or(1);
}

UniformDelay read_uniform(const StageKeys& table) {
  UniformDelay d;
  d.low = table.get_or("low", read_signed_ns, 0.0);
  d.high = table.require("high", read_ns, "a time, \"10us\"").value_or(d.low);
  if (d.low > d.high)
    table.refuse("low", fmt::format("expected at most high, {} ns, found {} ns", d.high, d.low));
  return d;
}

BinnedDelay read_file(const StageKeys& table, Kind kind) {
  const bool netem = kind == Kind::netem;
  BinnedDelay nothing{{{0, 0, 1}}};
  const double mean = netem ? table.get_or("mean", read_ns, 0.0) : 0;
  const double deviation = netem ? some_time(table, "deviation") : 0;
  table.need("file", "a file of the distribution");
  const auto parse = [=](std::string_view text) {
    if (netem) return parse_netem_distribution(text, mean, deviation);
    return kind == Kind::values ? parse_delay_values(text) : parse_delay_histogram(text);
  };
  return table.file<BinnedDelay>("file", parse).value_or(nothing);
}

LogNormalDelay read_lognormal(const StageKeys& table) {
  const double median = some_time(table, "median");
  table.need("sigma", "a number, 0.5");
  return {median, table.number("sigma", 1e-6, kLargestSigma).value_or(1)};
}

Distribution read_kind(const StageKeys& table, Kind kind) {
  switch (kind) {
    case Kind::normal:
      return NormalDelay{table.get_or("mean", read_ns, 0.0), some_time(table, "deviation")};
    case Kind::exponential:
      return ExponentialDelay{some_time(table, "mean")};
    case Kind::gamma:
      return GammaDelay{shape_of(table), some_time(table, "scale")};
    case Kind::pareto:
      return ParetoDelay{shape_of(table), some_time(table, "minimum")};
    case Kind::lognormal:
      return read_lognormal(table);
    case Kind::histogram:
    case Kind::values:
    case Kind::netem:
      return read_file(table, kind);
    case Kind::uniform:
      break;
  }
  return read_uniform(table);
}

Parsed<Duration> read_half_life(std::string_view text) {
  constexpr Duration kShortest{1000};
  const auto time = parse_duration(text);
  if (time && *time < kShortest)
    return std::unexpected(fmt::format("expected at least 1 us, found \"{}\"", text));
  return time;
}

}  // namespace

ScoreTable::ScoreTable(const Distribution& distribution) {
  nodes_.reserve(kNodes + 1);
  for (std::size_t i = 0; i <= kNodes; ++i) {
    const double score = static_cast<double>(i) / kNodesAUnit - kEnd;
    nodes_.push_back(quantile(distribution, normal_cumulative(score), normal_cumulative(-score)));
  }
}

Jitter::Jitter(const JitterConfig& config, Chance chance) : chance_(chance) {
  if (config.half_life) {
    process_.emplace(*config.half_life, chance);
    table_.emplace(config.distribution);
  } else {
    sampler_.emplace(config.distribution);
  }
}

namespace {

/// The rows of a file of delays, at most kMostBins, without a heading.
Parsed<std::vector<CsvRow>> rows_of_delays(std::string_view csv) {
  auto rows = csv_rows(csv, kMostBins + 1);  // and the heading
  if (rows && !rows->empty() && is_heading(rows->front())) rows->erase(rows->begin());
  return rows;
}

}  // namespace

Parsed<BinnedDelay> parse_delay_histogram(std::string_view csv) {
  BinnedDelay delay;
  double above = 0;  // end of the bin before, with or without a weight
  const auto rows = rows_of_delays(csv);
  if (!rows) return std::unexpected(rows.error());
  for (const CsvRow& row : *rows) {
    if (row.fields.size() != 3)
      return at_line(row.line,
                     fmt::format("expected low,high,weight, found {} fields", row.fields.size()));
    const auto low = parse_duration(row.fields[0]), high = parse_duration(row.fields[1]);
    const auto weight = weight_in(row.fields[2]);
    if (!low) return at_line(row.line, low.error());
    if (!high) return at_line(row.line, high.error());
    if (!weight) return at_line(row.line, weight.error());
    const BinnedDelay::Bin bin{static_cast<double>(low->count()),
                               static_cast<double>(high->count()), *weight};
    if (bin.low > bin.high || bin.low < above)
      return at_line(row.line,
                     fmt::format("expected bins that rise and don't overlap, found {} to {}",
                                 row.fields[0], row.fields[1]));
    above = bin.high;
    if (bin.weight > 0) delay.bins.push_back(bin);
  }
  if (delay.bins.empty())
    return std::unexpected(
        "expected lines of low,high,weight, one with a weight above 0, found none");
  return delay;
}

Parsed<BinnedDelay> parse_delay_values(std::string_view csv) {
  BinnedDelay delay;
  const auto rows = rows_of_delays(csv);
  if (!rows) return std::unexpected(rows.error());
  for (const CsvRow& row : *rows) {
    if (row.fields.size() != 1)
      return at_line(row.line,
                     fmt::format("expected one time, found {} fields", row.fields.size()));
    const auto time = read_ns(row.fields[0]);
    if (!time) return at_line(row.line, time.error());
    delay.bins.push_back({*time, *time, 1});
  }
  if (delay.bins.empty()) return std::unexpected("expected a time a line, found none");
  std::ranges::sort(delay.bins, {}, &BinnedDelay::Bin::low);
  return delay;
}

Parsed<BinnedDelay> parse_netem_distribution(std::string_view text, double mean_ns,
                                             double deviation_ns) {
  constexpr double kScale = 8192;  // NETEM_DIST_SCALE
  BinnedDelay delay;
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    rest = trimmed(rest.substr(0, rest.find('#')));
    while (!rest.empty()) {
      int value = 0;
      const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      if (parsed.ec != std::errc{} || value < INT16_MIN || value > INT16_MAX)
        return at_line(line, fmt::format("expected whole numbers of 16 bits, found \"{}\"", rest));
      if (delay.bins.size() == kMostBins)
        return at_line(line, fmt::format("expected at most {} numbers, found more", kMostBins));
      const double ns = mean_ns + deviation_ns * value / kScale;
      delay.bins.push_back({ns, ns, 1});
      rest = trimmed(rest.substr(static_cast<std::size_t>(parsed.ptr - rest.data())));
    }
  }
  if (delay.bins.empty()) return std::unexpected("expected whole numbers, found none");
  std::ranges::sort(delay.bins, {}, &BinnedDelay::Bin::low);
  return delay;
}

JitterConfig slow_jitter(Duration most) {
  const auto bound = static_cast<double>(most.count());
  return {UniformDelay{.low = -bound, .high = bound},
          std::max<Duration>(20 * most, std::chrono::milliseconds(1))};
}

std::optional<Distribution> read_distribution(const StageKeys& table) {
  table.need("distribution", "how times vary");
  const auto kind = table.choice("distribution", kKinds);
  // Which other keys are allowed depends on the distribution.
  if (!kind) return std::nullopt;
  return read_kind(table, static_cast<Kind>(*kind));
}

std::optional<JitterConfig> read_jitter(const StageKeys& rule) {
  if (rule.has("jitter") && !rule.is_table("jitter")) {
    const auto most = rule.get("jitter", read_positive_time);
    return most ? std::optional(slow_jitter(*most)) : std::nullopt;
  }
  const auto table = rule.table("jitter");
  if (!table) return std::nullopt;
  auto distribution = read_distribution(*table);
  if (!distribution) return std::nullopt;
  JitterConfig jitter{std::move(*distribution), table->get("half_life", read_half_life)};
  table->finish();
  return jitter;
}

}  // namespace lw::emulator
