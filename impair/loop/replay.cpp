// SPDX-License-Identifier: BSD-3-Clause
#include "impair/loop/replay.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "impair/loop/configuration.h"
#include "impair/loop/sizing.h"
#include "impair/loop/virtual_bump.h"

namespace lw::impair {
namespace {

bool same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  if (one == "-" || other == "-") return false;
  std::error_code unknown;
  if (std::filesystem::equivalent(one, other, unknown))
    return std::filesystem::is_regular_file(one, unknown);
  return std::filesystem::weakly_canonical(one, unknown) ==
             std::filesystem::weakly_canonical(other, unknown) &&
         !std::filesystem::exists(one, unknown);
}

Result<void> feed(VirtualBump& bump, ReplaySource& source) {
  while (true) {
    const auto frame = source.next();
    if (!frame) return std::unexpected(frame.error());
    if (!*frame) return {};
    if (auto taken = bump.take(**frame); !taken) return taken;
  }
}

/// No file is written over another one of the same replay, by whatever name: pairs of what it is
/// and its name. Devices and pipes may be shared.
Result<void> check_apart(const ReplayConfig& config) {
  namespace fs = std::filesystem;
  std::vector<std::pair<std::string_view, fs::path>> files = {{"IN", config.input.in}};
  if (config.input.back) files.emplace_back("--back", *config.input.back);
  const std::size_t inputs = files.size();
  files.emplace_back("OUT", config.out);
  if (config.ledger) files.emplace_back("--ledger", *config.ledger);
  if (config.capture) files.emplace_back("--capture", *config.capture);
  for (std::size_t i = inputs; i < files.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (same_file(files[i].second, files[j].second))
        return fail(fmt::format("{}: expected a file of its own for {}, found that {} is the same",
                                files[i].second.string(), files[i].first, files[j].first));
  return {};
}

Result<std::unique_ptr<LedgerFile>> open_ledger(const profile::ImpairProfile& profile,
                                                const ReplayConfig& config) {
  if (!config.ledger) return nullptr;
  return LedgerFile::create(*config.ledger, ledger_format_for(*config.ledger),
                            rule_names_of(profile), 0);
}

Result<std::unique_ptr<RecordingFile>> open_recording(
    const profile::ImpairProfile& profile, const ReplayConfig& config,
    const std::vector<capture::Interface>& interfaces) {
  if (!config.capture) return nullptr;
  const int type = interfaces.front().link_type;
  const auto other = [&](const capture::Interface& each) { return each.link_type != type; };
  if (std::ranges::any_of(interfaces, other))
    return fail(
        fmt::format("{}: frames of several link types don't go into --capture", config.input.in));
  return RecordingFile::create(*config.capture, rule_names_of(profile), 0, type);
}

/// What a frame takes is asked for as it comes, but room to note each in at the start.
Result<std::unique_ptr<VirtualBump>> make_bump(const LiveProfile::Version& version,
                                               std::span<const path::Direction> directions,
                                               LedgerFile* ledger, RecordingFile* recording,
                                               capture::Writer writer) try {
  return std::make_unique<VirtualBump>(version, directions, ledger, recording, std::move(writer));
} catch (const std::bad_alloc&) {
  return not_enough_memory(version.profile, available_memory());
} catch (const std::length_error&) {
  return not_enough_memory(version.profile, available_memory());
}

}  // namespace

Result<ReplayOutcome> replay(const LiveProfile::Version& version, const ReplayConfig& config) {
  const profile::ImpairProfile& profile = version.profile;
  if (auto apart = check_apart(config); !apart) return std::unexpected(apart.error());
  auto source = ReplaySource::open(config.input);
  if (!source) return std::unexpected(source.error());
  auto ledger = open_ledger(profile, config);
  if (!ledger) return std::unexpected(ledger.error());
  auto recording = open_recording(profile, config, source->interfaces());
  if (!recording) return std::unexpected(recording.error());
  auto writer =
      capture::Writer::create(config.out, capture::format_for(config.out), source->interfaces());
  if (!writer) return std::unexpected(writer.error());
  auto made =
      make_bump(version, source->directions(), ledger->get(), recording->get(), std::move(*writer));
  if (!made) return std::unexpected(made.error());
  const auto bump = std::move(*made);
  if (auto fed = feed(*bump, *source); !fed) return std::unexpected(fed.error());
  if (auto finished = bump->finish(); !finished) return std::unexpected(finished.error());

  ReplayOutcome outcome{
      .report = {.command = "replay", .profile = profile.name, .seed = profile.seed},
      .damage = source->damage()};
  bump->report(outcome.report);
  outcome.not_captured = source->missing();
  if (*ledger) {
    if (auto closed = (*ledger)->close(); !closed) return std::unexpected(closed.error());
    outcome.report.ledger = LedgerReport{*config.ledger, (*ledger)->records(), 0};
  }
  if (*recording) {
    if (auto closed = (*recording)->close({}); !closed) return std::unexpected(closed.error());
    outcome.report.capture = CaptureReport{*config.capture, (*recording)->frames(), 0};
  }
  return outcome;
}

}  // namespace lw::impair
