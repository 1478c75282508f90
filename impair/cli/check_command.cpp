// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/core.h>

#include "core/output.h"
#include "core/quantity.h"
#include "emulator/path.h"
#include "impair/cli/commands.h"
#include "impair/cli/profile_check.h"
#include "impair/cli/profile_input.h"
#include "impair/report/rule_report.h"
#include "nic/packet_port.h"
#include "report/figures/json.h"

namespace lw::impair {
namespace {

using config::ImpairProfile;

struct CheckOptions {
  ProfileInput source;
  bool json = false;
};

void print_parts(const emulator::Path& path, emulator::Direction way) {
  print_out(fmt::format("  {:<28}{:g} km, {}\n", "fibre", length_km(path, way),
                        format_set_duration(fibre_delay(path, way))));
  for (const auto& item : path.equipment) {
    if (!covers(item.ways, way)) continue;
    print_out(fmt::format("  {:<28}{} x {} = {}\n", item.name, item.count,
                          format_set_duration(item.latency),
                          format_set_duration(item.latency * std::int64_t{item.count})));
  }
}

void print_path(const emulator::Path& path) {
  using enum emulator::Direction;
  const std::string there = format_set_duration(one_way_delay(path, west_to_east));
  const std::string round = format_set_duration(round_trip(path));
  if (symmetric(path)) {
    print_out(fmt::format("path {}: {} one way, {} there and back\n", path.name, there, round));
    return print_parts(path, west_to_east);
  }
  print_out(fmt::format(
      "path {}: {} {}, {} {}, {} there and back\n", path.name, there, name_of(west_to_east),
      format_set_duration(one_way_delay(path, east_to_west)), name_of(east_to_west), round));
  for (const auto way : {west_to_east, east_to_west}) {
    print_out(fmt::format(" {}\n", name_of(way)));
    print_parts(path, way);
  }
}

void print_flight(const ImpairProfile& profile) {
  const double rate = profile.capacity.rate_bps;
  const Duration delay = profile.longest_delay();
  print_out(fmt::format("in flight each way: {} x {} = {}\n", format_bit_rate(rate),
                        format_set_duration(delay),
                        format_bytes(emulator::bandwidth_delay_bytes(rate, delay))));
  for (const auto& line : emulator::flight_table(rate, delay)) {
    const std::string what = line.payload ? fmt::format("RoCE payload {} B", line.payload)
                                          : std::string("smallest frame");
    print_out(fmt::format("  {:<20}{:>6} B frames {:>10}\n", what, line.frame, line.frames));
  }
}

ExitCode check(const CheckOptions& options) {
  const auto text = options.source.read();
  if (!text) return print_error(text.error());
  const auto profile = config::read_impair_profile(*text, options.source.changes);
  if (!profile) return print_error(profile.error());
  if (options.json) {
    print_out(report::json_line(kCheckOutput, ProfileCheck{*profile, size_for(*profile)}));
  } else {
    if (profile->path) print_path(*profile->path);
    print_out(fmt::format("{}{}{}", rules_text(*profile), events_text(*profile),
                          scenario_text(*profile)));
    print_flight(*profile);
    const auto rings = nic::PacketPort::ring_bytes(profile->capacity.largest_frame);
    print_out(fmt::format("memory: {}\n  and {} of the kernel's for each Linux interface\n",
                          arithmetic(*profile), format_bytes(static_cast<double>(rings))));
  }
  if (auto saved = options.source.save(*text); !saved) return print_error(saved.error());
  const auto fits = check_memory(*profile, available_memory());
  return fits ? ExitCode::done : print_error(fits.error());
}

}  // namespace

app::Command check_command() {
  auto options = std::make_shared<CheckOptions>();
  app::Command command{
      .name = "check",
      .help = "Print a profile's delay, frames in flight and memory",
      .examples = R"(roce-impair check apn-380km
roce-impair check --delay 2ms --rate 10Gb/s)",
      .check = [options](const app::Given& given) { return check_input(options->source, given); },
      .run = [options] { return check(*options); },
  };
  add_profile_or_path(command.options, options->source);
  command.options.add_flag("--json", options->json, "print one JSON object");
  return command;
}

}  // namespace lw::impair
