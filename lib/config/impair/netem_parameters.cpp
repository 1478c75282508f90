// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/netem_parameters.h"

#include <array>
#include <cmath>
#include <span>

#include <fmt/core.h>

#include "core/names.h"
#include "emulator/random/correlated_draw.h"
#include "emulator/stage_keys.h"

namespace lw::config {
namespace {

/// Reads an optional correlation, which is a share. netem uses it to make consecutive draws
/// similar.
double take_correlation(NetemWords& words, std::string_view of, NetemParameters& all) {
  const auto given = words.share(of, false);
  if (given && of != "duplicate") all.passes_correlations = true;
  const double correlation = given.value_or(0);
  constexpr double kMost = emulator::CorrelatedDraw::kMost * 100;
  if (correlation > kMost)
    words.fail(
        fmt::format("{}: expected a correlation of at most {:g}%, found {:g}%: draws hardly "
                    "change with more",
                    of, kMost, correlation));
  return correlation;
}

void take_delay(NetemWords& words, NetemParameters& all) {
  all.delay_ns = words.time("delay").value_or(0);
  if (const auto jitter = words.time("delay", false)) {
    all.jitter_ns = *jitter;
    // Its correlation has no effect: sch_netem.c uses the draw modulo the range or the size of the
    // table (tabledist), and the remainders of similar draws are independent.
    all.passes_correlations |= words.share("delay", false).has_value();
  }
}

/// Returns the name of a distribution of delays or of times between slots: "uniform", or that of a
/// file NAME.dist of iproute2 or of the user.
std::string take_distribution_name(NetemWords& words) {
  const std::string_view name = words.ended() ? "" : words.next();
  const auto is_of_name = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  };
  if (name.empty() || name.front() == '.' || !std::ranges::all_of(name, is_of_name))
    words.fail(
        fmt::format("distribution: expected uniform, normal or the NAME of a file NAME.dist, of "
                    "letters, digits, ., _ and -, found {}",
                    name.empty() ? "the end" : fmt::format("\"{}\"", name)));
  return std::string(name);
}

void take_loss(NetemWords& words, NetemParameters& all) {
  struct Key {
    std::string_view of_profile, of_tc;  // tc prints its own before each value
  };
  std::vector<double> values;
  const auto model = [&](std::string_view name, std::span<const Key> keys) {
    all.loss = fmt::format("{{ model = \"{}\"", name);
    for (const auto& [of_profile, of_tc] : keys) {
      words.accept(of_tc);
      const auto value = words.share("loss", values.empty());
      if (!value) break;
      values.push_back(*value);
      all.loss += fmt::format(", {} = \"{}%\"", of_profile, *value);
    }
    all.loss += " }";
  };
  constexpr std::array<Key, 5> kStates = {
      {{"p13", "p13"}, {"p31", "p31"}, {"p32", "p32"}, {"p23", "p23"}, {"p14", "p14"}}};
  constexpr std::array<Key, 4> kGilbert = {
      {{"p", "p"}, {"r", "r"}, {"bad_loss", "1-h"}, {"good_loss", "1-k"}}};
  if (words.accept("state")) {
    model("four-state", kStates);
    if (values.size() >= 4 && values[0] > 0 && values[2] > 0 && values[3] == 0)
      words.fail(
          "loss state: expected p23 above 0 beside p32, or no packet is lost any more once "
          "the model has reached state 2; found 0%");
    return;
  }
  if (words.accept("gemodel")) return model("gilbert-elliott", kGilbert);
  words.accept("random");
  all.independent_loss = words.share("loss");
  all.loss_correlation = take_correlation(words, "loss", all);
}

void take_rate(NetemWords& words, NetemParameters& all) {
  all.rate = words.rate("rate");
  if (all.rate && *all.rate < emulator::kSlowestRate)
    words.fail(fmt::format("rate: expected at least 1kbit, found {}bit", *all.rate));
  words.accept("packetoverhead");
  all.overhead = words.count("rate", false, true).value_or(0);
  if (all.overhead < 0)
    words.fail("rate: a packet overhead below 0 has no equivalent; expected 0 or more bytes");
  words.accept("cellsize");
  all.cell = words.count("rate", false).value_or(0);
  words.accept("celloverhead");
  all.cell_overhead = words.count("rate", false, true).value_or(0);
  if (all.cell_overhead < 0)
    words.fail("rate: a cell overhead below 0 has no equivalent; expected 0 or more bytes");
  constexpr std::int64_t kMost = 1024;
  if (std::max({all.overhead, all.cell, all.cell_overhead}) > kMost)
    words.fail(fmt::format("rate: expected overheads and a cell size of at most {} B", kMost));
}

void take_slot(NetemWords& words, NetemParameters& all) {
  if (words.accept("distribution")) {
    all.slot_distribution = take_distribution_name(words);
    all.slot_min_ns = words.slot_time(true).value_or(0);
    all.slot_max_ns = words.slot_time(true).value_or(0);
    if (all.slot_max_ns == 0) words.fail("slot: expected a jitter above 0 beside a distribution");
  } else {
    all.slot_min_ns = words.slot_time(true).value_or(0);
    all.slot_max_ns = std::max(all.slot_min_ns, words.slot_time(false).value_or(0));
  }
  if (words.accept("packets")) all.slot_packets = words.count("slot packets").value_or(0);
  if (words.accept("bytes")) all.slot_bytes = std::llround(words.size("slot bytes").value_or(0));
}

}  // namespace

void take_netem_parameter(NetemWords& words, NetemParameters& all) {
  // In the order in which tc compares them: "l" is limit, "d" is delay. (iproute2, q_netem.c)
  constexpr NetemParameterName kNames[] = {
      {"limit"},        {"latency"}, {"delay"},      {"loss"}, {"drop"},
      {"ecn"},          {"reorder"}, {"corrupt"},    {"gap"},  {"duplicate"},
      {"distribution"}, {"rate"},    {"slot", true}, {"seed"}};
  const std::string_view word = words.next(), name = whole_parameter(word, kNames);
  if (name == "delay" || name == "latency") return take_delay(words, all);
  if (name == "distribution")
    return static_cast<void>(all.distribution = take_distribution_name(words));
  if (name == "loss" || name == "drop") return take_loss(words, all);
  if (name == "rate") return take_rate(words, all);
  if (name == "ecn") return static_cast<void>(all.ecn = true);
  if (name == "corrupt" || name == "duplicate") {
    const auto share = words.share(name);
    if (name == "duplicate") {
      all.duplicate = share;
    } else if (share) {
      all.corrupt = fmt::format("{}%", *share);
    }
    (name == "duplicate" ? all.duplicate_correlation : all.corrupt_correlation) =
        take_correlation(words, name, all);
    return;
  }
  if (name == "limit" || name == "seed" || name == "gap") {
    if (name == "seed") return static_cast<void>(all.seed = words.seed());
    const auto value = words.count(name);
    if (value) (name == "limit" ? all.limit : all.gap) = static_cast<std::uint64_t>(*value);
    return;
  }
  if (name == "reorder") {
    all.reorder = words.share(name);
    all.reorder_correlation = take_correlation(words, name, all);
    return;
  }
  if (name == "slot") return take_slot(words, all);
  std::vector<std::string_view> known;
  for (const NetemParameterName& parameter : kNames) known.push_back(parameter.name);
  const std::string_view near = nearest(name, known);
  words.fail(
      fmt::format("unknown parameter of netem: \"{}\"{}", name,
                  near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near)));
}

}  // namespace lw::config
