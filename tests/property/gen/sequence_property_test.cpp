// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <set>
#include <vector>

#include "analysis/sequence_tracker.h"
#include "gen/receive/measurement.h"
#include "gen/traffic/frame_template.h"
#include "support/property.h"

namespace lw::gen {
using analysis::Arrival;
using analysis::SequenceTracker;

namespace sequence_property_test {

struct Counts {
  std::uint64_t lost = 0, duplicated = 0, beyond_window = 0;
  std::vector<std::uint64_t> extents;
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// RFC 4737 word by word, in the square of the number of arrivals: nothing here is clever.
Counts by_definition(const std::vector<std::uint64_t>& arrivals, std::uint64_t first) {
  Counts counts;
  std::vector<std::uint64_t> firsts;  // without copies
  std::set<std::uint64_t> seen;
  for (const std::uint64_t number : arrivals) {
    if (!seen.insert(number).second) {
      ++counts.duplicated;
      continue;
    }
    const auto earlier = std::ranges::find_if(firsts, [&](auto other) { return other > number; });
    if (earlier != firsts.end()) {
      counts.extents.push_back(static_cast<std::uint64_t>(firsts.end() - earlier));
    }
    firsts.push_back(number);
  }
  if (!seen.empty()) {
    counts.lost = *seen.rbegin() + 1 - std::min(first, *seen.begin()) - seen.size();
  }
  return counts;
}

Counts by_tracker(const std::vector<std::uint64_t>& arrivals, SequenceTracker tracker) {
  Counts counts;
  for (const std::uint64_t number : arrivals) {
    const Arrival arrival = tracker.add(number);
    counts.lost += arrival.missing;
    if (arrival.kind == Arrival::Kind::duplicate) ++counts.duplicated;
    if (arrival.kind == Arrival::Kind::beyond_window) ++counts.beyond_window;
    if (arrival.kind != Arrival::Kind::late) continue;
    --counts.lost;
    counts.extents.push_back(arrival.extent);
  }
  return counts;
}

/// A stream that lost, doubled and displaced some of its numbers.
std::vector<std::uint64_t> damaged_stream(std::uint64_t first) {
  std::vector<std::uint64_t> stream;
  const auto length = *rc::gen::inRange<std::uint64_t>(1, 120);
  for (std::uint64_t i = 0; i < length; ++i) stream.push_back(first + i);
  const auto place = [&] { return *rc::gen::inRange<std::size_t>(0, stream.size()); };
  const auto at = [&](std::size_t i) { return stream.begin() + static_cast<std::ptrdiff_t>(i); };
  for (auto changes = *rc::gen::inRange(0, 20); changes > 0 && stream.size() > 1; --changes) {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        stream.erase(at(place()));
        break;
      case 1: {
        const auto copy = stream[place()];
        stream.insert(at(place()), copy);
        break;
      }
      case 2:
        std::swap(stream[place()], stream[place()]);
        break;
      default:  // a jump: numbers that never come
        for (auto i = place(); i < stream.size(); ++i) stream[i] += 7;
    }
  }
  return stream;
}

RC_GTEST_PROP(SequenceTracker, CountsWhatTheDefinitionCounts, ()) {
  const auto first = *rc::gen::element<std::uint64_t>(0, 5, 65530, 1ull << 40);
  const auto stream = damaged_stream(first);
  RC_ASSERT(by_tracker(stream, SequenceTracker(first)) == by_definition(stream, first));
}

RC_GTEST_PROP(SequenceTracker, OneThatJoinsCountsFromTheLowestItSaw, ()) {
  const auto stream = damaged_stream(1000);
  RC_ASSERT(by_tracker(stream, SequenceTracker(stream.front(), true)) ==
            by_definition(stream, stream.front()));
}

/// The same through whole frames: signed, damaged in order and checked 1 in 7.
RC_GTEST_PROP(Measurement, CountsWhatTheDefinitionCounts, ()) {
  const auto stream = damaged_stream(0);
  roce::FrameFields fields;
  fields.bth.opcode = 0x04;  // RC SEND ONLY
  constexpr std::uint32_t kFlow = 7;
  const std::vector<std::byte> payload(*rc::gen::inRange<std::size_t>(24, 200));
  LayoutCache layouts;
  const FrameTemplate frame(fields, payload, &kFlow, layouts);
  std::vector<std::byte> bytes(frame.size());
  Measurement measurement({.icrc_every = 7});
  for (const std::uint64_t number : stream) {
    VariableFields values;
    values.sequence = number;
    values.send_time_ns = 1;
    frame.write(values, bytes);
    measurement.count_frame(bytes, instant_from_ns(1001));
  }
  const ReceiveFlow& flow = measurement.flows().front();
  const Counts expected = by_definition(stream, 0);
  RC_ASSERT(measurement.flows().size() == 1u);
  RC_ASSERT(flow.frames == stream.size());
  RC_ASSERT(flow.order.lost == expected.lost);
  RC_ASSERT(flow.order.duplicated == expected.duplicated);
  RC_ASSERT(flow.order.out_of_order == expected.extents.size());
  RC_ASSERT(flow.bad_icrc == 0u);
  if (!expected.extents.empty()) {
    RC_ASSERT(static_cast<std::uint64_t>(flow.order.extents->maximum()) ==
              std::ranges::max(expected.extents));
  }
}

/// Around the window's edges the stream is longer than the map.
RC_GTEST_PROP(SequenceTracker, IsExactAsFarAsItsWindowReaches, ()) {
  constexpr std::uint64_t kWindow = SequenceTracker::kWindow;
  const auto jump = *rc::gen::inRange<std::uint64_t>(kWindow - 40, kWindow + 40);
  const auto back = *rc::gen::inRange<std::uint64_t>(0, 80);
  SequenceTracker tracker;
  for (std::uint64_t i = 0; i < 50; ++i) tracker.add(i);
  RC_ASSERT(tracker.add(50 + jump).missing == jump);
  const std::uint64_t next = 51 + jump;
  const Arrival arrival = tracker.add(back);
  if (next - back > kWindow) {
    RC_ASSERT(arrival.kind == Arrival::Kind::beyond_window);
  } else if (back < 50) {
    RC_ASSERT(arrival.kind == Arrival::Kind::duplicate);
  } else {
    RC_ASSERT(arrival.kind == Arrival::Kind::late);
    RC_ASSERT(arrival.extent == 1u);
  }
}

}  // namespace sequence_property_test
}  // namespace lw::gen
