// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/quantity.h"
#include "dissect/command.h"
#include "dissect/compare/compare_format.h"

namespace lw::dissect {
namespace {

struct CompareOptions {
  std::string near, far, filter, delay, loss;
  bool json = false;
};

Result<Asked> parse_asked(const CompareOptions& options) {
  Asked asked;
  if (!options.delay.empty()) {
    const auto delay = parse_duration(options.delay);
    if (!delay) return fail("--delay: " + delay.error());
    asked.delay = *delay;
  }
  if (!options.loss.empty()) {
    const auto loss = parse_probability(options.loss);
    if (!loss) return fail("--loss: " + loss.error());
    asked.loss = *loss;
  }
  return asked;
}

int damage_exit(const CapturePoint& point) {
  return point.damage ? report_error(*point.damage) : 0;
}

int run_compare(const CompareOptions& options) {
  const auto asked = parse_asked(options);
  if (!asked) return report_error(asked.error());
  FlowNames flows;
  const auto near = read_point(options.near, options.filter, flows);
  if (!near) return report_error(near.error());
  const auto far = read_point(options.far, options.filter, flows);
  if (!far) return report_error(far.error());
  const Comparison comparison = compare_points(*near, *far, flows.size());
  fmt::print("{}", options.json ? comparison_json(*near, *far, comparison, *asked)
                                : comparison_text(*near, *far, comparison, *asked));
  return std::max(damage_exit(*near), damage_exit(*far));
}

}  // namespace

void add_compare(CLI::App& app, int& exit) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* compare = app.add_subcommand(
      "compare", "What a path did between two capture points: loss, order, one-way delay");
  compare->add_option("NEAR", options->near, "capture of one end; - is standard input")->required();
  compare->add_option("FAR", options->far, "capture of the other end, by a clock that agrees")
      ->required();
  compare->add_flag("--json", options->json, "one JSON line");
  compare->add_option("--delay", options->delay, "one-way delay that was asked for: 1903.5us");
  compare->add_option("--loss", options->loss, "loss that was asked for: 0.1%");
  compare->add_option("--filter", options->filter,
                      "only frames that match, in libpcap's (tcpdump's) syntax");
  compare->footer(
      "Example:\n"
      "  roce-dissect compare near.pcapng far.pcapng --delay 1903.5us --loss 0.1%\n");
  compare->callback([options, &exit] { exit = run_compare(*options); });
}

}  // namespace lw::dissect
