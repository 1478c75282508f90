// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/path/path_points.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace lw::dissect {
namespace {

/// TTLs of the first frame of some flows at each point.
class HopLimits {
 public:
  static constexpr std::size_t kMostFlows = 1024;

  void add(std::size_t point, const CapturedFrame& captured) {
    const auto frame = roce::parse(captured.envelope);
    if (!frame || !frame->bth) return;
    const roce::FlowKey key = roce::flow_key(*frame);
    if (limits_.size() >= kMostFlows && !limits_.contains(key)) return;
    limits_[key].try_emplace(point, captured.envelope.hop_limit());
  }

  /// The points in the order of the hops, as the first flow shows it that all points saw with
  /// different TTLs; nothing: none shows it. The end of the order is that of `given`, if a flow
  /// there and one back show opposite orders.
  [[nodiscard]] std::optional<std::vector<std::size_t>> order(std::size_t points) const {
    for (const auto& [key, at] : limits_) {
      if (at.size() != points) continue;
      std::vector<std::size_t> order(points);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::sort(order, std::greater{}, [&](std::size_t i) { return at.at(i); });
      const bool differ = std::ranges::adjacent_find(
                              order, {}, [&](std::size_t i) { return at.at(i); }) == order.end();
      if (!differ) continue;
      if (order.front() > order.back()) std::ranges::reverse(order);
      return order;
    }
    return std::nullopt;
  }

 private:
  std::map<roce::FlowKey, std::map<std::size_t, std::uint8_t>> limits_;
};

/// The frames of several points of one reading.
struct PointFrames {
  std::vector<CapturePoint> points;
  Names names;
  HopLimits hops;
};

Result<std::unique_ptr<PointFrames>> read_frames(const OpenCaptures& open, CapturePoints decided,
                                                 const std::vector<std::uint32_t>& numbers,
                                                 const IdentityRule& rule) {
  auto source = open();
  if (!source) return std::unexpected(source.error());
  auto read = std::make_unique<PointFrames>();
  read->points.resize(numbers.size());
  for (CapturePoint& point : read->points) point.records = CaptureRecords(rule.by_icrc);
  for (;;) {
    const auto captured = source->next();
    if (!captured && captured.error().exit == ExitCode::usage)
      return std::unexpected(captured.error());
    if (!captured || !*captured) return read;
    const CapturedFrame& frame = **captured;
    const std::uint32_t number = decided.of(frame, *source);
    const auto at = std::ranges::find(numbers, number);
    if (at == numbers.end()) continue;
    const auto index = static_cast<std::size_t>(at - numbers.begin());
    CapturePoint& point = read->points[index];
    ++point.frames;
    if (decided.has_repeated_views()) {
      const auto parsed = roce::parse(frame.envelope);
      if (parsed && decided.is_further_view(number, *parsed, frame.record.stamp)) {
        ++point.further_views;
        continue;
      }
    }
    if (auto added = add_record(point, frame, read->names, rule); !added)
      return std::unexpected(added.error());
    if (numbers.size() > 2) read->hops.add(index, frame);
  }
}

/// Whether most frames that two points saw were changed on the way.
bool is_mostly_changed(const std::vector<Comparison>& segments) {
  std::uint64_t changed = 0, matches = 0;
  for (const Comparison& found : segments) {
    changed += found.near_to_far.changed + found.far_to_near.changed;
    matches += found.matching.matches.size();
  }
  return 2 * changed > matches;
}

std::vector<Comparison> compare_all(PointFrames& read) {
  std::vector<Comparison> segments;
  for (std::size_t i = 0; i + 1 < read.points.size(); ++i) {
    CapturePoint &near = read.points[i], &far = read.points[i + 1];
    CompareRules rules{.judges_span = true};
    Comparison found = compare_points(near, far, read.names, rules);
    if (found.matching.one_way) {
      rules.senders = Senders::both_unsynchronized;
      found = compare_points(near, far, read.names, rules);
    }
    segments.push_back(std::move(found));
  }
  return segments;
}

template <class Value>
void put_in_order(std::vector<Value>& values, const std::vector<std::size_t>& order) {
  std::vector<Value> moved;
  for (const std::size_t i : order) moved.push_back(std::move(values[i]));
  values = std::move(moved);
}

}  // namespace

std::string PathPoints::segment_name(std::size_t segment, bool goes_far) const {
  const std::string &near = names[segment], &far = names[segment + 1];
  return fmt::format("{} > {}", goes_far ? near : far, goes_far ? far : near);
}

Result<PathPoints> read_path(const OpenCaptures& open, const CapturePoints& decided,
                             std::vector<std::uint32_t> numbers) {
  auto read = read_frames(open, decided, numbers, {});
  if (!read) return std::unexpected(read.error());
  IdentityRule rule = rule_for((*read)->points);
  const auto read_again = [&]() -> Result<void> {
    read->reset();  // frees its memory
    read = read_frames(open, decided, numbers, rule);
    return read ? Result<void>{} : std::unexpected(read.error());
  };
  if (!rule.by_icrc)
    if (auto done = read_again(); !done) return std::unexpected(done.error());
  if (const auto order = (*read)->hops.order(numbers.size())) {
    put_in_order(numbers, *order);
    put_in_order((*read)->points, *order);
  }
  PathPoints path{.segments = compare_all(**read), .rule = rule};
  if (!rule.by_icrc && rule.judges_icrcs && is_mostly_changed(path.segments)) {
    rule = {};
    if (auto done = read_again(); !done) return std::unexpected(done.error());
    path.segments = compare_all(**read);
    path.rule = rule;
  }
  path.flows = (*read)->names.flows.keys();
  path.points = std::move((*read)->points);
  for (const std::uint32_t number : numbers) path.names.push_back(decided.name(number));
  path.numbers = std::move(numbers);
  return path;
}

}  // namespace lw::dissect
