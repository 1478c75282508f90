// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/netem.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <fmt/core.h>

#include "config/impair/netem_parameters.h"
#include "config/impair/profile.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "emulator/path.h"
#include "emulator/random/correlated_draw.h"
#include "emulator/stage_keys.h"
#include "emulator/stages/limit.h"
#include "emulator/stages/reorder.h"
#include "emulator/stages/slot.h"

namespace lw::config {
namespace {

/// Returns ", correlation = "25%"", or nothing for 0.
std::string correlation_key(double correlation) {
  return correlation > 0 ? fmt::format(", correlation = \"{}%\"", correlation) : std::string();
}

/// Returns the key reorder: netem sends a share of the packets at once, of those that come at least
/// `gap` after the last one (sch_netem.c).
std::string reorder_line(NetemParameters& all) {
  if (!all.reorder || *all.reorder == 0) return {};
  if (all.rate)
    all.differences.push_back(
        "netem sends a reordered packet ahead of those that wait for the rate, too; here it waits "
        "for the link, and leaves without the delay.");
  const std::string gap = all.gap.value_or(1) > 1 ? fmt::format(", gap = {}", *all.gap) : "";
  return fmt::format("reorder = {{ fraction = \"{}%\", ahead = true{}{} }}\n", *all.reorder, gap,
                     correlation_key(all.reorder_correlation));
}

/// Returns "90ms": in the largest unit in which the number is whole.
std::string time_text(double ns) {
  const std::int64_t whole = std::llround(ns);
  if (whole % 1'000'000 == 0) return fmt::format("{}ms", whole / 1'000'000);
  if (whole % 1'000 == 0) return fmt::format("{}us", whole / 1'000);
  return fmt::format("{}ns", whole);
}

/// Returns the keys of a distribution around `mean_ns`; uniform if it has no name.
std::string distribution_keys(std::string_view name, double mean_ns, double deviation_ns,
                              const std::string& folder) {
  if (name.empty() || name == "uniform")
    return fmt::format("distribution = \"uniform\", low = \"{}\", high = \"{}\"",
                       time_text(mean_ns - deviation_ns), time_text(mean_ns + deviation_ns));
  const std::string about =
      fmt::format("mean = \"{}\", deviation = \"{}\"", time_text(mean_ns), time_text(deviation_ns));
  if (name == "normal") return "distribution = \"normal\", " + about;
  return fmt::format("distribution = \"netem\", file = \"{}/{}.dist\", {}", folder, name, about);
}

/// Returns the key slot.
std::string slot_line(NetemParameters& all, const NetemSetting& setting) {
  if (all.slot_max_ns == 0) return {};
  if (all.delay_ns > 0)
    all.differences.push_back(
        "netem's slots are behind the delay, here in front of it; the first slot after a pause "
        "may begin while netem still delays the packet.");
  std::string limits;
  if (all.slot_packets > 0) limits = fmt::format(", frames = {}", all.slot_packets);
  if (all.slot_bytes > 0) limits += fmt::format(", bytes = \"{}B\"", all.slot_bytes);
  if (!all.slot_distribution.empty())
    return fmt::format("slot = {{ {}{} }}\n",
                       distribution_keys(all.slot_distribution, all.slot_min_ns, all.slot_max_ns,
                                         setting.distributions),
                       limits);
  return fmt::format("slot = {{ min = \"{}\", max = \"{}\"{} }}\n", time_text(all.slot_min_ns),
                     time_text(all.slot_max_ns), limits);
}

/// Returns the keys delay, jitter and order. netem sends each packet at its own time, so a later
/// packet may overtake an earlier one; with a rate, each follows the one before it.
std::string delay_lines(NetemParameters& all, const NetemSetting& setting) {
  if (all.delay_ns == 0 && all.jitter_ns == 0) return {};
  if (all.jitter_ns == 0) return fmt::format("delay = \"{}\"\n", time_text(all.delay_ns));
  // What is drawn may be below 0. A sum below 0 is no delay, here as in netem.
  const bool uniform = all.distribution.empty() || all.distribution == "uniform";
  const double constant = uniform ? std::max(0.0, all.delay_ns - all.jitter_ns) : all.delay_ns;
  const std::string lines = fmt::format("delay = \"{}\"\njitter = {{ {} }}\n", time_text(constant),
                                        distribution_keys(all.distribution, all.delay_ns - constant,
                                                          all.jitter_ns, setting.distributions));
  if (!all.rate) return lines + "order = \"free\"  # netem lets packets overtake each other\n";
  all.differences.push_back(
      "With a rate, netem delays a packet before it takes its turn on the link; here it waits for "
      "the link first, and is delayed behind it. Both keep the order.");
  return lines;
}

/// Returns the keys loss, mark and duplicate. netem sends a packet once that is both lost and
/// duplicated, and a copy may be lost on its own.
std::string loss_lines(NetemParameters& all) {
  const bool both = all.duplicate.value_or(0) > 0 && all.independent_loss.value_or(0) > 0 &&
                    !all.ecn && all.loss_correlation + all.duplicate_correlation > 0;
  // Of independent draws, where both are there: the share that correlated ones come to.
  const auto share_of = [both](double percent, double correlation) {
    return both ? emulator::correlated_share(percent / 100, correlation / 100) : percent / 100;
  };
  const double duplicate = share_of(all.duplicate.value_or(0), all.duplicate_correlation);
  const auto duplicate_line = [](double share) {
    return share > 0 ? fmt::format("duplicate = \"{}%\"\n", share * 100) : std::string();
  };
  const std::string correlated_duplicate =
      fmt::format("duplicate = {{ probability = \"{}%\"{} }}\n", duplicate * 100,
                  correlation_key(all.duplicate_correlation));
  if (duplicate > 0 && !all.corrupt.empty())
    all.differences.push_back(
        "netem corrupts a copy on its own; here it has the same bit flipped as the packet.");
  if (all.independent_loss && !all.ecn) {
    const double loss = share_of(*all.independent_loss, all.loss_correlation);
    const double lost = (1 - duplicate) * loss;
    const double copied = lost < 1 ? duplicate * (1 - loss) * (1 - loss) / (1 - lost) : 0;
    std::string lines;
    if (both) {
      all.differences.push_back(fmt::format(
          "The correlations of loss and duplicate are left out, as both are there: draws are "
          "independent, of the shares that netem's come to: {:.3g}% and {:.3g}%.",
          loss * 100, duplicate * 100));
    } else if (loss > 0 && all.loss_correlation > 0) {
      const double lost_percent =
          emulator::correlated_share(loss, all.loss_correlation / 100) * 100;
      constexpr double kHardlyAny = 1e-4;
      all.differences.push_back(fmt::format(
          "netem's draws with a correlation are seldom near 0: of a loss of {:g}% with {:g}%, it "
          "loses {} of the packets; so does this profile.",
          loss * 100, all.loss_correlation,
          lost_percent < kHardlyAny ? "less than 0.0001%" : fmt::format("{:.2g}%", lost_percent)));
      return fmt::format("loss = {{ model = \"correlated\", probability = \"{}%\"{} }}\n",
                         loss * 100, correlation_key(all.loss_correlation));
    } else if (loss == 0 && duplicate > 0 && all.duplicate_correlation > 0) {
      return correlated_duplicate;
    }
    if (lost > 0) lines = fmt::format("loss = \"{}%\"", lost * 100);
    if (lost > 0 && duplicate > 0) lines += "  # netem sends what is lost and duplicated once";
    return lines + (lost > 0 ? "\n" : "") + duplicate_line(copied);
  }
  if (duplicate > 0 && !all.loss.empty())
    all.differences.push_back(
        "netem sends a packet once that is both lost and duplicated; here it is lost.");
  std::string lines;
  if (all.independent_loss) {
    all.differences.push_back(
        "netem's ecn marks ECN-capable packets instead of dropping them, and drops the others; "
        "here the others pass.");
    lines = fmt::format("mark = \"{}%\"\n", *all.independent_loss);
  } else {
    if (all.ecn) all.differences.push_back("ecn is left out: this loss model drops all.");
    if (!all.loss.empty()) lines = fmt::format("loss = {}\n", all.loss);
  }
  return lines + (all.duplicate_correlation > 0 && duplicate > 0 ? correlated_duplicate
                                                                 : duplicate_line(duplicate));
}

std::string queue_lines(NetemParameters& all) {
  if (!all.rate) return {};
  const std::string cells = all.cell > 0 ? fmt::format(", cell = \"{}B\", cell_overhead = \"{}B\"",
                                                       all.cell, all.cell_overhead)
                                         : std::string();
  return fmt::format("queue = {{ rate = \"{}b/s\", buffer = \"{}B\", overhead = \"{}B\"{} }}\n",
                     std::llround(*all.rate), all.most_packets() * kLongestFrame, all.overhead,
                     cells);
}

/// Returns the key limit, which counts packets that wait for their time, the link or a slot.
std::string limit_line(const NetemParameters& all) {
  if (!all.rate && all.delay_ns + all.jitter_ns + all.slot_max_ns == 0) return {};
  return fmt::format("limit = {}{}\n", all.most_packets(), all.limit ? "" : "  # netem's default");
}

/// Returns a [capacity] for what netem holds: packets at its rate, or as many as its limit.
std::string capacity_lines(NetemParameters& all) {
  const double longest_ns = all.delay_ns + all.jitter_ns + all.slot_max_ns;
  double rate = all.rate.value_or(0);
  if (!all.rate) {
    if (longest_ns == 0) return {};
    constexpr double kLine = 100e9;
    rate = static_cast<double>(all.most_packets() * kLongestFrame) * 8e9 / longest_ns;
    const Duration delay{std::llround(longest_ns)};
    all.differences.push_back(fmt::format(
        "netem holds {} packets at most{}, those that are delayed too, and drops more: of {} B, "
        "above {}. At 100 Gb/s this delay holds {}.",
        all.most_packets(), all.limit ? "" : " (its default limit)", kLongestFrame,
        format_bit_rate(rate), emulator::frames_in_flight(kLine, delay, kLongestFrame + 4)));
  }
  return fmt::format("[capacity]\nrate = \"{}b/s\"\n\n",
                     std::llround(std::clamp(rate, 1e6, static_cast<double>(kHighestRate))));
}

std::string profile_text(NetemParameters& all, std::string_view text, const NetemSetting& setting) {
  std::string rule = loss_lines(all);
  if (!all.corrupt.empty())
    rule += fmt::format(
        "corrupt = {{ probability = \"{}\", bits = 1, part = \"frame\", icrc = \"wrong\"{} }}\n",
        all.corrupt, correlation_key(all.corrupt_correlation));
  rule += limit_line(all) + queue_lines(all) + slot_line(all, setting) + delay_lines(all, setting) +
          reorder_line(all);
  const std::string capacity = capacity_lines(all);
  constexpr std::uint64_t kLargestSeed = std::numeric_limits<std::int64_t>::max();
  if (all.seed.value_or(0) > kLargestSeed)
    all.differences.push_back(
        "TOML has no numbers from 2^63 on: the seed is tc's less 2^63. Other draws than netem's "
        "come from any seed.");
  std::string head = "# netem";
  const auto words = without_counters(tc_words(text));
  for (const std::string_view word : std::span(words).subspan(place_behind(words, "netem")))
    head += fmt::format(" {}", word);
  head += '\n';
  for (const std::string& difference : all.differences) head += fmt::format("# {}\n", difference);
  if (all.seed) head += fmt::format("seed = {}\n", *all.seed & kLargestSeed);
  return fmt::format(
      "{}\n{}[[rule]]\nname = \"netem\"\nmatch = \"all\"  # as netem: every frame, not only "
      "RoCEv2\n"
      "direction = \"{}\"\n{}",
      head, capacity, setting.direction, rule);
}

/// The parameters of a tbf (tc-tbf(8)); sizes in bytes.
struct TbfParameters {
  std::optional<double> rate, burst, limit, latency_ns;
  std::int64_t overhead = 0;
};

void take_tbf_parameter(NetemWords& words, TbfParameters& all) {
  // In tc's order: "l" is limit. (iproute2, q_tbf.c)
  constexpr NetemParameterName kNames[] = {{"limit"},          {"latency"},        {"burst"},
                                           {"buffer", true},   {"maxburst", true}, {"mtu", true},
                                           {"minburst", true}, {"mpu", true},      {"rate", true},
                                           {"peakrate"},       {"overhead"},       {"linklayer"}};
  const std::string_view word = words.next(), name = whole_parameter(word, kNames);
  if (name == "rate") return static_cast<void>(all.rate = words.rate(name));
  if (name == "burst" || name == "buffer" || name == "maxburst")
    return static_cast<void>(all.burst = words.size(name));
  if (name == "limit") return static_cast<void>(all.limit = words.size(name));
  if (name == "latency") return static_cast<void>(all.latency_ns = words.time(name));
  if (name == "overhead") return static_cast<void>(all.overhead = words.count(name).value_or(0));
  if (name == "peakrate" || name == "mtu" || name == "minburst" || name == "linklayer" ||
      name == "mpu")
    return words.fail(fmt::format("{} of a tbf has no equivalent: a queue has one rate", name));
  words.fail(fmt::format("unknown parameter of tbf: \"{}\"", word));
}

/// The longest frame of a run by default: a burst below it may be shorter than a frame.
constexpr long long kLongestTbfFrame = Capacity{}.largest_frame;
constexpr const char* kTooLong = R"(
[[rule]]
name = "longer than the burst"
match = {{ filter = "greater {}" }}
direction = "{}"
loss = "100%"
)";

/// Translates a token bucket filter: its rate, and its limit as the buffer.
Result<NetemProfile> profile_of_tbf(NetemWords words, const NetemSetting& setting) {
  TbfParameters all;
  while (!words.ended()) take_tbf_parameter(words, all);
  if (words.error()) return std::unexpected(*words.error());
  if (!all.rate || !all.burst || all.limit.has_value() == all.latency_ns.has_value())
    return fail(
        "tbf: expected a rate, a burst, and a limit or a latency, such as "
        "\"tbf rate 1gbit burst 32kb latency 400ms\"");
  if (*all.rate < emulator::kSlowestRate)
    return fail(fmt::format("rate: expected at least 1kbit, found {}bit", *all.rate));
  // As tc computes it.
  const double buffer =
      all.limit ? *all.limit : *all.rate / 8 * *all.latency_ns * 1e-9 + *all.burst;
  if (buffer < 1 || buffer > static_cast<double>(emulator::kLargestBuffer))
    return fail(fmt::format("tbf: expected room for 1 byte to 4 GiB, found {:.0f} bytes", buffer));
  NetemProfile profile;
  profile.differences.push_back(fmt::format(
      "After a pause, a tbf lets {:.0f} bytes pass at the rate of the line; here each frame takes "
      "its time at the rate.",
      *all.burst));
  const long long rate = std::llround(*all.rate), burst = std::llround(*all.burst);
  // tbf_enqueue() compares a packet with the burst. (sch_tbf.c)
  std::string too_long;
  if (burst < kLongestTbfFrame) {
    profile.differences.push_back(
        fmt::format("A tbf drops all frames longer than its burst of {} B.", burst));
    too_long = fmt::format(kTooLong, burst + 1, setting.direction);
  }
  constexpr const char* kProfile = R"(# tbf
{}
[capacity]
rate = "{}b/s"
{}
[[rule]]
name = "tbf"
match = "all"  # as tbf: every frame, not only RoCEv2
direction = "{}"
queue = {{ rate = "{}b/s", buffer = "{}B", overhead = "{}B" }}
)";
  std::string notes;
  for (const std::string& difference : profile.differences)
    notes += fmt::format("# {}\n", difference);
  profile.toml = fmt::format(kProfile, notes, std::max(rate, 1'000'000LL), too_long,
                             setting.direction, rate, std::llround(buffer), all.overhead);
  return profile;
}

}  // namespace

