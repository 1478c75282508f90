// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/path_options.h"

#include <fmt/format.h>

#include "core/quantity.h"
#include "emulator/path.h"

namespace lw::config {
namespace {

Duration one_way(const PathOptions& options) {
  if (options.delay) return *options.delay;
  const emulator::Path fibre{.spans = {{.km = options.km.value_or(0)}}};
  return emulator::one_way_delay(fibre, emulator::Direction::west_to_east);
}

Result<void> check(const PathOptions& options) {
  if (options.km && options.delay)
    return fail("expected --distance or --delay, found both: a distance is a delay");
  if (options.buffer && !options.rate_bps)
    return fail("--buffer: expected --rate beside it, whose queue has the buffer");
  if (options.jitter && *options.jitter > one_way(options))
    return fail(fmt::format(
        "--jitter: expected at most the delay, {}, found {}: no frame leaves before it arrived",
        format_set_duration(one_way(options)), format_set_duration(*options.jitter)));
  if (options.jitter && options.jitter->count() == 0)
    return fail("--jitter: expected a time above 0, found 0");
  return {};
}

}  // namespace

std::string words_of(const PathOptions& options) {
  std::string words;
  const auto add = [&words](std::string_view name, const auto& value, auto word_of) {
    if (!value) return;
    std::string word = word_of(*value);
    std::erase(word, ' ');
    words += fmt::format("{}--{} {}", words.empty() ? "" : " ", name, word);
  };
  add("distance", options.km, [](double km) { return fmt::format("{}km", km); });
  add("delay", options.delay, format_duration);
  add("jitter", options.jitter, format_duration);
  add("loss", options.loss, [](double loss) { return fmt::format("{:g}%", loss * 100); });
  add("rate", options.rate_bps, format_bit_rate);
  add("buffer", options.buffer, [](std::uint64_t bytes) { return fmt::format("{}B", bytes); });
  return words + (options.all_frames ? " --all-frames" : "");
}

Result<std::string> profile_of(const PathOptions& options) {
  if (auto checked = check(options); !checked) return std::unexpected(checked.error());
  std::string text = fmt::format("# A path, made from: {}\n", words_of(options));
  if (options.km)
    text += fmt::format(
        "\n# Fibre alone: transponders, ROADMs and amplifiers are added as [[path.equipment]].\n"
        "[path]\nname = \"{0} km of fibre\"\n\n[[path.span]]\nlength = \"{0}km\"\n",
        *options.km);
  text += fmt::format("\n[[rule]]\nname = \"path\"\nmatch = \"{}\"\n",
                      options.all_frames ? "all" : "rocev2");
  if (options.loss) text += fmt::format("loss = \"{:.15g}%\"\n", *options.loss * 100);
  if (options.buffer)
    text += fmt::format("queue = {{ rate = \"{}b/s\", buffer = \"{}B\" }}\n", *options.rate_bps,
                        *options.buffer);
  else if (options.rate_bps)
    text += fmt::format("queue = \"{}b/s\"\n", *options.rate_bps);
  if (options.km) text += "delay = \"path\"\n";
  if (options.delay) text += fmt::format("delay = \"{}ns\"\n", options.delay->count());
  if (options.jitter) text += fmt::format("jitter = \"{}ns\"\n", options.jitter->count());
  // What leaves the queues comes at their rate, so less is in flight.
  if (options.rate_bps) text += fmt::format("\n[capacity]\nrate = \"{}b/s\"\n", *options.rate_bps);
  return text;
}

}  // namespace lw::config
