// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/points/capture_points.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/limits.h"
#include "core/quantity.h"
#include "wire/address.h"

namespace lw::dissect {
namespace {

/// The point that an interface's name defines; empty: none.
std::string_view defined_point(std::string_view name) {
  const auto& parts = capture::kRecordingInterfaces;
  if (name == parts[0] || name == parts[3]) return "west";
  if (name == parts[1] || name == parts[2]) return "east";
  for (const std::string_view host : {"client", "server"})
    for (const std::string_view way : {"-in", "-out"})
      if (name.starts_with(host) && name.substr(host.size()) == way) return host;
  return {};
}

/// An interface without a name has its number in the first file, but for number 0.
Tap tap_of(std::uint32_t interface, const FrameSource& source) {
  const std::string& name = source.interfaces()[interface].name;
  const std::uint32_t file = source.place_index_of(interface);
  const std::string_view defined = defined_point(name);
  if (!defined.empty()) return {std::string(defined), true, file};
  const bool numbered = name.empty() && interface > 0 && file == 0;
  return {numbered ? fmt::format("{}", interface) : name, false, file};
}

std::string base_name(const std::string& file) { return file.substr(file.rfind('/') + 1); }

/// The number of an interface in its file.
std::uint32_t number_of(std::uint32_t interface, const FrameSource& source) {
  std::uint32_t number = 0;
  for (std::uint32_t i = 0; i < interface; ++i)
    number += source.place_index_of(i) == source.place_index_of(interface);
  return number;
}

/// A name for a tap in a list of taps.
std::string tap_name(std::uint32_t interface, const FrameSource& source) {
  const std::string& name = source.interfaces()[interface].name;
  if (!name.empty()) return name;
  const auto in_file = [&](std::uint32_t other) {
    return source.place_index_of(other) == source.place_index_of(interface);
  };
  std::uint32_t interfaces = 0;
  for (std::uint32_t i = 0; i < source.interfaces().size(); ++i) interfaces += in_file(i);
  return interfaces == 1 ? base_name(source.file_of(interface))
                         : fmt::format("{}", number_of(interface, source));
}

std::string joined(const std::vector<std::string>& names, std::string_view between) {
  constexpr std::size_t kShown = 4;
  if (names.size() <= kShown) return fmt::format("{}", fmt::join(names, between));
  return fmt::format("{}{}{} more", fmt::join(names.begin(), names.begin() + kShown - 1, between),
                     between, names.size() - kShown + 1);
}

/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& names) {
  if (names.size() < 2) return names.empty() ? "" : names.front();
  const std::vector<std::string> before(names.begin(), names.end() - 1);
  return joined(before, ", ") + " and " + names.back();
}

std::string address_words(const std::array<std::byte, 16>& address) {
  return wire::to_string(wire::ip_of(wire::Ipv6Address{address}));
}

/// Adds the speed that a file states of one of a point's interfaces: nonsense counts as not stated.
void add_speed(CapturePointInfo& point, std::uint64_t speed) {
  if (speed < kLowestRate || speed > kHighestRate) return;
  point.link_rate = point.link_rate == 0 ? speed : std::min(point.link_rate, speed);
}

std::string repeated_sentence(const std::vector<RepeatedViews>& repeated) {
  if (repeated.empty()) return {};
  const RepeatedViews& first = repeated.front();
  Duration apart{};
  for (const RepeatedViews& one : repeated) apart = std::max(apart, one.apart);
  const std::string between =
      repeated.size() > 1 ? fmt::format("of {} pairs of hosts", repeated.size())
                          : fmt::format("between {} and {}", address_words(first.addresses[0]),
                                        address_words(first.addresses[1]));
  return fmt::format("Each frame {} was captured {}, up to {} apart ({}): each is analysed once.",
                     between, first.views == 2 ? "twice" : fmt::format("{} times", first.views),
                     format_duration(apart),
                     first.difference.empty() ? "equal bytes" : "different " + first.difference);
}

using Tokens = std::vector<std::vector<std::string>>;  // by point

/// Splits "eth0+eth1,eth2".
Tokens split_option(const std::string& option) {
  Tokens points(1);
  std::string word;
  for (const char c : option + ",") {
    if (c != ',' && c != '+') {
      word += c;
      continue;
    }
    points.back().push_back(std::exchange(word, {}));
    if (c == ',') points.emplace_back();
  }
  points.pop_back();
  return points;
}

bool is_named(std::uint32_t interface, const std::string& word, const FrameSource& source) {
  const std::string& file = source.file_of(interface);
  return word == source.interfaces()[interface].name ||
         word == fmt::format("{}", number_of(interface, source)) || word == file ||
         word == base_name(file);
}

/// The groups that --points asks for.
Result<std::vector<TapGroup>> groups_of_option(const std::string& option, const FrameSource& source,
                                               std::vector<bool>& left_out,
                                               std::set<std::string>* unknown) {
  std::vector<TapGroup> groups;
  std::size_t at = 1;  // position of the word, from 1
  for (const auto& words : split_option(option)) {
    TapGroup group{.by = PointBy::option};
    for (const std::string& word : words) {
      const std::size_t before = group.taps.size();
      for (std::uint32_t tap = 0; tap < source.interfaces().size(); ++tap) {
        if (!is_named(tap, word, source)) continue;
        if (left_out[tap])
          return fail(
              fmt::format("--points: \"{}\" at character {} names an interface that is "
                          "named before",
                          word, at));
        left_out[tap] = true;
        group.taps.push_back(tap);
      }
      if (group.taps.size() == before && unknown != nullptr) {
        unknown->insert(word);
      } else if (group.taps.size() == before) {
        std::set<std::string> known;
        for (std::uint32_t tap = 0; tap < source.interfaces().size(); ++tap)
          known.insert(tap_name(tap, source));
        return fail(
            fmt::format("--points: \"{}\" at character {} is no interface and no file; "
                        "the capture begins with {}",
                        word, at, fmt::join(known, ", ")));
      }
      at += word.size() + 1;
    }
    if (!group.taps.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

/// What the first frames of a source show.
struct FirstFrames {
  TapFrames frames;
  std::map<std::uint32_t, Instant> begins;  // the first stamp, by tap with RoCE frames

  [[nodiscard]] Instant begin_of(const TapGroup& group) const {
    Instant begin = Instant::max();
    for (const std::uint32_t tap : group.taps)
      if (const auto known = begins.find(tap); known != begins.end())
        begin = std::min(begin, known->second);
    return begin;
  }
};

FirstFrames first_frames_of(FrameSource& source) {
  FirstFrames seen;
  source.preview([&](const CapturedFrame& captured) {
    const auto frame = roce::parse(captured.envelope);
    if (!frame) return;
    const std::uint32_t tap = captured.record.interface;
    const Instant stamp = captured.record.stamp;
    const auto known = seen.begins.try_emplace(tap, stamp).first;
    known->second = std::min(known->second, stamp);
    if (tap < CapturePoints::kMostTaps)
      seen.frames.add(tap, *frame,
                      view_form_of(captured.envelope, source.interfaces()[tap].link_type), stamp);
  });
  return seen;
}

/// Each tap is a point.
Result<std::vector<TapGroup>> single_groups(const FirstFrames& seen) {
  std::vector<TapGroup> groups;
  for (const auto& [tap, begin] : seen.begins) groups.push_back({{tap}, PointBy::option, true});
  return groups;
}

/// The groups that --points asks for, if it is given; of the other taps those that the frames show.
Result<std::vector<TapGroup>> groups_of(const TapPairs& facts, const std::vector<Tap>& taps,
                                        const std::string& option, const FrameSource& source,
                                        std::set<std::string>* unknown) {
  std::vector<bool> named(taps.size());
  auto groups = option.empty() ? Result<std::vector<TapGroup>>(std::vector<TapGroup>())
                               : groups_of_option(option, source, named, unknown);
  if (!groups) return groups;
  for (TapGroup& group : group_taps(taps, facts, named)) groups->push_back(std::move(group));
  return groups;
}

}  // namespace

std::string CapturePointInfo::sentence() const {
  std::string text;
  switch (by) {
    case PointBy::halves:
      text = listed(taps) + " are halves of one point: each carries one direction.";
      break;
    case PointBy::parts:
      text = listed(taps) + " are parts of one point: the packets are divided between them.";
      break;
    case PointBy::views:
      text = listed(taps) + " are views of one point: both show the same frames.";
      break;
    case PointBy::option:
      if (taps.size() > 1) text = listed(taps) + " are one point, as --points says.";
      break;
    default:
      if (is_seen_elsewhere)
        text = name + " is a point of its own: another place saw the same frames.";
  }
  const std::string views = repeated_sentence(repeated);
  return text + (text.empty() || views.empty() ? "" : " ") + views;
}

const FigureTable& CapturePointInfo::figures() {
  using Row = FigureOf<CapturePointInfo>;
  static constexpr Figure kRows[] = {
      Row::of<&CapturePointInfo::name>("name", "Name of the capture point."),
      Row::of<&CapturePointInfo::taps>("taps", "Its interfaces, by name, number or file."),
      Row::of<&CapturePointInfo::by>(
          "decided_by",
          "one tap; name: interfaces with one name, or files; halves: each interface carries one "
          "direction; parts: the packets are divided between them; views: they show the same "
          "frames; option: --points."),
      Row::of<[](const CapturePointInfo& p) { return !p.repeated.empty(); }>(
          "repeated_views", "Whether frames were captured several times: each is analysed once."),
      Row::of<&CapturePointInfo::sentence>("sentence", "What was decided; empty: nothing.")};
  static constexpr FigureTable kTable{"A capture point.", kRows};
  return kTable;
}

void CapturePoints::add_point(const TapGroup& group, const std::vector<Tap>& taps,
                              const FrameSource& source) {
  CapturePointInfo info{
      .name = {}, .taps = {}, .by = group.by, .is_seen_elsewhere = group.is_seen_elsewhere};
  std::vector<std::string> labels;
  for (const std::uint32_t tap : group.taps) {
    info.taps.push_back(tap_name(tap, source));
    if (std::ranges::find(labels, taps[tap].label) == labels.end())
      labels.push_back(taps[tap].label);
    by_tap_[tap] = static_cast<std::uint32_t>(points_.size());
    add_speed(info, source.interfaces()[tap].speed);
    by_label_.try_emplace(taps[tap].label, *by_tap_[tap]);
  }
  info.name = labels.size() == 1 ? labels.front() : joined(info.taps, "+");
  if (group.is_seen_elsewhere) {
    std::vector<std::string> files;
    for (const std::uint32_t tap : group.taps)
      if (const std::string file = base_name(source.file_of(tap));
          std::ranges::find(files, file) == files.end())
        files.push_back(file);
    const std::string from = joined(files, "+");
    info.name = info.name.empty() || info.name == from ? from : info.name + " of " + from;
  }
  first_taps_.push_back(group.taps.empty() ? 0 : group.taps.front());
  points_.push_back(std::move(info));
}

Result<CapturePoints> CapturePoints::decide(FrameSource& source, const std::string& option,
                                            std::set<std::string>* unknown) {
  const FirstFrames seen = first_frames_of(source);
  std::vector<Tap> taps;
  for (std::uint32_t i = 0; i < source.interfaces().size(); ++i) {
    taps.push_back(tap_of(i, source));
    taps.back().is_seen = seen.begins.contains(i);
  }
  const bool each = option == "each";
  const TapPairs facts = seen.begins.size() > 1 && !each
                             ? seen.frames.pair_facts(static_cast<std::uint32_t>(taps.size()))
                             : TapPairs{};
  auto groups = each ? single_groups(seen) : groups_of(facts, taps, option, source, unknown);
  if (!groups) return std::unexpected(groups.error());
  std::ranges::stable_sort(*groups, {},
                           [&](const TapGroup& group) { return seen.begin_of(group); });
  CapturePoints points;
  points.by_tap_.resize(taps.size());
  for (const TapGroup& group : *groups) points.add_point(group, taps, source);
  if (!each) points.add_views(seen.frames, taps);
  points.add_order(seen.frames, taps);
  points.add_paths(facts, taps);
  for (std::size_t i = 0; i < points.points_.size(); ++i)
    if (CapturePointInfo& point = points.points_[i]; point.path != 0 && point.name.empty())
      point.name = base_name(source.file_of(points.first_taps_[i]));
  return points;
}

void CapturePoints::add_order(const TapFrames& frames, const std::vector<Tap>& taps) {
  std::vector<std::uint32_t> point_of, file_of;
  for (std::uint32_t tap = 0; tap < std::min(taps.size(), kMostTaps); ++tap) {
    point_of.push_back(by_tap_[tap].value_or(0));
    file_of.push_back(taps[tap].file);
  }
  order_ = StampOrder(frames, point_of, file_of);
}

void CapturePoints::add_paths(const TapPairs& facts, const std::vector<Tap>& taps) {
  std::uint32_t paths = 0;
  for (const auto& [pair, fact] : facts) {
    const auto [a, b] = pair;
    if (taps[a].is_defined || taps[b].is_defined || !by_tap_[a] || !by_tap_[b]) continue;
    CapturePointInfo &one = points_[*by_tap_[a]], &other = points_[*by_tap_[b]];
    if (&one == &other || relation_of(fact) != TapRelation::own_points) continue;
    const std::uint32_t number = one.path != 0 ? one.path : other.path != 0 ? other.path : ++paths;
    const std::uint32_t joined = other.path;
    one.path = other.path = number;
    for (CapturePointInfo& point : points_)
      if (joined != 0 && point.path == joined) point.path = number;
  }
}

std::vector<std::uint32_t> CapturePoints::path() const {
  std::vector<std::uint32_t> path;
  for (std::uint32_t i = 0; i < points_.size(); ++i) {
    const std::uint32_t number = points_[i].path;
    if (number != 0 && (path.empty() || points_[path.front()].path == number)) path.push_back(i);
  }
  std::ranges::sort(path, {}, [&](std::uint32_t point) { return first_taps_[point]; });
  return path;
}

void CapturePoints::add_views(const TapFrames& frames, const std::vector<Tap>& taps) {
  constexpr std::uint32_t kNotAsked = ~0U;  // made by a program of this suite: no mirror
  std::vector<std::uint32_t> point_of;
  for (std::uint32_t tap = 0; tap < std::min(taps.size(), kMostTaps); ++tap)
    point_of.push_back(taps[tap].is_defined ? kNotAsked : by_tap_[tap].value_or(0));
  for (const auto& [point, repeated] : frames.repeated_views(point_of)) {
    if (point == kNotAsked) continue;
    for (const RepeatedViews& views : repeated) views_.add(point, views);
    points_[point].repeated = repeated;
  }
}

std::string CapturePoints::seen_at(std::uint32_t point) const {
  if (!is_joined(point)) return name(point);
  std::vector<std::string> names;
  for (const std::uint32_t one : joined_) names.push_back(name(one));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::uint32_t CapturePoints::add(std::uint32_t interface, const FrameSource& source) {
  if (interface >= by_tap_.size()) by_tap_.resize(interface + 1);
  auto& point = by_tap_[interface];
  const Tap tap = tap_of(interface, source);
  const auto [known, is_new] =
      by_label_.try_emplace(tap.label, static_cast<std::uint32_t>(points_.size()));
  if (is_new) points_.push_back({.name = tap.label, .taps = {}, .by = PointBy::one_tap});
  point = known->second;
  points_[*point].taps.push_back(tap_name(interface, source));
  add_speed(points_[*point], source.interfaces()[interface].speed);
  if (points_[*point].taps.size() > 1 && points_[*point].by == PointBy::one_tap)
    points_[*point].by = PointBy::name;
  return *point;
}

std::vector<std::string> CapturePoints::sentences() const {
  std::vector<std::string> all;
  for (std::uint32_t i = 0; i < points_.size(); ++i) {
    const bool joined = std::ranges::find(joined_, i) != joined_.end();
    if (joined && points_[i].repeated.empty() && points_[i].taps.size() < 2) continue;
    if (std::string text = points_[i].sentence(); !text.empty()) all.push_back(std::move(text));
  }
  if (std::string text = order_.sentence(); !text.empty()) all.push_back(std::move(text));
  return all;
}

}  // namespace lw::dissect
