// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/netem_words.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>

#include <fmt/core.h>

#include "core/limits.h"
#include "core/quantity.h"

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

// The sum of a delay and its jitter is a time as well.
constexpr double kMostNs = std::chrono::duration<double, std::nano>(kLongestTime).count() / 2;
constexpr std::int64_t kMostCounted = 1'000'000'000'000;

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

std::optional<std::int64_t> whole_number(std::string_view word, std::int64_t least,
                                         std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool good = error == std::errc{} && end == word.data() + word.size();
  return good && value >= least && value <= most ? std::optional(value) : std::nullopt;
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

}  // namespace

std::vector<std::string_view> tc_words(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kSpace = " \t\r\n";
  for (std::size_t at = 0; (at = text.find_first_not_of(kSpace, at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

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

std::vector<std::string_view> without_counters(std::vector<std::string_view> words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i)
    if (words[i] == "Sent" && words[i + 2] == "bytes") words.resize(i);
  return words;
}

std::string_view whole_parameter(std::string_view word,
                                 std::span<const NetemParameterName> parameters) {
  for (const auto& [name, is_whole] : parameters)
    if (is_whole ? word == name : name.starts_with(word) && !word.empty()) return name;
  return word;
}

std::size_t place_behind(std::span<const std::string_view> words, std::string_view qdisc) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == qdisc && (i == 0 || !is_before_name(words[i - 1]))) return i + 1;
  return 0;
}

bool is_tbf(std::span<const std::string_view> words) {
  return place_behind(words, "netem") == 0 && place_behind(words, "tbf") > 0;
}

NetemWords::NetemWords(std::vector<std::string_view> words) : words_(std::move(words)) {
  at_ = place_behind(words_, is_tbf(words_) ? "tbf" : "netem");
  skip_place();
}

bool NetemWords::accept(std::string_view word) {
  if (ended() || words_[at_] != word) return false;
  ++at_;
  return true;
}

/// Skips what `tc qdisc show` prints between "netem" and the parameters: "8001: root refcnt 2".
void NetemWords::skip_place() {
  if (at_ > 0 && !ended() && words_[at_].ends_with(':')) ++at_;
  for (const std::string_view word : {"dev", "root", "parent", "offloaded", "refcnt"})
    if (accept(word) && word != "root" && word != "offloaded" && !ended()) ++at_;
}

template <class Parse>
auto NetemWords::number(std::string_view of, std::string_view expected, bool must, Parse parse)
    -> decltype(parse(expected)) {
  const auto value = ended() ? std::nullopt : parse(words_[at_]);
  if (value) ++at_;
  if (!value && must)
    fail(fmt::format("{}: expected {}, found {}", of, expected,
                     ended() ? "the end" : fmt::format("\"{}\"", words_[at_])));
  return value;
}

std::optional<double> NetemWords::share(std::string_view of, bool must) {
  return number(of, "a share such as 1%", must, [](std::string_view word) {
    if (word.ends_with('%')) word.remove_suffix(1);
    return scaled_number(word, kPlainNumber, 100);
  });
}

std::optional<double> NetemWords::time(std::string_view of, bool must) {
  return number(of, "a time such as 100ms", must,
                [](std::string_view word) { return scaled_number(word, kNetemTimes, kMostNs); });
}

std::optional<double> NetemWords::slot_time(bool must) {
  return number("slot", "a time such as 800us", must,
                [](std::string_view word) { return scaled_number(word, kSlotTimes, kMostNs); });
}

std::optional<double> NetemWords::rate(std::string_view of) {
  return number(of, "a rate such as 10gbit", true, [](std::string_view word) {
    return scaled_number(word, kNetemRates, kHighestRate);
  });
}

std::optional<double> NetemWords::size(std::string_view of) {
  return number(of, "a size such as 32kb", true, [](std::string_view word) {
    return scaled_number(word.substr(0, word.find('/')), kTcSizes, kMostCounted);
  });
}

std::optional<std::int64_t> NetemWords::count(std::string_view of, bool must, bool negative) {
  return number(of, fmt::format("a whole number up to {}", kMostCounted), must,
                [negative](std::string_view word) {
                  return whole_number(word, negative ? -kMostCounted : 0, kMostCounted);
                });
}

std::optional<std::uint64_t> NetemWords::seed() {
  return number("seed", "a whole number below 2^64", true,
                [](std::string_view word) -> std::optional<std::uint64_t> {
                  std::uint64_t value = 0;
                  const char* const end = word.data() + word.size();
                  const auto read = std::from_chars(word.data(), end, value);
                  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
                  return value;
                });
}

void NetemWords::fail(std::string message) {
  if (!error_) error_ = Error{std::move(message)};
}

}  // namespace lw::config
