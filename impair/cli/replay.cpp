// SPDX-License-Identifier: BSD-3-Clause
#include "impair/cli/replay.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/names.h"
#include "impair/control/replay_runner.h"
#include "impair/datapath/sizing.h"

namespace lw::impair {
namespace {

constexpr std::uint64_t kLeastRoom = 1024, kBeyondAllMemory = std::uint64_t{1} << 40;  // frames

bool same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  if (one == "-" || other == "-") return false;
  std::error_code unknown;
  if (std::filesystem::equivalent(one, other, unknown))
    return std::filesystem::is_regular_file(one, unknown);
  return std::filesystem::weakly_canonical(one, unknown) ==
             std::filesystem::weakly_canonical(other, unknown) &&
         !std::filesystem::exists(one, unknown);
}

Result<void> feed(ReplayRunner& runner, ReplaySource& source) {
  while (true) {
    const auto frame = source.next();
    if (!frame) return std::unexpected(frame.error());
    if (!*frame) return {};
    if (auto taken = runner.take(**frame); !taken) return taken;
  }
}

/// Before any file is opened, as that empties it: outputs have names that they can be written by,
/// and none is written over another file of the same replay, by whatever name. Devices and pipes
/// may be shared.
Result<void> check_files(const ReplayConfig& config) {
  namespace fs = std::filesystem;
  if (auto plain = check_plain_name(config.out); !plain) return plain;
  if (auto plain = check_plain_name(config.ledger.value_or("-")); !plain) return plain;
  if (config.capture)
    if (auto named = RecordingFile::check_name(*config.capture); !named) return named;
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

/// How many copies can be made of a frame.
std::uint64_t most_copies(const config::ImpairProfile& profile) {
  std::uint64_t copies = profile.scenario.empty() ? 0 : emulator::Duplicate::kMostCopies;
  for (const auto& rule : profile.rules)
    if (rule.duplicate) copies = emulator::Duplicate::kMostCopies;
  return copies + profile.events.size();
}

/// The room that the profile asks for, or less where there are too few frames to fill it: what is
/// refused for want of room is the same. An error: more memory than there is.
Result<emulator::LinkConfig> link_for(const config::ImpairProfile& profile,
                                      const ReplaySource& source) {
  emulator::LinkConfig link = link_config(profile);
  if (const auto frames = source.most_frames())
    link.capacity = std::min<std::size_t>(
        link.capacity, std::max(kLeastRoom, *frames * (1 + most_copies(profile))));
  const std::uint64_t available = available_memory();
  if (link.capacity > kBeyondAllMemory) return not_enough_memory(profile, available);
  const std::uint64_t needed =
      source.directions().size() * emulator::ReleaseQueue<StoredFrame*, StoreAccess>::bytes_needed(
                                       emulator::Pipeline::kMostFifos, link.capacity);
  if (available == 0 || needed <= available) return link;
  return not_enough_memory(profile, available);
}

Result<std::unique_ptr<LedgerFile>> open_ledger(const config::ImpairProfile& profile,
                                                const ReplayConfig& config) {
  if (!config.ledger) return nullptr;
  return LedgerFile::create(*config.ledger, ledger_format_for(*config.ledger),
                            rule_names_of(profile), 0);
}

Result<std::unique_ptr<RecordingFile>> open_recording(
    const config::ImpairProfile& profile, const ReplayConfig& config,
    const std::vector<capture::Interface>& interfaces) {
  if (!config.capture) return nullptr;
  const int type = interfaces.front().link_type;
  const auto other = [&](const capture::Interface& each) { return each.link_type != type; };
  if (std::ranges::any_of(interfaces, other))
    return fail(
        fmt::format("{}: frames of several link types don't go into --capture", config.input.in));
  return RecordingFile::create(*config.capture, rule_names_of(profile), 0, type);
}

}  // namespace

Result<ReplayOutcome> replay(const LiveProfile::Version& version, const ReplayConfig& config) {
  const config::ImpairProfile& profile = version.profile;
  if (auto sound = check_files(config); !sound) return std::unexpected(sound.error());
  auto source = ReplaySource::open(config.input);
  if (!source) return std::unexpected(source.error());
  const auto link = link_for(profile, *source);
  if (!link) return std::unexpected(link.error());
  auto ledger = open_ledger(profile, config);
  if (!ledger) return std::unexpected(ledger.error());
  auto recording = open_recording(profile, config, source->interfaces());
  if (!recording) return std::unexpected(recording.error());
  auto writer =
      capture::Writer::create(config.out, capture::format_for(config.out), source->interfaces());
  if (!writer) return std::unexpected(writer.error());
  const auto runner = std::make_unique<ReplayRunner>(
      version, *link, source->directions(), ledger->get(), recording->get(), std::move(*writer));
  if (auto fed = feed(*runner, *source); !fed) return std::unexpected(fed.error());
  if (auto finished = runner->finish(); !finished) return std::unexpected(finished.error());

  ReplayOutcome outcome{
      .report = {.command = "replay", .profile = profile.name, .seed = profile.seed},
      .damage = source->damage()};
  runner->report(outcome.report);
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
