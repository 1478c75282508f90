// SPDX-License-Identifier: BSD-3-Clause
#include "impair/cli/profile_input.h"

#include <cstdio>

#include <fmt/core.h>

#include "app/option_groups.h"
#include "app/profile_note.h"
#include "config/impair/profile.h"
#include "config/toml/profile_search.h"
#include "core/output.h"
#include "core/quantity.h"
#include "emulator/path.h"

namespace lw::impair {
namespace {

constexpr const char* kPath = app::kPathHeading;

/// What a distance leaves out, with a measured path beside it.
std::string fibre_note(double km) {
  const emulator::Path fibre{.spans = {{.km = km}}};
  return fmt::format(
      "{:g} km of bare fibre: {} one way; equipment adds to it: that of the path apn-380km adds "
      "42.5 us\n",
      km, format_set_duration(one_way_delay(fibre, emulator::Direction::west_to_east)));
}

void add_profile_words(app::Options& list, ProfileInput& input, bool required) {
  app::Option& profile = list.add(
      "PROFILE", app::profile(input.profile, {config::kImpairProfiles, config::kPathProfiles}), "",
      "impair profile; - for standard input");
  if (required) profile.required();
  list.add("--set", app::repeated(input.changes), "KEY=VALUE",
           "change a key of a rule: RULE.KEY=VALUE, for example 'long haul.loss=0.5%'; an empty "
           "value removes the key");
}

}  // namespace

std::string ProfileInput::title() const {
  return profile.empty() ? config::words_of(path) : profile;
}

Result<config::ProfileText> ProfileInput::read() const {
  if (!profile.empty()) return config::find_impair_profile(profile);
  auto text = config::profile_of(path);
  if (!text) return std::unexpected(text.error());
  if (path.km) fmt::print(stderr, "{}", fibre_note(*path.km));
  config::ProfileText made{.name = "<options>", .text = std::move(*text)};
  config::keep_profile_text(made);
  return made;
}

void ProfileInput::say(const config::ImpairProfile& found) const {
  app::say_profile(profile, {config::kImpairProfiles, config::kPathProfiles},
                   config::words_of(found));
}

Result<void> ProfileInput::save(const config::ProfileText& text) const {
  return saved ? write_file(*saved, text.text) : Result<void>();
}

void add_profile(app::Options& list, ProfileInput& input) { add_profile_words(list, input, true); }

void add_profile_or_path(app::Options& list, ProfileInput& input) {
  add_profile_words(list, input, false);
  list.begin_group(kPath);
  list.add("--distance", app::parsed(parse_kilometres, input.path.km), "LENGTH",
           "length of bare fibre, whose delay each direction gets: 380km");
  list.add("--delay", app::parsed(parse_duration, input.path.delay), "TIME",
           "delay in each direction: 2ms");
  list.add("--jitter", app::parsed(parse_duration, input.path.jitter), "TIME",
           "the delay differs by at most this, evenly, and frames keep their order: 10us");
  list.add("--loss", app::parsed(parse_probability, input.path.loss), "SHARE",
           "independent loss in each direction: 0.1%, 1e-4");
  list.add("--rate", app::parsed(parse_bit_rate, input.path.rate_bps), "RATE",
           "rate of a queue in each direction: 10Gb/s");
  list.add("--buffer", app::parsed(parse_bytes, input.path.buffer), "SIZE",
           "room in each of these queues: 16MB")
      .defaults_to("what RATE carries in one round trip, at least 150kB");
  list.add_flag("--all-frames", input.path.all_frames, "act on every frame, not on RoCEv2 only");
  list.add("--save", app::text(input.saved), "FILE", "write the path as a profile");
  list.begin_group("");
}

Result<void> check_input(const ProfileInput& input, const app::Given& given) {
  const std::string option = given.first_of(kPath);
  if (!input.profile.empty())
    return option.empty() ? Result<void>()
                          : fail(fmt::format("{}: expected no PROFILE beside it, found {}; keys of "
                                             "a profile are changed by --set",
                                             option, input.profile));
  if (input.path.given()) return {};
  return fail(option.empty()
                  ? std::string("expected PROFILE, or a path: --distance, --delay, --loss, --rate")
                  : option + ": expected --distance, --delay, --loss or --rate beside it");
}

}  // namespace lw::impair
