// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/points/tap_frames.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "dissect/points/answer_times.h"

namespace lw::dissect {
namespace {

using PairKey = std::pair<std::uint32_t, std::uint32_t>;

/// Frames between two addresses at one tap.
struct PairAtTap {
  std::array<std::uint64_t, 2> frames{};  // there, back
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
};

/// Requests of one flow at one tap.
struct FlowAtTap {
  std::uint64_t frames = 0, requests = 0;
  std::uint32_t low = 0, high = 0;  // PSNs of requests

  void add(std::uint32_t psn) noexcept {
    const auto distance = [](std::uint32_t from, std::uint32_t to) {
      return wire::Psn::distance(wire::Psn{from}, wire::Psn{to});
    };
    if (requests++ == 0) low = high = psn;
    if (distance(psn, low) > 0) low = psn;
    if (distance(high, psn) > 0) high = psn;
  }
  /// Whether both have some PSNs of the same range.
  [[nodiscard]] bool overlaps(const FlowAtTap& other) const noexcept {
    return wire::Psn::distance(wire::Psn{low}, wire::Psn{other.high}) >= 0 &&
           wire::Psn::distance(wire::Psn{other.low}, wire::Psn{high}) >= 0;
  }
};

Duration median_of(std::vector<std::int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return Duration{*middle};
}

/// Adds what the taps of one address pair say about each two of them.
void compare_pair(const std::map<std::uint32_t, PairAtTap>& taps,
                  std::map<PairKey, TapPairFacts>& facts, std::map<PairKey, bool>& not_opposite) {
  for (auto a = taps.begin(); a != taps.end(); ++a)
    for (auto b = std::next(a); b != taps.end(); ++b) {
      const PairAtTap &one = a->second, &other = b->second;
      const PairKey key{a->first, b->first};
      TapPairFacts& fact = facts[key];
      fact.common_addresses = true;
      fact.same_time = fact.same_time || (one.first <= other.last && other.first <= one.last);
      const bool opposite = (one.frames[0] == 0 && other.frames[1] == 0) ||
                            (one.frames[1] == 0 && other.frames[0] == 0);
      if (!opposite) not_opposite[key] = true;
    }
}

void compare_flow(const std::map<std::uint32_t, FlowAtTap>& taps,
                  std::map<PairKey, TapPairFacts>& facts) {
  for (auto a = taps.begin(); a != taps.end(); ++a)
    for (auto b = std::next(a); b != taps.end(); ++b) {
      const FlowAtTap &one = a->second, &other = b->second;
      TapPairFacts& fact = facts[{a->first, b->first}];
      fact.common += std::min(one.frames, other.frames);
      if (one.requests == 0 || other.requests == 0) continue;
      fact.common_flows = true;
      fact.interleaved = fact.interleaved || one.overlaps(other);
    }
}

/// Requests and answers that a tap saw.
struct TalkAtTap {
  PsnStamps requests, answers;
};

/// Adds the times from requests at one tap to their answers at another. `taps`: those that saw
/// requests from one address to another, or their answers.
void compare_answers(const std::map<std::uint32_t, TalkAtTap>& taps,
                     std::map<PairKey, TapPairFacts>& facts) {
  for (const auto& [asked, requests] : taps)
    for (const auto& [answered, answers] : taps) {
      if (asked == answered) continue;
      std::vector<std::int64_t> times = answer_times(requests.requests, answers.answers);
      if (times.size() < kFewestAnswers) continue;
      TapPairFacts& fact = facts[std::minmax(asked, answered)];
      std::optional<Duration>& known = fact.answered[asked < answered ? 0 : 1];
      const Duration median = median_of(times);
      known = known ? std::min(*known, median) : median;
    }
}

}  // namespace

/// How often the frames of a direction come, and how far their views are apart.
struct Repetitions {
  std::array<std::uint64_t, TapFrames::kMostViews + 1> clusters{};   // by views; 0: more
  std::array<std::uint64_t, TapFrames::kMostViews + 1> multiples{};  // frames in so many views, or
                                                                     // in a multiple
  std::uint64_t frames = 0;
  std::array<Duration, TapFrames::kMostViews + 1> apart{};
  std::map<std::string_view, std::uint64_t> differences;

