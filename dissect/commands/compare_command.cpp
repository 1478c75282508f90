// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/output.h"
#include "core/quantity.h"
#include "dissect/commands/commands.h"
#include "dissect/compare/compare_format.h"

namespace lw::dissect {
namespace {

struct CompareOptions {
  std::string near, far, filter;
  Asked asked;
  std::size_t most_flows = kMostFlows;
  bool json = false;
};

ExitCode damage_exit(const CapturePoint& point) {
  return point.damage ? print_error(*point.damage) : ExitCode::done;
}

ExitCode run_compare(const CompareOptions& options) {
  FlowNames flows(options.most_flows);
  const auto near = read_point(options.near, options.filter, flows);
  if (!near) return print_error(near.error());
  const auto far = read_point(options.far, options.filter, flows);
  if (!far) return print_error(far.error());
  const Comparison comparison = compare_points(*near, *far, flows);
  print_out(options.json ? comparison_json(*near, *far, comparison, options.asked)
                         : comparison_text(*near, *far, comparison, options.asked));
  return std::max(damage_exit(*near), damage_exit(*far));
}

}  // namespace

app::Command compare_command() {
  auto options = std::make_shared<CompareOptions>();
  app::Command command{
      .name = "compare",
      .help = "Compare two capture points of a path: loss, order, one-way delay",
      .examples = "roce-dissect compare near.pcapng far.pcapng --delay 1903.5us --loss 0.1%",
      .run = [options] { return run_compare(*options); },
  };
  app::Options& list = command.options;
  list.add("NEAR", app::text(options->near), "", "capture of one end; - for standard input")
      .required();
  list.add("FAR", app::text(options->far), "", "capture of the other end, by a synchronized clock")
      .required();
  list.add_flag("--json", options->json, "one line of JSON");
  list.add("--delay", app::parsed(parse_duration, options->asked.delay), "TIME",
           "configured one-way delay: 1903.5us");
  list.add("--loss", app::parsed(parse_probability, options->asked.loss), "SHARE",
           "configured loss: 0.1%");
  add_flow_limit(list, options->most_flows);
  list.add("--filter", app::text(options->filter), "FILTER",
           "only matching frames, in libpcap's (tcpdump's) syntax");
  return command;
}

}  // namespace lw::dissect