Result<NetemProfile> profile_of_netem(std::string_view text, const NetemSetting& setting) {
  auto all_words = tc_words(text);
  if (auto known = check_qdisc(all_words); !known) return std::unexpected(known.error());
  all_words = without_counters(std::move(all_words));
  NetemWords words(all_words);
  if (is_tbf(all_words)) return profile_of_tbf(std::move(words), setting);
  if (words.ended()) return fail("expected parameters of netem, such as \"delay 100ms loss 1%\"");
  NetemParameters all;
  while (!words.ended()) take_netem_parameter(words, all);
  if (words.error()) return std::unexpected(*words.error());
  if (all.duplicate_correlation > 0 && !all.passes_correlations) {
    all.duplicate_correlation = 0;
    all.differences.push_back(
        "tc (iproute2 6.1) passes the correlation of duplicate only beside another one, so netem's "
        "draws, and those of this profile, are independent.");
  }
  if (all.most_packets() > emulator::Limit::kMostFrames)
    return fail(fmt::format("limit: expected at most {} packets, found {}",
                            emulator::Limit::kMostFrames, all.most_packets()));
  if (all.rate && all.most_packets() > emulator::kLargestBuffer / kLongestFrame)
    return fail(
        fmt::format("limit: expected at most {} packets beside a rate, a buffer of 4 GiB; "
                    "found {}",
                    emulator::kLargestBuffer / kLongestFrame, all.most_packets()));
  if (!all.distribution.empty() && all.jitter_ns == 0)
    return fail("distribution: expected a delay with jitter, such as \"delay 100ms 10ms\"");
  if (all.reorder && all.delay_ns == 0)
    return fail(
        "reorder: expected a delay, which the reordered packets do not have, such as "
        "\"delay 100ms reorder 25%\"");
  if (all.gap.value_or(0) > 0 && !all.reorder)
    return fail("gap: expected reorder, such as \"delay 100ms reorder 25% gap 5\"");
  if (all.gap.value_or(0) > emulator::ReorderConfig::kMostGap)
    return fail(fmt::format("gap: expected at most {}, found {}", emulator::ReorderConfig::kMostGap,
                            *all.gap));
  if (all.slot_max_ns > 0 && all.jitter_ns > 0 && !all.rate)
    return fail(
        "slot: beside a jitter without a rate, netem lets packets overtake each other into their "
        "slots, which has no equivalent; leave out one of them");
  if (all.slot_packets > emulator::SlotConfig::kMostFrames)
    return fail(fmt::format("slot packets: expected at most {}, found {}",
                            emulator::SlotConfig::kMostFrames, all.slot_packets));
  if (all.slot_bytes > static_cast<std::int64_t>(emulator::kLargestBuffer))
    return fail(fmt::format("slot bytes: expected at most 4 GiB, found {}", all.slot_bytes));
  NetemProfile profile;
  profile.toml = profile_text(all, text, setting);
  profile.differences = std::move(all.differences);
  return profile;
}

}  // namespace lw::config
