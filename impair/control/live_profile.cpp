// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/live_profile.h"

#include <fmt/format.h>

#include "impair/loop/sizing.h"

namespace lw::impair {
namespace {

/// Queues and buffers were made for `started`.
Result<void> check_fits(const profile::ImpairProfile& started, const profile::ImpairProfile& next) {
  const auto room = size_for(started).frames_per_direction;
  const auto needed = size_for(next).frames_per_direction;
  if (needed > room)
    return fail(
        fmt::format("this run has room for {} frames each way, and these delays need {}: {}", room,
                    needed, arithmetic(next)));
  if (next.capacity.largest_frame > started.capacity.largest_frame)
    return fail(fmt::format("this run's buffers hold frames of {} B, and largest_frame asks for {}",
                            started.capacity.largest_frame, next.capacity.largest_frame));
  return {};
}

}  // namespace

Result<LiveProfile::Version> LiveProfile::with(std::span<const profile::Edit> edits) const {
  Version next = now_;
  next.edits.insert(next.edits.end(), edits.begin(), edits.end());
  return read(std::move(next));
}

Result<LiveProfile::Version> LiveProfile::loaded(const std::string& file) const {
  auto text = profile::read_profile_text(file);
  if (!text) return std::unexpected(text.error());
  return read({.profile = {}, .text = std::move(*text), .name = file});
}

Result<LiveProfile::Version> LiveProfile::unedited() const {
  return read({.profile = {}, .text = now_.text, .name = now_.name});
}

Result<LiveProfile::Version> LiveProfile::read(Version version) const {
  auto profile = profile::parse_impair_profile(version.text, version.name, version.edits);
  if (!profile) return std::unexpected(profile.error());
  profile->seed = started_.seed;  // draws go on; --seed stays in force
  profile->log_all = started_.log_all;
  if (auto fits = check_fits(started_, *profile); !fits) return std::unexpected(fits.error());
  version.profile = std::move(*profile);
  return version;
}

}  // namespace lw::impair
