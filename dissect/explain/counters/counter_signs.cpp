// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/counters/counter_signs.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lw::dissect {
namespace {

using Sign = CounterSign;

/// What a sign says. {} is the list of counters.
struct SignSentence {
  Sign sign;
  bool congestion;
  std::string_view text;
};

constexpr SignSentence kSentences[] = {
    {Sign::paused, true, "the port was paused ({}): what it sends to had no room"},
    {Sign::pauses, true, "the port paused its sender ({}): the port, or its host, had no room"},
    {Sign::discards, true, "the port dropped frames for want of room ({})"},
    {Sign::marks, true, "packets came marked Congestion Experienced ({})"},
    {Sign::cnps, true, "CNPs came from the network ({})"},
    {Sign::cnps_sent, true, "the port sent CNPs for marked packets ({})"},
    {Sign::no_receives, false,
     "a receiver had no receive buffer posted ({}): no congestion of the path"},
    {Sign::timeouts, false,
     "peers did not answer in time ({}): packets or answers were lost, or a peer "
     "has stopped"},
    {Sign::ended, false, "connections ended with an error ({})"},
    {Sign::refused, false, "requests were refused for good ({})"},
    {Sign::damaged, false,
     "frames arrived damaged ({}): a bad link, plug or cable, or a wrong ICRC"},
    {Sign::link, false, "the link failed ({})"},
};

/// The sum of the rises of a counter and of others that take a part of it away.
std::uint64_t own_rise(const PortCounters& risen, std::string_view name, std::uint64_t rise) {
  if (name != "rp_cnp_handled") return rise;
  const auto made = risen.find("roce_slow_restart_cnps");
  return made == risen.end() ? rise : rise - std::min(rise, made->second);
}

bool is_counted_elsewhere(const PortCounters& risen, const CounterInfo& info) {
  const auto same = info.same_as.empty() ? risen.end() : risen.find(info.same_as);
  return same != risen.end() && same->second > 0;
}

}  // namespace

CounterSigns signs_of(const PortCounters& risen) {
  CounterSigns signs;
  for (const auto& [name, rise] : risen) {
    if (rise == 0) continue;
    const CounterInfo* const info = find_counter(name);
    signs.changes.push_back({name, rise, info != nullptr ? std::string(info->what) : ""});
    if (info == nullptr || info->sign == Sign::none || is_counted_elsewhere(risen, *info)) continue;
    const std::uint64_t own = own_rise(risen, name, rise);
    if (own == 0) continue;
    const auto at = static_cast<std::size_t>(info->sign);
    signs.events[at] += own;
    signs.counters[at] +=
        fmt::format("{}{} +{}", signs.counters[at].empty() ? "" : ", ", name, own);
  }
  return signs;
}

bool CounterSigns::show_congestion() const noexcept {
  return std::ranges::any_of(
      kSentences, [this](const SignSentence& one) { return one.congestion && of(one.sign) > 0; });
}

std::vector<std::string> CounterSigns::sentences() const {
  std::vector<std::string> all;
  for (const SignSentence& one : kSentences)
    if (of(one.sign) > 0) all.push_back(fmt::format(fmt::runtime(one.text), text_of(one.sign)));
  return all;
}

std::string CounterSigns::congestion_text() const {
  std::vector<std::string> all;
  for (const SignSentence& one : kSentences)
    if (one.congestion && of(one.sign) > 0)
      all.push_back(fmt::format(fmt::runtime(one.text), text_of(one.sign)));
  return fmt::format("{}", fmt::join(all, "; "));
}

const FigureTable& CounterChange::figures() {
  using Row = FigureOf<CounterChange>;
  static constexpr Figure kRows[] = {
      Row::of<&CounterChange::name>("counter", "Name of the counter."),
      Row::of<&CounterChange::rise>("rise", "Its change."),
      Row::of<&CounterChange::what>("what", "What it counts; empty if it is not known.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

}  // namespace lw::dissect
