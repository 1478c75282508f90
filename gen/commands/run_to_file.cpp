// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "gen/commands/run_command.h"
#include "gen/tx/capture_run.h"

namespace lw::gen {
namespace {

/// A file doesn't stop by itself: a flow without an end needs a limit.
Result<void> check_it_ends(const config::FlowProfile& profile, const RunOptions& options) {
  const bool limited = options.limits.duration || options.limits.count != Limits{}.count;
  const auto endless = std::ranges::find_if(
      profile.flows, [](const config::Flow& flow) { return !flow.repeat && !flow.stop_after; });
  if (limited || endless == profile.flows.end()) return {};
  return fail(
      fmt::format("flow \"{}\" repeats forever: a run into a file needs its stop_after, --count or "
                  "--duration as well",
                  endless->name));
}

/// A file has nobody to ask.
Result<void> check_next_hops(const config::FlowProfile& profile) {
  const auto asks = std::ranges::find_if(profile.flows, &config::Flow::resolve_mac);
  if (asks == profile.flows.end()) return {};
  return fail(
      fmt::format("flow \"{}\" asks the network for its destination_mac (\"arp\"): a run "
                  "into a file needs the address itself, or --port",
                  asks->name));
}

}  // namespace

Result<RunReport> run_to_file(const config::FlowProfile& profile, const RunOptions& options) {
  if (const auto ends = check_it_ends(profile, options); !ends) {
    return std::unexpected(ends.error());
  }
  if (const auto known = check_next_hops(profile); !known) return std::unexpected(known.error());
  auto writer = capture::Writer::create(options.pcap, capture::format_for(options.pcap));
  if (!writer) return std::unexpected(writer.error());
  TxScheduler scheduler(profile, options.seed);
  auto report = run_into_capture(profile, scheduler, *writer, options.limits);
  if (!report) return report;
  if (const auto closed = writer->close(); !closed) return std::unexpected(closed.error());
  return report;
}

}  // namespace lw::gen
