// SPDX-License-Identifier: BSD-3-Clause
#include "impair/loop/replay.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "impair/loop/configuration.h"
#include "impair/loop/virtual_way.h"

namespace lw::impair {
namespace {

/// A pcapng file may describe an interface anywhere, but the copy describes all of them first.
/// Standard input can't be read twice: what stands before the first frame must do.
Result<std::vector<capture::Interface>> interfaces_of(const std::string& path) {
  auto reader = capture::Reader::open(path);
  if (!reader) return std::unexpected(reader.error());
  while (true) {
    const auto record = reader->next();
    if (!record || !*record) return reader->interfaces();
  }
}

/// Feeds the whole capture; what stopped it early is the outcome's damage.
Result<std::optional<Error>> feed(VirtualWay& way, capture::Reader& reader) {
  while (true) {
    const auto record = reader.next();
    if (!record) return record.error();
    if (!*record) return std::nullopt;
    const int type = reader.interfaces()[(*record)->interface].link_type;
    const auto link = roce::link_of(type);
    if (!link)
      return fail(fmt::format("frames of link type {} can't be read", type), ExitCode::failed);
    if (auto taken = way.take(**record, *link); !taken) return std::unexpected(taken.error());
  }
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
    return fail(fmt::format("{}: frames of several link types don't go into --capture", config.in));
  return RecordingFile::create(*config.capture, rule_names_of(profile), 0, type);
}

/// All that the capture has, at least one.
Result<std::vector<capture::Interface>> all_interfaces(const capture::Reader& reader,
                                                       const ReplayConfig& config) {
  std::vector<capture::Interface> interfaces = reader.interfaces();
  if (config.in != "-") {
    auto all = interfaces_of(config.in);
    if (!all) return all;
    interfaces = std::move(*all);
  }
  if (interfaces.empty()) interfaces.emplace_back();
  return interfaces;
}

}  // namespace

Result<ReplayOutcome> replay(const LiveProfile::Version& version, const ReplayConfig& config) {
  const profile::ImpairProfile& profile = version.profile;
  auto reader = capture::Reader::open(config.in);
  if (!reader) return std::unexpected(reader.error());
  auto ledger = open_ledger(profile, config);
  if (!ledger) return std::unexpected(ledger.error());
  const auto interfaces = all_interfaces(*reader, config);
  if (!interfaces) return std::unexpected(interfaces.error());
  auto recording = open_recording(profile, config, *interfaces);
  if (!recording) return std::unexpected(recording.error());
  auto writer = capture::Writer::create(config.out, capture::format_for(config.out), *interfaces);
  if (!writer) return std::unexpected(writer.error());
  const auto run = std::make_unique<VirtualWay>(version, config.direction, ledger->get(),
                                                recording->get(), std::move(*writer));
  auto damage = feed(*run, *reader);
  if (!damage) return std::unexpected(damage.error());
  if (auto finished = run->finish(); !finished) return std::unexpected(finished.error());

  ReplayOutcome outcome{
      .report = {.command = "replay", .profile = profile.name, .seed = profile.seed},
      .damage = std::move(*damage)};
  run->report(outcome.report);
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
