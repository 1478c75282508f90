// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/live_profile.h"

#include <fmt/format.h>

#include "config/toml/profile_search.h"
#include "core/quantity.h"
#include "impair/datapath/configuration.h"

namespace lw::impair {
namespace {

/// Checks that `next` fits the buffers and release queues, which have the size that `started`
/// needs, and that there is memory for its rules' queues, which each version allocates.
Result<void> check_fits(const config::ImpairProfile& started, const config::ImpairProfile& next) {
  const auto room = size_for(started).frames_per_direction;
  const auto needed = size_for(next).frames_per_direction;
  if (needed > room)
    return fail(
        fmt::format("this run has room for {} frames each way, and these delays need {}: {}. "
                    "[capacity] reserve = \"{}\" in the profile that a run starts with makes room",
                    room, needed, arithmetic(next),
                    format_duration(next.longest_delay() - started.longest_delay())));
  if (next.capacity.largest_frame > started.capacity.largest_frame)
    return fail(fmt::format("this run's buffers hold frames of {} B, and largest_frame asks for {}",
                            started.capacity.largest_frame, next.capacity.largest_frame));
  const std::uint64_t queues = stage_bytes(next), available = available_memory();
  if (available > 0 && queues > available)
    return fail(fmt::format("not enough memory: the rules' queues take {}, and {} is available",
                            format_bytes(static_cast<double>(queues)),
                            format_bytes(static_cast<double>(available))),
                ExitCode::environment);
  return {};
}

/// Adds edits. An edit replaces an older one of the same key and the same origin.
void add_edits(std::vector<config::Edit>& edits, std::span<const config::Edit> more) {
  for (const config::Edit& edit : more) {
    std::erase_if(edits, [&](const config::Edit& old) {
      return old.same_target(edit) && old.of_scenario == edit.of_scenario;
    });
    edits.push_back(edit);
  }
}

}  // namespace

Result<LiveProfile::Version> LiveProfile::load(const std::string& file,
                                               std::optional<std::uint64_t> seed,
                                               std::span<const std::string> changes) {
  const auto found = config::find_profile(file, {config::kImpairProfiles, config::kPathProfiles});
  if (!found) return std::unexpected(found.error());
  auto text = config::read_profile_text(*found);
  if (!text) return std::unexpected(text.error());
  Version version{
      .profile = {}, .text = std::move(*text), .name = file == "-" ? "<stdin>" : *found};
  auto edits = config::rule_edits(version.text, version.name, changes);
  if (!edits) return std::unexpected(edits.error());
  version.edits = std::move(*edits);
  auto profile = config::parse_impair_profile(version.text, version.name, version.edits);
  if (!profile) return std::unexpected(profile.error());
  version.profile = std::move(*profile);
  if (seed) version.profile.seed = *seed;
  return version;
}

Result<LiveProfile::Version> LiveProfile::with(std::span<const config::Edit> edits) const {
  Version next = now_;
  add_edits(next.edits, edits);
  return read(std::move(next));
}

Result<LiveProfile::Version> LiveProfile::stepped(const config::ScenarioStep& step) const {
  Version next = now_;
  add_edits(next.edits, step.edits);
  auto profile = config::parse_static_profile(next.text, next.name, next.edits);
  return finish(std::move(next), std::move(profile));
}

Result<std::vector<config::ScenarioStep>> LiveProfile::on_command(
    const config::Command& command) const {
  auto steps = config::steps_on_command(now_.text, now_.name, now_.edits, command);
  if (!steps) return steps;
  LiveProfile ahead = *this;
  for (const config::ScenarioStep& step : *steps) {
    auto next = ahead.stepped(step);
    if (!next) return std::unexpected(next.error());
    ahead.keep(std::move(*next));
  }
  return steps;
}

Result<LiveProfile::Version> LiveProfile::loaded(const std::string& file) const {
  auto text = config::read_profile_text(file);
  if (!text) return std::unexpected(text.error());
  return read({.profile = {}, .text = std::move(*text), .name = file});
}

Result<LiveProfile::Version> LiveProfile::unedited() const {
  Version next{.profile = {}, .text = now_.text, .name = now_.name, .edits = now_.edits};
  std::erase_if(next.edits, [](const config::Edit& edit) { return !edit.of_scenario; });
  return read(std::move(next));
}

LiveProfile::Point LiveProfile::point() const {
  return {.text = now_.text, .name = now_.name, .edits = now_.edits};
}

Result<LiveProfile::Version> LiveProfile::back_to(const Point& point) const {
  Version next{.profile = {}, .text = point.text, .name = point.name, .edits = point.edits};
  if (now_.text == point.text && now_.name == point.name) {
    next.edits = now_.edits;
    std::erase_if(next.edits, [](const config::Edit& edit) { return !edit.of_scenario; });
    for (const config::Edit& edit : point.edits)
      if (!edit.of_scenario) next.edits.push_back(edit);
  }
  return read(std::move(next));
}

Result<LiveProfile::Version> LiveProfile::read(Version version) const {
  auto profile = config::parse_impair_profile(version.text, version.name, version.edits);
  return finish(std::move(version), std::move(profile));
}

Result<LiveProfile::Version> LiveProfile::finish(Version version,
                                                 Result<config::ImpairProfile> profile) const {
  if (!profile) return std::unexpected(profile.error());
  profile->seed = started_.seed;  // draws keep their seed, also one of --seed
  profile->log_all = started_.log_all;
  // Buffers were sized at the start. The rate of another path does not bring more frames.
  profile->capacity.rate_bps = started_.capacity.rate_bps;
  profile->capacity.smallest_frame = started_.capacity.smallest_frame;
  profile->capacity.reserve = {};  // the reserve may be used
  if (auto fits = check_fits(started_, *profile); !fits) return std::unexpected(fits.error());
  version.profile = std::move(*profile);
  return version;
}

}  // namespace lw::impair
