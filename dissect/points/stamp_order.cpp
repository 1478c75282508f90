// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/points/stamp_order.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "core/quantity.h"
#include "dissect/points/answer_times.h"
#include "wire/address.h"

namespace lw::dissect {
namespace {

/// Requests from one address to another, and their answers.
struct RequestsAndAnswers {
  PsnStamps requests, answers;

  /// The time by which answers come before their requests, in ns, if most of at least
  /// kFewestAnswers do: the longest one, unless less than one in fifty is so long. Nothing: they
  /// come behind them.
  [[nodiscard]] std::optional<std::int64_t> early() {
    constexpr Duration kMostBack = StampOrder::kMostBack;
    requests.finish();
    answers.finish();
    std::vector<std::int64_t> times = answer_times(requests, answers);
    if (times.size() < kFewestAnswers) return std::nullopt;
    std::ranges::sort(times);
    if (times[times.size() / 2] >= 0) return std::nullopt;
    if (times[times.size() / 50] < -kMostBack.count()) return std::nullopt;
    const std::int64_t usual = -times[times.size() / 50];
    return times.front() >= -2 * usual ? -times.front() : usual;
  }
};

}  // namespace

StampOrder::StampOrder(const TapFrames& frames, const std::vector<std::uint32_t>& point_of,
                       const std::vector<std::uint32_t>& file_of) {
  find_disorder(frames, point_of, file_of);
  find_skews(frames, point_of);
}

/// A clock that steps back puts the frames of each flow out of order: then the file's order counts.
void StampOrder::find_disorder(const TapFrames& frames, const std::vector<std::uint32_t>& point_of,
                               const std::vector<std::uint32_t>& file_of) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> latest;   // by file and point
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> of_flow;  // by flow and tap
  constexpr std::uint64_t kShare = 100;  // fewer than one in so many: stamps are not that exact
  std::uint64_t behind = 0;
  Duration most{};
  for (const TapFrames::SeenAtTap& seen : frames.seen()) {
    if (seen.tap >= point_of.size()) continue;
    const auto own = of_flow.try_emplace({seen.flow, seen.tap}, seen.stamp).first;
    if (seen.stamp < own->second) return;
    own->second = seen.stamp;
    const auto newest =
        latest.try_emplace({file_of[seen.tap], point_of[seen.tap]}, seen.stamp).first;
    if (seen.stamp < newest->second) {
      ++behind;
      most = std::max(
          most, stamp_difference(instant_from_ns(newest->second), instant_from_ns(seen.stamp)));
    }
    newest->second = std::max(newest->second, seen.stamp);
  }
  if (most > kMostBack || behind * kShare < frames.seen().size()) return;
  behind_ = behind;
  window_ = 2 * most;
}

void StampOrder::find_skews(const TapFrames& frames, const std::vector<std::uint32_t>& point_of) {
  using Key = std::tuple<std::uint32_t, std::uint32_t, bool>;  // point, pair, direction of requests
  std::map<Key, RequestsAndAnswers> all;
  for (const TapFrames::SeenAtTap& seen : frames.seen()) {
    if (seen.tap >= point_of.size() || seen.role == wire::Role::notification || seen.refuses)
      continue;
    const bool request = seen.role == wire::Role::request;
    RequestsAndAnswers& of = all[{point_of[seen.tap], seen.pair, seen.back == request}];
    (request ? of.requests : of.answers).add(seen.psn, seen.stamp);
  }
  std::map<std::uint32_t, AddressPair> addresses;
  for (const auto& [pair, index] : frames.pairs()) addresses[index] = pair;
  for (auto& [key, times] : all) {
    const auto [point, pair, requests_back] = key;
    const auto early = times.early();
    if (!early) continue;
    if (skews_.size() == kMostSkews) return;
    skews_.push_back({.point = point,
                      .addresses = addresses[pair],
                      .back = !requests_back,
                      .early = Duration{*early}});
    window_ = std::max(window_, 2 * skews_.back().early);
  }
}

Duration StampOrder::moved_by(std::uint32_t point, const std::array<std::byte, 16>& source,
                              const std::array<std::byte, 16>& destination) const {
  for (const Skew& skew : skews_)
    if (skew.point == point && skew.addresses[skew.back ? 1 : 0] == source &&
        skew.addresses[skew.back ? 0 : 1] == destination)
      return skew.early;
  return {};
}

std::string StampOrder::sentence() const {
  std::string text;
  if (behind_ > 0)
    text = fmt::format(
        "The file's order is not that of the time stamps ({} of the first frames are behind later "
        "ones of other flows): frames are followed in the order of their stamps.",
        behind_);
  if (skews_.empty()) return text;
  const Skew& most = *std::ranges::max_element(skews_, {}, &Skew::early);
  const auto name = [&](bool second) {
    return wire::to_string(wire::ip_of(wire::Ipv6Address{most.addresses[second ? 1 : 0]}));
  };
  return text + (text.empty() ? "" : " ") +
         fmt::format(
             "Answers have earlier stamps than their requests: two clocks. Those from {} to {}{} "
             "are moved by {}, so round trips are longer than shown by a time that the capture "
             "does not tell.",
             name(most.back), name(!most.back),
             skews_.size() > 1 ? fmt::format(", and of {} other ways,", skews_.size() - 1) : "",
             format_duration(most.early));
}

}  // namespace lw::dissect
