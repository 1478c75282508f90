// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/netem.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <fmt/core.h>

#include "core/limits.h"
#include "core/names.h"
#include "core/quantity.h"
#include "emulator/path.h"
#include "emulator/random/correlated_draw.h"
#include "emulator/stage_keys.h"
#include "emulator/stages/limit.h"
#include "emulator/stages/reorder.h"
#include "emulator/stages/slot.h"

namespace lw::config {
namespace {

struct NetemUnit {
  std::string_view name;
  double factor;
};
constexpr NetemUnit kPlainNumber[] = {{"", 1}};
constexpr NetemUnit kNetemTimes[] = {{"", 1e3},     {"s", 1e9},     {"sec", 1e9},   {"secs", 1e9},
                                     {"ms", 1e6},   {"msec", 1e6},  {"msecs", 1e6}, {"us", 1e3},
                                     {"usec", 1e3}, {"usecs", 1e3}, {"ns", 1},      {"nsec", 1},
                                     {"nsecs", 1}};
// Of a slot: tc reads a number without a unit as ns.
constexpr NetemUnit kSlotTimes[] = {{"", 1}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
constexpr NetemUnit kNetemRates[] = {
    {"", 1},         {"bit", 1},        {"kbit", 1e3},     {"mbit", 1e6},     {"gbit", 1e9},
    {"tbit", 1e12},  {"bps", 8},        {"kbps", 8e3},     {"mbps", 8e6},     {"gbps", 8e9},
    {"tbps", 8e12},  {"kibit", 1024},   {"mibit", 0x1p20}, {"gibit", 0x1p30}, {"tibit", 0x1p40},
    {"kibps", 8192}, {"mibps", 0x1p23}, {"gibps", 0x1p33}, {"tibps", 0x1p43}};

constexpr NetemUnit kTcSizes[] = {{"", 1},          {"b", 1},        {"k", 1024},
                                  {"kb", 1024},     {"m", 0x1p20},   {"mb", 0x1p20},
                                  {"g", 0x1p30},    {"gb", 0x1p30},  {"kbit", 1024 / 8.0},
                                  {"mbit", 0x1p17}, {"gbit", 0x1p27}};

/// Linux's default of `limit`, and the longest Ethernet frame without FCS that it then holds.
constexpr std::uint64_t kNetemLimit = 1000, kLongestFrame = 1514;

// The sum of a delay and its jitter is a time as well.
constexpr double kMostNs = std::chrono::duration<double, std::nano>(kLongestTime).count() / 2;
constexpr std::int64_t kMostCounted = 1'000'000'000'000;

struct NetemParameters {
  double delay_ns = 0, jitter_ns = 0;
  std::string distribution;
  std::string loss, corrupt;                                   // TOML values; empty: absent
  std::optional<double> independent_loss, duplicate, reorder;  // in per cent
  // Of their draws, in per cent.
  double loss_correlation = 0, duplicate_correlation = 0, reorder_correlation = 0;
  double corrupt_correlation = 0;
  bool passes_correlations = false;  // tc does so if another parameter than duplicate has one
  std::optional<std::uint64_t> gap;
  bool ecn = false;
  double slot_min_ns = 0, slot_max_ns = 0;        // both 0: no slots
  std::string slot_distribution;                  // then min is its mean, and max its deviation
  std::int64_t slot_packets = 0, slot_bytes = 0;  // of one; 0: any
  std::optional<double> rate;                     // b/s
  std::int64_t overhead = 0;                      // bytes per frame
  std::int64_t cell = 0, cell_overhead = 0;       // bytes; cell 0: none
  std::optional<std::uint64_t> limit, seed;
  std::vector<std::string> differences;

  /// Packets that the qdisc holds at most.
  [[nodiscard]] std::uint64_t most_packets() const {
    return std::max<std::uint64_t>(limit.value_or(kNetemLimit), 1);
  }
};

/// `most`: the largest result.
std::optional<double> scaled_number(std::string_view word, std::span<const NetemUnit> units,
                                    double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  std::string unit(end, word.data() + word.size());
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto known = std::ranges::find(units, unit, &NetemUnit::name);
  if (known == units.end() || value * known->factor > most) return std::nullopt;
  return value * known->factor;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kSpace = " \t\r\n";
  for (std::size_t at = 0; (at = text.find_first_not_of(kSpace, at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Qdiscs that are neither netem nor tbf, and the words of classes and filters.
constexpr std::string_view kOtherQdiscs[] = {
    "bfifo",   "cake",   "cbs",    "class",    "clsact",  "codel", "drr",        "ets",
    "etf",     "filter", "fq",     "fq_codel", "fq_pie",  "hfsc",  "hhf",        "htb",
    "ingress", "mq",     "mqprio", "multiq",   "noqueue", "pfifo", "pfifo_fast", "pie",
    "prio",    "qfq",    "red",    "sfb",      "sfq",     "taprio"};

/// True for the words of tc that stand before a name of the user's choice, such as an interface's,
/// which may be that of a qdisc.
bool is_before_name(std::string_view word) {
  return word == "dev" || word == "handle" || word == "parent";
}

/// Returns the words that are not such names.
std::vector<std::string_view> without_names(std::span<const std::string_view> words) {
  std::vector<std::string_view> rest;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (i == 0 || !is_before_name(words[i - 1])) rest.push_back(words[i]);
  return rest;
}

/// Refuses what is not one qdisc of a known kind.
Result<void> check_qdisc(std::span<const std::string_view> all) {
  const auto words = without_names(all);
  if (std::ranges::count(words, "qdisc") > 1 || std::ranges::count(words, "tc") > 1)
    return lw::fail(
        "expected one qdisc, found several: translate each by its own, and write their "
        "rules into one profile");
  const auto other = std::ranges::find_first_of(words, kOtherQdiscs);
  if (other == words.end()) return {};
  return lw::fail(fmt::format(
      "{}: expected netem or tbf: a rule has one delay and one queue, first in, first out, for all "
      "frames that it matches; of several classes, make a rule each, with its match",
      *other));
}

/// Returns the place of the word behind the name of a qdisc; 0 if there is no such qdisc.
std::size_t place_behind(std::span<const std::string_view> words, std::string_view qdisc) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == qdisc && (i == 0 || !is_before_name(words[i - 1]))) return i + 1;
  return 0;
}

bool is_tbf(std::span<const std::string_view> words) {
  return place_behind(words, "netem") == 0 && place_behind(words, "tbf") > 0;
}

/// Reads words one by one. Keeps the first error.
class NetemWords {
 public:
  explicit NetemWords(std::vector<std::string_view> words) : words_(std::move(words)) {
    at_ = place_behind(words_, is_tbf(words_) ? "tbf" : "netem");
    skip_place();
  }

  [[nodiscard]] bool ended() const { return error_ || at_ == words_.size(); }
  std::string_view next() { return words_[at_++]; }
  bool take(std::string_view word) {
    if (ended() || words_[at_] != word) return false;
    ++at_;
    return true;
  }
  /// Reads a share in per cent. If the next word is not a share and `must` is false, returns
  /// nothing without an error.
  std::optional<double> share(std::string_view of, bool must = true) {
    return number(of, "a share such as 1%", must, [](std::string_view word) {
      if (word.ends_with('%')) word.remove_suffix(1);
      return scaled_number(word, kPlainNumber, 100);
    });
  }
  std::optional<double> time(std::string_view of, bool must = true) {
    return number(of, "a time such as 100ms", must,
                  [](std::string_view word) { return scaled_number(word, kNetemTimes, kMostNs); });
  }
  std::optional<double> slot_time(bool must) {
    return number("slot", "a time such as 800us", must,
                  [](std::string_view word) { return scaled_number(word, kSlotTimes, kMostNs); });
  }
  std::optional<double> rate(std::string_view of) {
    return number(of, "a rate such as 10gbit", true, [](std::string_view word) {
      return scaled_number(word, kNetemRates, kHighestRate);
    });
  }
  /// Reads a number of bytes.
  std::optional<double> size(std::string_view of) {
    return number(of, "a size such as 32kb", true, [](std::string_view word) {
      return scaled_number(word.substr(0, word.find('/')), kTcSizes, kMostCounted);
    });
  }
  /// Reads a number up to kMostCounted.
  std::optional<std::int64_t> count(std::string_view of, bool must = true, bool negative = false) {
    return number(of, fmt::format("a whole number up to {}", kMostCounted), must,
                  [negative](std::string_view word) {
                    return whole(word, negative ? -kMostCounted : 0, kMostCounted);
                  });
  }
  std::optional<std::int64_t> seed() {
    return number("seed", "a whole number below 2^63", true, [](std::string_view word) {
      return whole(word, 0, std::numeric_limits<std::int64_t>::max());
    });
  }
  void fail(std::string message) {
    if (!error_) error_ = Error{std::move(message)};
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  /// Skips what `tc qdisc show` prints between "netem" and the parameters: "8001: root refcnt 2".
  void skip_place() {
    if (at_ > 0 && !ended() && words_[at_].ends_with(':')) ++at_;
    for (const std::string_view word : {"dev", "root", "parent", "refcnt"})
      if (take(word) && word != "root" && !ended()) ++at_;
  }
  static std::optional<std::int64_t> whole(std::string_view word, std::int64_t least,
                                           std::int64_t most) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool good = error == std::errc{} && end == word.data() + word.size();
    return good && value >= least && value <= most ? std::optional(value) : std::nullopt;
  }

  template <class Parse>
  auto number(std::string_view of, std::string_view expected, bool must, Parse parse)
      -> decltype(parse(expected)) {
    const auto value = ended() ? std::nullopt : parse(words_[at_]);
    if (value) ++at_;
    if (!value && must)
      fail(fmt::format("{}: expected {}, found {}", of, expected,
                       ended() ? "the end" : fmt::format("\"{}\"", words_[at_])));
    return value;
  }

  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

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

/// Returns the name of a distribution of delays or of times between slots.
std::string take_distribution_name(NetemWords& words) {
  constexpr std::array<std::string_view, 5> kKnown = {"uniform", "normal", "pareto", "paretonormal",
                                                      "experimental"};
  const std::string_view name = words.ended() ? "the end" : words.next();
  if (std::ranges::find(kKnown, name) == kKnown.end())
    words.fail(fmt::format(
        "distribution: expected uniform, normal, pareto, paretonormal or experimental, found "
        "\"{}\"",
        name));
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
      words.take(of_tc);
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
  if (words.take("state")) {
    model("four-state", kStates);
    if (values.size() >= 4 && values[0] > 0 && values[2] > 0 && values[3] == 0)
      words.fail(
          "loss state: expected p23 above 0 beside p32, or no packet is lost any more once "
          "the model has reached state 2; found 0%");
    return;
  }
  if (words.take("gemodel")) return model("gilbert-elliott", kGilbert);
  words.take("random");
  all.independent_loss = words.share("loss");
  all.loss_correlation = take_correlation(words, "loss", all);
}

void take_rate(NetemWords& words, NetemParameters& all) {
  all.rate = words.rate("rate");
  if (all.rate && *all.rate < emulator::kSlowestRate)
    words.fail(fmt::format("rate: expected at least 1kbit, found {}bit", *all.rate));
  words.take("packetoverhead");
  all.overhead = words.count("rate", false, true).value_or(0);
  if (all.overhead < 0)
    words.fail("rate: a packet overhead below 0 has no equivalent; expected 0 or more bytes");
  words.take("cellsize");
  all.cell = words.count("rate", false).value_or(0);
  words.take("celloverhead");
  all.cell_overhead = words.count("rate", false, true).value_or(0);
  if (all.cell_overhead < 0)
    words.fail("rate: a cell overhead below 0 has no equivalent; expected 0 or more bytes");
  constexpr std::int64_t kMost = 1024;
  if (std::max({all.overhead, all.cell, all.cell_overhead}) > kMost)
    words.fail(fmt::format("rate: expected overheads and a cell size of at most {} B", kMost));
}

void take_slot(NetemWords& words, NetemParameters& all) {
  if (words.take("distribution")) {
    all.slot_distribution = take_distribution_name(words);
    all.slot_min_ns = words.slot_time(true).value_or(0);
    all.slot_max_ns = words.slot_time(true).value_or(0);
    if (all.slot_max_ns == 0) words.fail("slot: expected a jitter above 0 beside a distribution");
  } else {
    all.slot_min_ns = words.slot_time(true).value_or(0);
    all.slot_max_ns = std::max(all.slot_min_ns, words.slot_time(false).value_or(0));
  }
  if (words.take("packets")) all.slot_packets = words.count("slot packets").value_or(0);
  if (words.take("bytes")) all.slot_bytes = std::llround(words.size("slot bytes").value_or(0));
}

void take_parameter(NetemWords& words, NetemParameters& all) {
  const std::string_view name = words.next();
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
    const auto value = name == "seed" ? words.seed() : words.count(name);
    auto& place = name == "limit" ? all.limit : name == "seed" ? all.seed : all.gap;
    if (value) place = static_cast<std::uint64_t>(*value);
    return;
  }
  if (name == "reorder") {
    all.reorder = words.share(name);
    all.reorder_correlation = take_correlation(words, name, all);
    return;
  }
  if (name == "slot") return take_slot(words, all);
  constexpr std::array<std::string_view, 12> kNames = {
      "delay",     "distribution", "loss", "rate", "ecn",     "corrupt",
      "duplicate", "limit",        "seed", "gap",  "reorder", "slot"};
  const std::string_view near = nearest(name, kNames);
  words.fail(
      fmt::format("unknown parameter of netem: \"{}\"{}", name,
                  near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near)));
}

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
  const double duplicate = all.duplicate.value_or(0) / 100;
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
    const double loss = *all.independent_loss / 100, lost = (1 - duplicate) * loss;
    const double copied = lost < 1 ? duplicate * (1 - loss) * (1 - loss) / (1 - lost) : 0;
    std::string lines;
    if (duplicate > 0 && loss > 0 && all.loss_correlation + all.duplicate_correlation > 0) {
      all.differences.push_back(
          "The correlations of loss and duplicate are left out, as both are there: draws are "
          "independent.");
    } else if (loss > 0 && all.loss_correlation > 0) {
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
  std::string head = "# netem";
  const auto words = words_of(text);
  for (const std::string_view word : std::span(words).subspan(place_behind(words, "netem")))
    head += fmt::format(" {}", word);
  head += '\n';
  for (const std::string& difference : all.differences) head += fmt::format("# {}\n", difference);
  if (all.seed) head += fmt::format("seed = {}\n", *all.seed);
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
  const std::string_view name = words.next();
  if (name == "rate") return static_cast<void>(all.rate = words.rate(name));
  if (name == "burst" || name == "buffer" || name == "maxburst")
    return static_cast<void>(all.burst = words.size(name));
  if (name == "limit") return static_cast<void>(all.limit = words.size(name));
  if (name == "latency" || name == "lat")
    return static_cast<void>(all.latency_ns = words.time(name));
  if (name == "overhead") return static_cast<void>(all.overhead = words.count(name).value_or(0));
  if (name == "peakrate" || name == "mtu" || name == "minburst" || name == "linklayer" ||
      name == "mpu")
    return words.fail(fmt::format("{} of a tbf has no equivalent: a queue has one rate", name));
  words.fail(fmt::format("unknown parameter of tbf: \"{}\"", name));
}

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
  const long long rate = std::llround(*all.rate);
  constexpr const char* kProfile = R"(# tbf
# {}

[capacity]
rate = "{}b/s"

[[rule]]
name = "tbf"
match = "all"  # as tbf: every frame, not only RoCEv2
direction = "{}"
queue = {{ rate = "{}b/s", buffer = "{}B", overhead = "{}B" }}
)";
  profile.toml = fmt::format(kProfile, profile.differences[0], std::max(rate, 1'000'000LL),
                             setting.direction, rate, std::llround(buffer), all.overhead);
  return profile;
}

}  // namespace

Result<NetemProfile> profile_of_netem(std::string_view text, const NetemSetting& setting) {
  const auto all_words = words_of(text);
  if (auto known = check_qdisc(all_words); !known) return std::unexpected(known.error());
  NetemWords words(all_words);
  if (is_tbf(all_words)) return profile_of_tbf(std::move(words), setting);
  if (words.ended()) return fail("expected parameters of netem, such as \"delay 100ms loss 1%\"");
  NetemParameters all;
  while (!words.ended()) take_parameter(words, all);
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
