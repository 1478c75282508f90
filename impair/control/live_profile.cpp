// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/live_profile.h"

#include <fmt/format.h>

#include "core/quantity.h"
#include "impair/datapath/configuration.h"

namespace lw::impair {
namespace {

// Without new edits, only a file that a stage names can be wrong: it has changed. Its text is not
// shown, as a remote client may have asked.
constexpr auto kHidden = config::Diagnostics::Texts::hidden_in_files;

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

Result<LiveProfile::Version> LiveProfile::load(const config::ProfileText& text,
                                               std::optional<std::uint64_t> seed,
                                               std::span<const std::string> changes) {
  auto edits = config::rule_edits(text.text, text.name, changes);
  if (!edits) return std::unexpected(edits.error());
  auto version = parse(text.text, {text.name}, std::move(*edits));
  if (version && seed) version->profile.seed = *seed;
  return version;
}

Result<LiveProfile::Version> LiveProfile::parse(std::string_view text, config::FileName name,
                                                std::vector<config::Edit> edits,
                                                const std::stop_token& stop) {
  auto reading = config::ProfileSource::read(text, std::move(name), edits, stop);
  if (!reading) return std::unexpected(reading.error());
  return Version{.profile = std::move(reading->profile),
                 .source = std::move(reading->source),
                 .edits = std::move(edits)};
}

LiveProfile::LiveProfile(Version started)
    : started_{.capacity = started.profile.capacity,
               .seed = started.profile.seed,
               .log_all = started.profile.log_all,
               .frames_per_direction = size_for(started.profile).frames_per_direction,
               .longest_delay = started.profile.longest_delay()} {
  started.profile.scenario.clear();
  keep(std::move(started));
}

Result<LiveProfile::Version> LiveProfile::with(std::span<const config::Edit> edits) const {
  std::vector<config::Edit> all = now_->edits;
  add_edits(all, edits);
  return read(now_->source, std::move(all), config::Diagnostics::Texts::shown);
}

Result<std::vector<config::ScenarioStep>> LiveProfile::on_command(
    const config::ControlCommand& command, const std::stop_token& stop) const {
  auto steps = now_->source->steps_on_command(now_->edits, command, stop);
  if (!steps) return steps;
  LiveProfile ahead = *this;
  for (const config::ScenarioStep& step : *steps) {
    if (stop.stop_requested()) return fail("the check of the command was given up");
    if (step.edits.empty()) continue;
    auto next = ahead.stepped(step);
    if (!next) return std::unexpected(next.error());
    ahead.keep(std::move(*next));
  }
  return steps;
}

Result<LiveProfile::Version> LiveProfile::loaded(const config::FileName& file,
                                                 const std::stop_token& stop) const {
  const std::string path = file.only ? config::beside(now_->source->name(), file) : file.text;
  const auto text = config::read_profile_text(path, file.only);
  if (!text) return std::unexpected(text.error());
  auto version = parse(*text, {path, file.only}, {}, stop);
  return version ? fitted(std::move(*version)) : version;
}

Result<LiveProfile::Version> LiveProfile::unedited() const {
  std::vector<config::Edit> edits = now_->edits;
  std::erase_if(edits, [](const config::Edit& edit) { return !edit.of_scenario; });
  return read(now_->source, std::move(edits), kHidden);
}

Result<LiveProfile::Version> LiveProfile::back_to(const Point& point) const {
  std::vector<config::Edit> edits = point.edits;
  if (now_->source == point.source) {
    edits = now_->edits;
    std::erase_if(edits, [](const config::Edit& edit) { return !edit.of_scenario; });
    for (const config::Edit& edit : point.edits)
      if (!edit.of_scenario) edits.push_back(edit);
  }
  return read(point.source, std::move(edits), kHidden);
}

std::vector<config::KeyChange> LiveProfile::differences(const Version& next) const {
  auto changes = config::differences(*now_->profile.keys, *next.profile.keys);
  const std::string &was = now_->source->name(), &is = next.source->name();
  if (was != is) changes.insert(changes.begin(), {"", "", "file", was, is});
  return changes;
}

Result<LiveProfile::Version> LiveProfile::read(std::shared_ptr<const config::ProfileSource> source,
                                               std::vector<config::Edit> edits,
                                               config::Diagnostics::Texts texts) const {
  auto profile = source->with(edits, texts);
  if (!profile) return std::unexpected(profile.error());
  return fitted({std::move(*profile), std::move(source), std::move(edits)});
}

/// Gives a version what the run has and keeps. Error: the run has no room for it.
Result<LiveProfile::Version> LiveProfile::fitted(Version version) const {
  config::ImpairProfile& profile = version.profile;
  profile.seed = started_.seed;  // draws keep their seed, also one of --seed
  profile.log_all = started_.log_all;
  // Buffers were sized at the start. The rate of another path does not bring more frames.
  profile.capacity.rate_bps = started_.capacity.rate_bps;
  profile.capacity.smallest_frame = started_.capacity.smallest_frame;
  profile.capacity.reserve = {};  // the reserve may be used
  if (auto fits = check_fits(profile); !fits) return std::unexpected(fits.error());
  return version;
}

/// Checks that `next` fits the buffers and release queues of the run, and that there is memory for
/// its rules' queues, which each version allocates.
Result<void> LiveProfile::check_fits(const config::ImpairProfile& next) const {
  const std::uint64_t room = started_.frames_per_direction;
  const auto needed = size_for(next).frames_per_direction;
  if (needed > room)
    return fail(
        fmt::format("this run has room for {} frames each way, and these delays need {}: {}. "
                    "[capacity] reserve = \"{}\" in the profile that a run starts with makes room",
                    room, needed, arithmetic(next),
                    format_set_duration(next.longest_delay() - started_.longest_delay)));
  if (next.capacity.largest_frame > started_.capacity.largest_frame)
    return fail(fmt::format("this run's buffers hold frames of {} B, and largest_frame asks for {}",
                            started_.capacity.largest_frame, next.capacity.largest_frame));
  const std::uint64_t queues = stage_bytes(next), available = available_memory();
  if (available > 0 && queues > available)
    return fail(fmt::format("not enough memory: the rules' queues take {}, and {} is available",
                            format_bytes(static_cast<double>(queues)),
                            format_bytes(static_cast<double>(available))),
                ExitCode::environment);
  return {};
}

}  // namespace lw::impair