  /// The number of views that so many in twenty frames have; or half of them, and the others a
  /// multiple, as packets that are sent again soon have, but for one in twenty. 0: none.
  [[nodiscard]] std::uint32_t usual(std::uint64_t in_twenty) const noexcept {
    for (std::uint32_t views = 2; views < clusters.size(); ++views) {
      const std::uint64_t with = clusters[views] * views;
      if (20 * with >= in_twenty * frames) return views;
      if (2 * with >= frames && 20 * multiples[views] >= 19 * frames) return views;
    }
    return 0;
  }
};

namespace {

/// The number of views of each frame; 0: they are seen once, or not alike.
std::uint32_t views_of(const std::array<Repetitions, 2>& ways) {
  constexpr std::uint64_t kEnough = 8, kEnoughOneWay = 32;  // frames
  // In twenty frames. A sender that goes back far and soon sends most requests again, with equal
  // bytes: where only they were captured, views have to be of nearly all.
  constexpr std::uint64_t kMost = 16, kNearlyAll = 19;
  const std::uint64_t frames = ways[0].frames + ways[1].frames;
  const bool both = ways[0].frames > 0 && ways[1].frames > 0;
  if (both) {
    const std::uint32_t views = ways[0].usual(kMost);
    return views == ways[1].usual(kMost) && frames >= kEnough ? views : 0;
  }
  const Repetitions& only = ways[0].frames > 0 ? ways[0] : ways[1];
  const bool differs = !only.differences.empty();
  if (differs) return frames >= kEnough ? only.usual(kMost) : 0;
  return frames >= kEnoughOneWay ? only.usual(kNearlyAll) : 0;
}

RepeatedViews description_of(const std::array<Repetitions, 2>& ways, std::uint32_t views) {
  RepeatedViews found{.views = views};
  std::map<std::string_view, std::uint64_t> differences;
  for (const Repetitions& way : ways) {
    found.apart = std::max(found.apart, way.apart[views]);
    for (const auto& [words, count] : way.differences) differences[words] += count;
  }
  const auto most =
      std::ranges::max_element(differences, {}, [](const auto& one) { return one.second; });
  if (most != differences.end()) found.difference = most->first;
  return found;
}

}  // namespace

std::uint32_t TapFrames::form_index(const ViewForm& form) {
  constexpr std::size_t kMostForms = 64;  // the last that were used
  const std::size_t from = forms_.size() > kMostForms ? forms_.size() - kMostForms : 0;
  for (std::size_t i = forms_.size(); i-- > from;)
    if (forms_[i] == form) return static_cast<std::uint32_t>(i);
  forms_.push_back(form);
  return static_cast<std::uint32_t>(forms_.size() - 1);
}

void TapFrames::add(std::uint32_t tap, const roce::Frame& frame, const ViewForm& form,
                    Instant stamp) {
  const auto identity = view_identity_of(frame);
  if (!identity || seen_.size() >= kMostFrames) return;
  const roce::FlowKey key = roce::flow_key(frame);
  const bool back = key.destination < key.source;
  const AddressPair addresses =
      back ? AddressPair{key.destination, key.source} : AddressPair{key.source, key.destination};
  if (pairs_.size() >= kMostPairs && !pairs_.contains(addresses)) return;
  if (flows_.size() >= kMostFlows && !flows_.contains(key)) return;
  const auto pair = pairs_.try_emplace(addresses, static_cast<std::uint32_t>(pairs_.size())).first;
  const auto flow = flows_.try_emplace(key, static_cast<std::uint32_t>(flows_.size())).first;
  seen_.push_back({.identity = *identity,
                   .stamp = to_ns(stamp),
                   .tap = tap,
                   .pair = pair->second,
                   .flow = flow->second,
                   .psn = frame.bth->psn().value(),
                   .form = form_index(form),
                   .back = back,
                   .role = key.role,
                   .refuses = frame.aeth != nullptr && frame.aeth->kind() != wire::AethKind::ack});
}

/// The frames by identity, then by time.
std::vector<const TapFrames::SeenAtTap*> TapFrames::in_order() const {
  std::vector<const SeenAtTap*> order;
  order.reserve(seen_.size());
  for (const SeenAtTap& seen : seen_) order.push_back(&seen);
  std::ranges::stable_sort(order, {},
                           [](const SeenAtTap* s) { return std::tuple(s->identity, s->stamp); });
  return order;
}

std::map<PairKey, TapPairFacts> TapFrames::pair_facts(std::uint32_t taps) const {
  std::map<PairKey, TapPairFacts> facts;
  std::map<std::uint32_t, std::map<std::uint32_t, PairAtTap>> by_pair;
  std::map<std::uint32_t, std::map<std::uint32_t, FlowAtTap>> by_flow;
  for (const SeenAtTap& s : seen_) {
    if (s.tap >= taps) continue;
    PairAtTap& at = by_pair[s.pair][s.tap];
    ++at.frames[s.back ? 1 : 0];
    at.first = std::min(at.first, s.stamp);
    at.last = std::max(at.last, s.stamp);
    FlowAtTap& flow = by_flow[s.flow][s.tap];
    ++flow.frames;
    if (s.role == wire::Role::request) flow.add(s.psn);
  }
  std::map<PairKey, bool> not_opposite;
  for (const auto& [pair, at] : by_pair) compare_pair(at, facts, not_opposite);
  for (const auto& [flow, at] : by_flow) compare_flow(at, facts);
  std::map<PairKey, std::array<std::vector<std::int64_t>, 2>> later;
  const std::vector<const SeenAtTap*> order = in_order();
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    std::map<std::uint32_t, std::vector<std::int64_t>> stamps;  // by tap
    for (; end < order.size() && order[end]->identity == order[i]->identity; ++end)
      if (order[end]->tap < taps) stamps[order[end]->tap].push_back(order[end]->stamp);
    for (auto a = stamps.begin(); a != stamps.end(); ++a)
      for (auto b = std::next(a); b != stamps.end(); ++b)
        for (std::size_t k = 0; k < std::min(a->second.size(), b->second.size()); ++k)
          later[{a->first, b->first}][order[i]->back ? 1 : 0].push_back(
              stamp_difference(instant_from_ns(b->second[k]), instant_from_ns(a->second[k]))
                  .count());
  }
  for (auto& [key, ways] : later)
    for (const std::size_t way : {0U, 1U}) {
      const auto sooner = std::ranges::count_if(ways[way], [](std::int64_t d) { return d < 0; });
      const auto later_ones = static_cast<std::ptrdiff_t>(ways[way].size()) - sooner;
      facts[key].shared += ways[way].size();
      facts[key].unordered += static_cast<std::uint64_t>(std::min(sooner, later_ones));
      if (!ways[way].empty()) facts[key].later[way] = median_of(ways[way]);
    }
  for (auto& [key, fact] : facts) fact.opposite = fact.common_addresses && !not_opposite[key];
  add_answers(taps, facts);
  return facts;
}

