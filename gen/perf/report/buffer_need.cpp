// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/buffer_need.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "core/output.h"
#include "gen/perf/plan/plan.h"
#include "report/figures/json.h"
#include "report/plot.h"
#include "sim/perf.h"

namespace lw::gen {
namespace {

constexpr double kGroupIndex = 1.4682, kLightKmPerS = 299'792.458;

perf::PerfConfig config_over(const perf::PerfConfig& config, double kilometres,
                             std::uint32_t size) {
  perf::PerfConfig there = config;
  there.size = size;
  there.qps = 1;
  there.iterations = 0;
  there.round_trips = 0;
  there.path.one_way = Duration{std::llround(kilometres * kGroupIndex / kLightKmPerS * 1e9)};
  there.path.way_back.reset();
  return there;
}

double rate_with(perf::PerfConfig config, std::uint32_t buffers) {
  config.qp.tx_depth = config.qp.max_outstanding_wqe = config.qp.max_rd_atomic = buffers;
  config.qp.max_dest_rd_atomic = 0;
  return sim::run_bandwidth(config).steady_bps;
}

/// Searches around the formula's value by bisection, to a precision of 1 %.
BufferNeed need_of(const perf::PerfConfig& config, double kilometres) {
  const Plan by_formula = computed_plan(config);
  const double full = kFull * by_formula.goodput_bps;
  const auto guess = std::max(1.0, std::ceil(kFull * static_cast<double>(by_formula.needed)));
  auto fails = static_cast<std::uint32_t>(guess * 0.9) - (guess > 1 ? 1 : 0);
  auto passes = static_cast<std::uint32_t>(std::ceil(guess * 1.05)) + 1;
  double gbps = rate_with(config, passes);
  while (gbps < full && passes < 1u << 20) {
    fails = passes;
    passes *= 2;
    gbps = rate_with(config, passes);
  }
  while (passes - fails > std::max(1u, passes / 100)) {
    const std::uint32_t middle = fails + (passes - fails) / 2;
    const double rate = rate_with(config, middle);
    if (rate >= full) gbps = rate;
    (rate >= full ? passes : fails) = middle;
  }
  return {.kilometres = kilometres,
          .size = config.size,
          .buffers = passes,
          .formula = static_cast<std::uint32_t>(guess),
          .gbps = gbps / 1e9};
}

void print(const BufferNeed& need, bool json) {
  if (json) {
    print_report(report::json_line(kBufferNeedOutput, need));
  } else {
    print_report(fmt::format("{:>8} {:>9} {:>9} {:>9} {:>12.2f}\n", need.kilometres, need.size,
                             need.buffers, need.formula, need.gbps));
  }
}

/// Plots one curve per message size, on logarithmic axes. `needs` is sorted by size, then distance.
std::string svg_of(const std::vector<BufferNeed>& needs, const std::string& title) {
  using Scale = report::PlotAxis::Scale;
  report::Plot plot{.title = title,
                    .x = {.label = "distance, km of fibre", .scale = Scale::log},
                    .y = {.label = "buffers", .scale = Scale::log},
                    .curves = {}};
  std::uint32_t size = 0;
  for (const BufferNeed& need : needs) {
    if (need.size != size)
      plot.curves.push_back({.name = need.size < 1u << 20 ? fmt::format("{} KiB", need.size >> 10)
                                                          : fmt::format("{} MiB", need.size >> 20),
                             .points = {}});
    size = need.size;
    plot.curves.back().points.push_back(
        {need.kilometres, static_cast<double>(need.buffers), {}, {}});
  }
  return report::to_svg(plot);
}

}  // namespace

const FigureTable& BufferNeed::figures() {
  using Row = FigureOf<BufferNeed>;
  static constexpr Figure kRows[] = {
      Row::of<&BufferNeed::kilometres>("km", "Length of the path, in km."),
      Row::of<&BufferNeed::size>("bytes", "Message size, in bytes.", Unit::bytes),
      Row::of<&BufferNeed::buffers>("buffers", "Buffers found to fill the path."),
      Row::of<&BufferNeed::formula>("formula", "Buffers of the formula."),
      Row::of<&BufferNeed::gbps>("gbps", "Rate of payload with these buffers.", Unit::gbps)};
  static constexpr FigureTable kTable{
      "Buffers that fill a path; a line for each distance and size.", kRows};
  return kTable;
}

std::array<std::string, 2> buffer_files(const std::string& folder) {
  const std::filesystem::path into(folder);
  return {into / "buffers.csv", into / "buffers.svg"};
}

Result<void> find_buffer_need(const perf::PerfConfig& config, const std::string& folder,
                              bool json) {
  if (auto made = make_folder(folder); !made) return made;
  if (!json) {
    print_report(fmt::format("{:>8} {:>9} {:>9} {:>9} {:>12}\n", "km", "#bytes", "#buffers",
                             "formula", "BW[Gb/s]"));
  }
  std::vector<BufferNeed> needs;
  report::RowFormat rows(report::RowStyle::csv, kBufferNeedOutput);
  std::string csv;
  for (const std::uint32_t size : {4096u, 65536u, 1u << 20}) {
    for (const double km : {1.0, 10.0, 40.0, 100.0, 380.0, 1000.0, 3000.0, 10'000.0}) {
      needs.push_back(need_of(config_over(config, km, size), km));
      print(needs.back(), json);
      csv += rows.line(report::json_of(needs.back()));
    }
  }
  const auto [csv_file, svg_file] = buffer_files(folder);
  if (auto wrote = write_file(csv_file, csv); !wrote) return wrote;
  return write_file(svg_file, svg_of(needs, fmt::format("Buffers that fill {:g} Gb/s to {:g} %, {}",
                                                        config.nic.rate_bps / 1e9, 100 * kFull,
                                                        wire::name_of(config.operation))));
}

}  // namespace lw::gen
