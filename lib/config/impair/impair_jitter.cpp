// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "config/impair/impair_stages.h"

namespace lw::config {
namespace {

enum class Kind : std::uint8_t {
  uniform,
  normal,
  exponential,
  gamma,
  pareto,
  lognormal,
  histogram,
  netem,
};
constexpr Choice<Kind> kKinds[] = {
    {"uniform", Kind::uniform}, {"normal", Kind::normal},       {"exponential", Kind::exponential},
    {"gamma", Kind::gamma},     {"pareto", Kind::pareto},       {"lognormal", Kind::lognormal},
    {"netem", Kind::netem},     {"histogram", Kind::histogram},
};

/// Shapes outside are typing errors, and cost precision.
constexpr double kSmallestShape = 0.05, kLargestShape = 1e4, kLargestSigma = 10;

Parsed<double> read_ns(std::string_view text) {
  const auto time = parse_duration(text);
  if (!time) return std::unexpected(time.error());
  return static_cast<double>(time->count());
}

Parsed<double> read_some_ns(std::string_view text) {
  const auto ns = read_ns(text);
  if (ns && *ns <= 0)
    return std::unexpected(fmt::format("expected more than 0, found \"{}\"", text));
  return ns;
}

double some_time(const Table& table, std::string_view key) {
  return table.require(key, read_some_ns, "a time, \"10us\"").value_or(1);
}

double shape_of(const Table& table) {
  return table.require("shape", number(kSmallestShape, kLargestShape), "a number, 2.5").value_or(1);
}

emulator::UniformDelay read_uniform(const Table& table) {
  emulator::UniformDelay d;
  d.low = table.get_or("low", read_ns, 0.0);
  d.high = table.require("high", read_ns, "a time, \"10us\"").value_or(d.low);
  if (d.low > d.high)
    table.refuse("low", fmt::format("expected at most high, {} ns, found {} ns", d.high, d.low));
  return d;
}

emulator::BinnedDelay read_file(const Table& table, const std::filesystem::path& folder,
                                bool netem) {
  emulator::BinnedDelay nothing{{{0, 0, 1}}};
  const double mean = netem ? table.get_or("mean", read_ns, 0.0) : 0;
  const double deviation = netem ? some_time(table, "deviation") : 0;
  const auto file = table.require("file", read_text, "a file of the distribution");
  if (!file) return nothing;
  const auto text = read_whole_file(folder / *file);
  if (!text) return table.refuse("file", text.error()), nothing;
  auto read =
      netem ? parse_netem_distribution(*text, mean, deviation) : parse_delay_histogram(*text);
  if (read) return *read;
  table.refuse("file", *file + ": " + read.error());
  return nothing;
}

emulator::Distribution read_kind(const Table& table, Kind kind,
                                 const std::filesystem::path& folder) {
  switch (kind) {
    case Kind::normal:
      return emulator::NormalDelay{table.get_or("mean", read_ns, 0.0),
                                   some_time(table, "deviation")};
    case Kind::exponential:
      return emulator::ExponentialDelay{some_time(table, "mean")};
    case Kind::gamma:
      return emulator::GammaDelay{shape_of(table), some_time(table, "scale")};
    case Kind::pareto:
      return emulator::ParetoDelay{shape_of(table), some_time(table, "minimum")};
    case Kind::lognormal:
      return emulator::LogNormalDelay{
          some_time(table, "median"),
          table.require("sigma", number(1e-6, kLargestSigma), "a number, 0.5").value_or(1)};
    case Kind::histogram:
      return read_file(table, folder, false);
    case Kind::netem:
      return read_file(table, folder, true);
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

std::optional<emulator::JitterConfig> read_jitter(const Table& rule,
                                                  const std::filesystem::path& folder) {
  const auto table = rule.table("jitter");
  if (!table) return std::nullopt;
  const auto kind = table->require("distribution", choice(kKinds), "how delays vary");
  // Which other keys there are depends on it.
  if (!kind) return std::nullopt;
  emulator::JitterConfig jitter{read_kind(*table, *kind, folder),
                                table->get("half_life", read_half_life)};
  table->finish();
  return jitter;
}

}  // namespace lw::config
