// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/path/path_packets.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "wire/opcode.h"

namespace lw::dissect {
namespace {

using AddressPair = std::array<std::array<std::byte, 16>, 2>;

AddressPair pair_of(const roce::FlowKey& key) {
  if (key.destination < key.source) return {key.destination, key.source};
  return {key.source, key.destination};
}

}  // namespace

/// What the matchings of the segments say of each record.
struct PathPackets::Links {
  enum End : std::uint8_t { none, lost, copy, invented, outside };
  std::vector<std::vector<std::uint32_t>> next;      // by point: order at the next point
  std::vector<std::vector<std::uint32_t>> previous;  // by point: order at the point before
  std::vector<std::vector<std::uint8_t>> goes_far;   // by point
  std::vector<std::vector<std::uint8_t>> next_end, previous_end;  // of records without a link
};

PathPackets::PathPackets(const PathPoints& path) : path_(path), clocks_(path.segments.size()) {
  Links links;
  note_directions(links);
  join(links);
  if (path_.size() > 2) bridge();
  find_unrecorded();
  add_events(links);
  add_references();
  add_times();
}

void PathPackets::note_directions(Links& links) const {
  const std::size_t points = path_.size();
  for (auto* list : {&links.next, &links.previous}) {
    list->resize(points);
    for (std::size_t i = 0; i < points; ++i)
      (*list)[i].assign(path_.points[i].records.size(), kUnseen);
  }
  for (auto* list : {&links.goes_far, &links.next_end, &links.previous_end}) {
    list->resize(points);
    for (std::size_t i = 0; i < points; ++i) (*list)[i].assign(path_.points[i].records.size(), 0);
  }
  for (std::size_t s = 0; s < path_.segments.size(); ++s) {
    const Comparison& found = path_.segments[s];
    for (const Match& m : found.matching.matches) {
      links.next[s][m.near] = m.far;
      links.previous[s + 1][m.far] = m.near;
      links.goes_far[s][m.near] = links.goes_far[s + 1][m.far] = m.goes_far;
    }
    for (const Unmatched& frame : found.matching.unmatched) {
      const std::size_t point = frame.at_far ? s + 1 : s;
      links.goes_far[point][frame.order] = frame.goes_far;
      const CaptureRecord record = path_.points[point].records[frame.order];
      const bool outside = (found.span && !frame.copy &&
                            found.span->is_outside(record, frame.at_far, frame.goes_far)) ||
                           (!frame.at_receiver() && found.lacking.hides(frame, record));
      (frame.at_far ? links.previous_end : links.next_end)[point][frame.order] =
          outside               ? Links::outside
          : frame.copy          ? Links::copy
          : frame.at_receiver() ? Links::invented
                                : Links::lost;
    }
  }
}

void PathPackets::join(const Links& links) {
  const std::size_t points = path_.size();
  at_.resize(points);
  packets_.resize(points);
  std::size_t most = 0;
  for (std::size_t i = 0; i < points; ++i) {
    packets_[i].assign(path_.points[i].records.size(), kUnseen);
    most = std::max(most, path_.points[i].records.size());
  }
  for (auto& column : at_) column.reserve(most + most / 64);
  for (std::size_t first = 0; first < points; ++first)
    for (std::uint32_t order = 0; order < packets_[first].size(); ++order) {
      if (links.previous[first][order] != kUnseen) continue;
      const auto packet = static_cast<std::uint32_t>(goes_far_.size());
      goes_far_.push_back(links.goes_far[first][order] != 0);
      for (std::size_t i = 0; i < points; ++i) at_[i].push_back(kUnseen);
      std::uint32_t here = order;
      for (std::size_t i = first; here != kUnseen; ++i) {
        at_[i][packet] = here;
        packets_[i][here] = packet;
        here = i + 1 < points ? links.next[i][here] : kUnseen;
      }
    }
}

/// Joins the parts of a packet that a point between did not see.
void PathPackets::bridge() {
  const std::size_t points = path_.size();
  const auto ends_of = [&](std::uint32_t packet) {
    std::size_t first = 0, last = points - 1;
    while (at_[first][packet] == kUnseen) ++first;
    while (at_[last][packet] == kUnseen) --last;
    return std::pair(first, last);
  };
  std::unordered_map<Identity, std::vector<std::uint32_t>> ended;  // short of the last point
  for (std::uint32_t packet = 0; packet < goes_far_.size(); ++packet) {
    const auto [first, last] = ends_of(packet);
    const Identity identity = record(packet, first).identity;
    if (first > 1) {
      const auto known = ended.find(identity);
      const auto fits = [&](std::uint32_t other) {
        return goes_far_[other] == goes_far_[packet] && ends_of(other).second + 1 < first;
      };
      if (known != ended.end()) {
        const auto other = std::ranges::find_if(known->second, fits);
        if (other != known->second.end()) {
          for (std::size_t i = first; i <= last; ++i) {
            at_[i][*other] = std::exchange(at_[i][packet], kUnseen);
            if (at_[i][*other] != kUnseen) packets_[i][at_[i][*other]] = *other;
          }
          known->second.erase(other);
          continue;
        }
      }
    }
    if (last + 2 < points) ended[identity].push_back(packet);
  }
  // Packets that were joined to others are no longer seen anywhere: the last ones take their place.
  std::vector<std::uint32_t> moved(goes_far_.size(), kUnseen);
  std::uint32_t count = 0;
  for (std::uint32_t packet = 0; packet < goes_far_.size(); ++packet) {
    const bool seen = std::ranges::any_of(
        at_, [&](const std::vector<std::uint32_t>& column) { return column[packet] != kUnseen; });
    if (!seen) continue;
    moved[packet] = count;
    for (auto& column : at_) column[count] = column[packet];
    goes_far_[count++] = goes_far_[packet];
  }
  for (auto& column : at_) column.resize(count);
  goes_far_.resize(count);
  for (auto& column : packets_)
    for (std::uint32_t& packet : column) packet = moved[packet];
}

void PathPackets::find_unrecorded() {
  std::vector<std::vector<std::uint64_t>> frames(path_.size(),
                                                 std::vector<std::uint64_t>(path_.flows.size()));
  std::vector<bool> to_far(path_.flows.size());
  for (std::size_t i = 0; i < path_.size(); ++i)
    for (const CaptureRecord& record : Records(path_.points[i].records).all()) {
      ++frames[i][record.flow];
      if (frames[i][record.flow] == 1) to_far[record.flow] = goes_far(packets_[i][record.order]);
    }
  unrecorded_flows_.resize(path_.flows.size());
  for (std::uint32_t flow = 0; flow < path_.flows.size(); ++flow) {
    std::uint64_t most = 0;
    for (const auto& at : frames) most = std::max(most, at[flow]);
    if (most < kFewFrames) continue;
    for (std::size_t i = 0; i < path_.size(); ++i) {
      if (frames[i][flow] != 0) continue;
      unrecorded_flows_[flow] = true;
      unrecorded_.push_back({flow, static_cast<std::uint32_t>(i), most, to_far[flow]});
    }
  }
}

bool PathPackets::is_unrecorded(const CaptureRecord& record) const {
  return unrecorded_flows_[record.flow];
}

/// The events at the ends of what was seen of a packet.
void PathPackets::add_ends(const Links& links, std::uint32_t packet) {
  std::size_t first = 0, last = path_.size() - 1;
  while (at_[first][packet] == kUnseen) ++first;
  while (at_[last][packet] == kUnseen) --last;
  const auto note = [&](std::size_t segment, std::uint8_t end) {
    const auto of = static_cast<std::uint16_t>(segment);
    if (end == Links::lost) events_.push_back({packet, of, HopEvent::lost});
    if (end == Links::copy) events_.push_back({packet, of, HopEvent::copied});
    if (end == Links::invented) events_.push_back({packet, of, HopEvent::missed});
  };
  if (is_unrecorded(record(packet, first))) return;
  if (first > 0) note(first - 1, links.previous_end[first][at_[first][packet]]);
  for (std::size_t i = first + 1; i < last; ++i)
    if (at_[i][packet] == kUnseen)
      events_.push_back(
          {packet, static_cast<std::uint16_t>(goes_far(packet) ? i : i - 1), HopEvent::missed});
  if (last + 1 < path_.size()) note(last, links.next_end[last][at_[last][packet]]);
  for (std::size_t i = first; i < last; ++i) {
    if (at_[i][packet] == kUnseen || at_[i + 1][packet] == kUnseen) continue;
    const std::size_t from = goes_far(packet) ? i : i + 1, to = goes_far(packet) ? i + 1 : i;
    if (record(packet, to).bad_icrc && !record(packet, from).bad_icrc)
      events_.push_back({packet, static_cast<std::uint16_t>(i), HopEvent::damaged});
  }
}

/// Packets that arrived behind a packet of their flow that was sent after them.
void PathPackets::add_late(std::size_t segment, bool goes_far) {
  const std::size_t from = goes_far ? segment : segment + 1, to = goes_far ? segment + 1 : segment;
  struct Newest {
    std::uint32_t sent = 0, packet = 0;  // sent: its order + 1; 0: none
  };
  std::vector<Newest> newest(path_.flows.size());
  for (const std::uint32_t packet : packets_[to]) {
    if (goes_far_[packet] != goes_far || at_[from][packet] == kUnseen) continue;
    const std::uint32_t sent = at_[from][packet] + 1;
    Newest& last = newest[record(packet, from).flow];
    if (sent < last.sent)
      events_.push_back({packet, static_cast<std::uint16_t>(segment), HopEvent::late, last.packet});
    if (sent > last.sent) last = {sent, packet};
  }
}

void PathPackets::add_events(const Links& links) {
  for (std::uint32_t packet = 0; packet < goes_far_.size(); ++packet) add_ends(links, packet);
  for (std::size_t segment = 0; segment < path_.segments.size(); ++segment) {
    add_late(segment, true);
    add_late(segment, false);
  }
  std::ranges::stable_sort(events_, {}, &PacketEvent::packet);
  by_flow_.resize(path_.flows.size());
  for (const PacketEvent& event : events_) by_flow_[analysed(event.packet).flow].push_back(event);
}

/// Decides for each flow which end of the path sends most requests of its addresses.
void PathPackets::add_references() {
  std::map<AddressPair, std::int64_t> requests;  // to far, less those to near
  for (std::uint32_t packet = 0; packet < goes_far_.size(); ++packet) {
    const CaptureRecord any = record(packet, analysed_at(packet));
    if (is_request(any)) requests[pair_of(path_.flows[any.flow])] += goes_far_[packet] ? 1 : -1;
  }
  far_reference_.resize(path_.flows.size());
  for (std::size_t flow = 0; flow < path_.flows.size(); ++flow) {
    const auto known = requests.find(pair_of(path_.flows[flow]));
    far_reference_[flow] = known != requests.end() && known->second < 0;
  }
}

std::size_t PathPackets::reference_of(std::uint32_t packet) const {
  if (far_reference_.empty()) return 0;  // not decided yet
  std::size_t i = 0;
  while (at_[i][packet] == kUnseen) ++i;
  return far_reference_[record(packet, i).flow] ? path_.size() - 1 : 0;
}

std::size_t PathPackets::analysed_at(std::uint32_t packet) const {
  if (reference_of(packet) == 0) {
    std::size_t i = 0;
    while (at_[i][packet] == kUnseen) ++i;
    return i;
  }
  std::size_t i = path_.size() - 1;
  while (at_[i][packet] == kUnseen) --i;
  return i;
}

std::int64_t PathPackets::SegmentClock::at(bool at_far, bool goes_far, std::uint32_t order) const {
  const auto& lists = by[at_far ? 1 : 0];
  const std::vector<Difference>& own = lists[goes_far ? 1 : 0];
  const std::vector<Difference>& list = own.empty() ? lists[goes_far ? 0 : 1] : own;
  if (list.empty()) return 0;
  const auto behind = std::ranges::upper_bound(list, order, {}, &Difference::order);
  if (behind == list.begin()) return list.front().far_minus_near;
  const std::int64_t before = std::prev(behind)->far_minus_near;
  if (behind == list.end()) return before;
  return goes_far ? std::min(before, behind->far_minus_near)
                  : std::max(before, behind->far_minus_near);
}

/// The stamp that a packet has at `from`, or would have at `to`.
std::int64_t PathPackets::stamp_at(std::uint32_t packet, std::size_t from, std::size_t to) const {
  std::int64_t stamp = record(packet, from).stamp_ns;
  std::uint32_t order = at_[from][packet];
  for (std::size_t i = from; i != to; i = i < to ? i + 1 : i - 1) {
    const bool up = from < to;
    const std::int64_t by = clocks_[up ? i : i - 1].at(!up, goes_far_[packet], order);
    stamp = up ? stamp_difference(stamp, stamp_difference(0, by)) : stamp_difference(stamp, by);
  }
  return stamp;
}

void PathPackets::add_times() {
  std::vector<std::int64_t> offset(path_.size());  // of each point's clock, from the first one's
  for (std::size_t s = 0; s < path_.segments.size(); ++s) {
    const Records near = path_.points[s].records, far = path_.points[s + 1].records;
    std::array<std::vector<std::int64_t>, 2> differences;
    std::vector<Match> matches = path_.segments[s].matching.matches;
    for (const bool at_far : {false, true}) {
      std::ranges::sort(matches, {}, [&](const Match& m) { return at_far ? m.far : m.near; });
      for (const Match& m : matches) {
        const std::int64_t difference = far_minus_near(near[m.near], far[m.far]);
        clocks_[s].by[at_far ? 1 : 0][m.goes_far ? 1 : 0].push_back(
            {at_far ? m.far : m.near, difference});
        if (at_far) differences[m.goes_far ? 1 : 0].push_back(difference);
      }
    }
    const auto middle = [](std::vector<std::int64_t>& values) {
      const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
      std::ranges::nth_element(values, at);
      return *at;
    };
    auto& [back, there] = differences;
    std::int64_t by = 0;
    if (!back.empty() && !there.empty())
      by = middle(back) / 2 + middle(there) / 2;
    else if (!back.empty() || !there.empty())
      by = middle(back.empty() ? there : back);
    offset[s + 1] = stamp_difference(offset[s], stamp_difference(0, by));
  }
  times_.resize(goes_far_.size());
  for (std::uint32_t packet = 0; packet < times_.size(); ++packet) {
    const std::size_t reference = reference_of(packet);
    times_[packet] =
        stamp_difference(stamp_at(packet, analysed_at(packet), reference), offset[reference]);
  }
}

std::optional<std::uint32_t> PathPackets::find(std::uint64_t frame) const {
  for (std::size_t i = 0; i < path_.size(); ++i) {
    const CaptureRecords& records = path_.points[i].records;
    const auto orders = std::views::iota(std::size_t{0}, records.size());
    const auto at = std::ranges::lower_bound(
        orders, frame, {}, [&](std::size_t order) { return records[order].number; });
    if (at != orders.end() && records[*at].number == frame) return packets_[i][*at];
  }
  return std::nullopt;
}

std::optional<Instant> PathPackets::begin() const {
  if (times_.empty()) return std::nullopt;
  return instant_from_ns(*std::ranges::min_element(times_));
}

std::vector<std::uint32_t> PathPackets::in_order() const {
  std::vector<std::uint32_t> order(times_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](std::uint32_t packet) { return has(packet, HopEvent::copied); });
  std::ranges::stable_sort(order, {}, [&](std::uint32_t packet) { return times_[packet]; });
  return order;
}

const PacketEvent* PathPackets::event_of(std::uint32_t packet) const noexcept {
  const auto at = std::ranges::lower_bound(events_, packet, {}, &PacketEvent::packet);
  return at != events_.end() && at->packet == packet ? &*at : nullptr;
}

bool PathPackets::has(std::uint32_t packet, HopEvent what) const noexcept {
  auto at = std::ranges::lower_bound(events_, packet, {}, &PacketEvent::packet);
  for (; at != events_.end() && at->packet == packet; ++at)
    if (at->what == what) return true;
  return false;
}

}  // namespace lw::dissect