void TapFrames::add_answers(std::uint32_t taps, std::map<PairKey, TapPairFacts>& facts) const {
  const auto is_half = [](const auto& entry) { return entry.second.opposite; };
  if (taps < 3 || std::ranges::none_of(facts, is_half)) return;
  using Key = std::pair<std::uint32_t, bool>;  // pair, direction of requests
  std::map<Key, std::map<std::uint32_t, TalkAtTap>> talks;
  for (const SeenAtTap& s : seen_) {
    if (s.tap >= taps || s.role == wire::Role::notification || s.refuses) continue;
    const bool request = s.role == wire::Role::request;
    TalkAtTap& at = talks[{s.pair, s.back == request}][s.tap];
    (request ? at.requests : at.answers).add(s.psn, s.stamp);
  }
  for (auto& [key, at] : talks) {
    for (auto& [tap, talk] : at) talk.requests.finish(), talk.answers.finish();
    compare_answers(at, facts);
  }
}

std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<Repetitions, 2>>
TapFrames::repetitions(const std::vector<const SeenAtTap*>& order,
                       const std::vector<std::uint32_t>& point_of, Duration within) const {
  std::map<PairKey, std::array<Repetitions, 2>> all;
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    const SeenAtTap& first = *order[i];
    const std::uint32_t point = point_of[first.tap];
    const auto is_view = [&](const SeenAtTap& other) {
      return other.identity == first.identity && point_of[other.tap] == point &&
             stamp_difference(instant_from_ns(other.stamp), instant_from_ns(first.stamp)) <= within;
    };
    while (end < order.size() && is_view(*order[end])) ++end;
    Repetitions& way = all[{point, first.pair}][first.back ? 1 : 0];
    const std::size_t views = end - i;
    way.frames += views;
    const std::size_t slot = views <= kMostViews ? views : 0;
    ++way.clusters[slot];
    for (std::size_t number = 2; number <= kMostViews; ++number)
      if (views % number == 0) way.multiples[number] += views;
    if (slot < 2) continue;
    way.apart[slot] = std::max(way.apart[slot], Duration{order[end - 1]->stamp - first.stamp});
    const auto words = difference_of(forms_[first.form], forms_[order[i + 1]->form]);
    if (!words.empty()) ++way.differences[words];
  }
  return all;
}

std::map<std::uint32_t, std::vector<RepeatedViews>> TapFrames::repeated_views(
    const std::vector<std::uint32_t>& point_of) const {
  std::vector<const SeenAtTap*> order = in_order();
  std::erase_if(order, [&](const SeenAtTap* s) { return s->tap >= point_of.size(); });
  std::ranges::stable_sort(order, {}, [&](const SeenAtTap* s) { return point_of[s->tap]; });
  std::map<std::uint32_t, AddressPair> addresses;
  for (const auto& [pair, index] : pairs_) addresses[index] = pair;
  std::map<PairKey, RepeatedViews> found;
  // Where packets are sent again soon, a long time has views of several transmissions.
  for (const Duration within : {kMostApart, kMostApart / 5, kMostApart / 25})
    for (const auto& [key, ways] : repetitions(order, point_of, within)) {
      const std::uint32_t views = views_of(ways);
      if (views == 0 || found.contains(key)) continue;
      found[key] = description_of(ways, views);
      found[key].addresses = addresses[key.second];
    }
  std::map<std::uint32_t, std::vector<RepeatedViews>> by_point;
  for (auto& [key, views] : found) by_point[key.first].push_back(std::move(views));
  return by_point;
}

}  // namespace lw::dissect
