// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/ports.h"

#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "impair/datapath/configuration.h"
#include "impair/datapath/port_io.h"

namespace lw::impair {
namespace {

PortReport report_of(std::string_view side, const nic::Port& port, const LinkLosses& losses) {
  const nic::PortStats stats = port.stats();
  return {.side = std::string(side),
          .port = port.name(),
          .received = stats.received,
          .sent = stats.sent,
          .missed = stats.missed,
          .no_buffer = stats.no_buffer,
          .errors = stats.receive_errors + stats.send_errors,
          .too_long = stats.too_long,
          .unsent_too_long = stats.unsent_too_long,
          .unsent_dropped = stats.unsent_dropped,
          .mtu = port.mtu().value_or(0),
          .link_losses = losses};
}

/// Returns the largest frame that the run can take, in bytes. If a port permits less than the
/// profile's largest_frame: an error if the profile sets largest_frame, a notice on stderr if it
/// has its default value.
Result<std::uint32_t> frame_size_for(const config::ImpairProfile& profile,
                                     std::span<const nic::PortSpec> specs) {
  std::uint32_t size = profile.capacity.largest_frame;
  for (const nic::PortSpec& spec : specs) {
    const auto limit = nic::frame_limit(spec);
    if (!limit || *limit >= size) continue;
    const std::string text = fmt::format(
        "port `{}` takes frames of at most {} B (AF_XDP: one page), largest_frame is {} B",
        spec.text, *limit, size);
    if (size != config::Capacity{}.largest_frame)
      return fail(text + "; without af_xdp the interface takes longer ones", ExitCode::environment);
    fmt::print(stderr, "{}: longer frames are lost\n", text);
    size = *limit;
  }
  return size;
}

/// Creates one arena per direction if `sizing` has arenas.
Result<std::vector<std::unique_ptr<nic::FrameArena>>> make_arenas(const Sizing& sizing,
                                                                  bool eal_memory) {
  std::vector<std::unique_ptr<nic::FrameArena>> arenas;
  if (sizing.arena_bytes == 0) return arenas;
  for (int i = 0; i < 2; ++i) {
    auto arena = nic::FrameArena::create(fmt::format("arena{}", i), sizing.arena_bytes, eal_memory);
    if (!arena) return std::unexpected(arena.error());
    arenas.push_back(std::make_unique<nic::FrameArena>(std::move(*arena)));
  }
  return arenas;
}

}  // namespace

Result<Ports> open_ports(const config::ImpairProfile& profile, const RunConfig& config) {
  const Sizing sizing = size_for(profile);
  const std::vector<nic::PortSpec> specs = {config.west, config.east};
  const bool in_eal = needs_eal_memory(config.west) || needs_eal_memory(config.east);
  const std::uint64_t eal_bytes =
      (in_eal ? sizing.buffer_bytes + 2 * sizing.arena_bytes : 0) + sizing.buffers * 16ULL;
  nic::EalConfig eal_config{.ports = specs,
                            .cores = {},
                            .memory_mib = static_cast<std::uint32_t>(64 + (eal_bytes >> 20)),
                            .verbose = config.verbose,
                            .telemetry = config.telemetry,
                            .file_prefix = config.file_prefix};
  if (config.core) eal_config.cores = {*config.core};
  auto eal = nic::Eal::start(eal_config);
  if (!eal) return std::unexpected(eal.error());
  if (!MbufAccess::register_transit())
    return fail("DPDK's buffers have no space left for the state of a frame (a dynamic field)",
                ExitCode::environment);
  auto frame_size = frame_size_for(profile, specs);
  if (!frame_size) return std::unexpected(frame_size.error());
  auto pool = nic::Pool::create(
      "frames", {.buffers = sizing.buffers, .frame_size = *frame_size, .eal_memory = in_eal});
  if (!pool) return std::unexpected(pool.error());
  auto arenas = make_arenas(sizing, in_eal);
  if (!arenas) return std::unexpected(arenas.error());
  constexpr nic::PortConfig kPort{.stamp_arrivals = true};
  auto west = nic::Port::open(*eal, config.west, *pool, kPort);
  if (!west) return std::unexpected(west.error());
  auto east = nic::Port::open(*eal, config.east, *pool, kPort);
  if (!east) return std::unexpected(east.error());
  return Ports{std::move(*eal),  std::move(*pool), std::move(*arenas),
               std::move(*west), std::move(*east), !in_eal};
}

std::vector<PortReport> port_reports(const Ports& ports, const std::array<LinkLosses, 2>& losses,
                                     const OwnLossTimes& times) {
  std::vector<PortReport> reports = {report_of("west", ports.west, losses[0]),
                                     report_of("east", ports.east, losses[1])};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    reports[i].unseen_times = times.unseen[i];
    reports[i].unsent_times = times.unsent[i];
  }
  return reports;
}

void sample_losses(OwnLossTimes& times, const Ports& ports, Duration now) {
  const std::array reports = {report_of("west", ports.west, {}), report_of("east", ports.east, {})};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    times.unseen[i].sample(reports[i].unseen(), now);
    times.unsent[i].sample(reports[i].unsent(), now);
  }
}

const FigureTable& PortReport::figures() {
  using Row = FigureOf<PortReport>;
  static constexpr std::string_view kSides[] = {"west", "east"};
  static constexpr Figure kRows[] = {
      Row::of<&PortReport::side>("side", "Side of the port.").among(kSides),
      Row::of<&PortReport::port>("port", "The port, as given."),
      Row::of<&PortReport::received>("received", "Frames received.", Unit::frames),
      Row::of<&PortReport::sent>("sent", "Frames sent.", Unit::frames),
      Row::of<&PortReport::missed>(
          "missed", "Frames that the device dropped because they were not taken in time.",
          Unit::frames),
      Row::of<&PortReport::no_buffer>("no_buffer", "Frames dropped for lack of a receive buffer.",
                                      Unit::frames),
      Row::of<&PortReport::errors>("errors", "Frames received with an error.", Unit::frames),
      Row::of<&PortReport::too_long>("too_long", "Frames longer than a buffer.", Unit::frames),
      Row::of<&PortReport::unsent_too_long>("unsent_too_long",
                                            "Frames too long for the egress port.", Unit::frames),
      Row::of<&PortReport::unsent_dropped>("unsent_dropped", "Frames that the egress port dropped.",
                                           Unit::frames),
      Row::of<[](const PortReport& port) { return port.link_losses.count; }>(
          "link_losses", "Times that the link was lost."),
      Row::of<[](const PortReport& port) { return port.link_losses.time; }>(
          "without_link_ns", "Time without a link.", Unit::ns)};
  static constexpr FigureTable kTable{"A port of a run.", kRows};
  return kTable;
}

}  // namespace lw::impair
