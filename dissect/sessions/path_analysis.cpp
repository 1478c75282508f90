// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/sessions/path_analysis.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dissect/sessions/batch_reader.h"
#include "dissect/sessions/path_findings.h"

namespace lw::dissect {
namespace {

void add(CaptureTotals& to, const CaptureTotals& of) {
  to.frames += of.frames;
  to.roce += of.roce;
  to.cut += of.cut;
  for (const auto& [name, count] : of.tunnels) to.tunnels[name] += count;
  for (const auto& [opcode, count] : of.opcodes) to.opcodes[opcode] += count;
  for (const auto& [protocol, count] : of.others) to.others[protocol] += count;
  to.backwards += of.backwards;
  to.fragments += of.fragments;
  to.further_views += of.further_views;
  for (std::size_t i = 0; i < to.tagged.size(); ++i) {
    to.tagged[i] += of.tagged[i];
    to.untagged[i] += of.untagged[i];
  }
  to.ecn_capable += of.ecn_capable;
}

/// Reads the packets of one point, each when it is its turn among those of the path.
class PointReader {
 public:
  /// `wanted`: whether the frame of each record of the point is analysed, by its order.
  PointReader(Result<FrameSource> source, CapturePoints points, OnePoint one,
              const CapturePoint& frames, std::vector<bool> wanted)
      : source_(std::move(source)),
        points_(std::move(points)),
        frames_(frames),
        wanted_(std::move(wanted)),
        reader_(*source_, points_, totals_, kNoObserver, one) {}
  PointReader(const PointReader&) = delete;
  PointReader& operator=(const PointReader&) = delete;

  /// Returns the packet of a record, whose frame is wanted; nothing if the file ended before, as it
  /// has changed. Calls `other` with packets before it that have no record.
  std::optional<analysis::KeyedPacket> read_packet(std::uint32_t order,
                                                   analysis::Analyst& analyst) {
    for (;;) {
      if (const auto known = waiting_.find(order); known != waiting_.end()) {
        analysis::KeyedPacket packet = std::move(known->second);
        waiting_.erase(known);
        return packet;
      }
      if (!read(analyst)) return std::nullopt;
    }
  }
  void finish(analysis::Analyst& analyst) {
    while (read(analyst)) {
    }
  }
  [[nodiscard]] const CaptureTotals& totals() const noexcept { return totals_; }
  [[nodiscard]] const std::optional<Error>& damage() const noexcept { return reader_.damage(); }
  [[nodiscard]] const FrameSource& source() const noexcept { return *source_; }
  [[nodiscard]] std::uint32_t points() const noexcept {
    return static_cast<std::uint32_t>(points_.points().size());
  }

 private:
  static inline const EachFrame kNoObserver = {};

  bool read(analysis::Analyst& analyst) {
    if (ended_) return false;
    ended_ = !reader_.read(batch_, 1);
    add_beside(batch_, analyst);
    for (analysis::KeyedPacket& packet : batch_.packets) keep(std::move(packet));
    return !ended_;
  }

  void keep(analysis::KeyedPacket&& packet) {
    const auto& records = frames_.records;
    while (next_ < records.size() && records[next_].number < packet.packet.number) ++next_;
    if (next_ == records.size() || records[next_].number != packet.packet.number) return;
    if (wanted_[next_]) waiting_.emplace(next_, std::move(packet));
    ++next_;
  }

  Result<FrameSource> source_;
  CapturePoints points_;
  const CapturePoint& frames_;
  std::vector<bool> wanted_;
  CaptureTotals totals_;
  BatchReader reader_;
  Batch batch_;
  std::unordered_map<std::uint32_t, analysis::KeyedPacket> waiting_;  // by order
  std::uint32_t next_ = 0;                                            // record
  bool ended_ = false;
};

/// Whether the frame of each record of a point is analysed.
std::vector<bool> wanted_at(const PathPackets& packets, std::size_t point) {
  std::vector<bool> wanted(packets.path().points[point].records.size());
  for (std::uint32_t packet = 0; packet < packets.size(); ++packet)
    if (packets.analysed_at(packet) == point) wanted[packets.at(packet, point)] = true;
  return wanted;
}

/// Follows the points that are on no path.
Result<void> follow_others(const OpenCaptures& open, analysis::Analyst& analyst,
                           AnalysedCaptures& captures, std::uint32_t points) {
  const auto& path = captures.joined->path.numbers;
  static const EachFrame kNone;
  for (std::uint32_t number = 0; number < points; ++number) {
    if (std::ranges::find(path, number) != path.end()) continue;
    auto source = open();
    if (!source) return std::unexpected(source.error());
    CaptureTotals totals;
    BatchReader reader(*source, captures.points, totals, kNone, OnePoint{number, number});
    Batch batch;
    for (bool more = true; more;) {
      more = reader.read(batch, 64);
      for (const analysis::KeyedPacket& packet : batch.packets) analyst.add(packet);
      add_beside(batch, analyst);
    }
    add(captures.totals, totals);
  }
  return {};
}

/// Follows the packets of a path, each once, in the order of their times.
Result<void> follow_path(const OpenCaptures& open, analysis::Analyst& analyst,
                         AnalysedCaptures& captures) {
  const PathPackets& packets = captures.joined->packets;
  const PathPoints& path = captures.joined->path;
  std::vector<std::unique_ptr<PointReader>> readers;
  for (std::size_t i = 0; i < path.size(); ++i) {
    auto source = open();
    if (!source) return std::unexpected(source.error());
    readers.push_back(std::make_unique<PointReader>(std::move(source), captures.points,
                                                    OnePoint{path.numbers[i], path.numbers.front()},
                                                    path.points[i], wanted_at(packets, i)));
  }
  const std::vector<std::uint32_t> order = packets.in_order();
  for (const std::uint32_t packet : order) {
    const std::size_t point = packets.analysed_at(packet);
    auto keyed = readers[point]->read_packet(packets.at(packet, point), analyst);
    if (!keyed) continue;
    keyed->packet.stamp = instant_from_ns(packets.time_ns(packet));
    analyst.add(*keyed);
  }
  std::uint32_t points = 0;
  for (const auto& reader : readers) {
    reader->finish(analyst);
    add(captures.totals, reader->totals());
    if (reader->damage()) captures.damage = reader->damage();
    points = std::max(points, reader->points());
  }
  captures.totals.unopened = readers.front()->source().unopened();
  captures.totals.dropped = readers.front()->source().dropped();
  if (!order.empty()) {
    captures.totals.first = instant_from_ns(packets.time_ns(order.front()));
    captures.totals.last = instant_from_ns(packets.time_ns(order.back()));
  }
  return follow_others(open, analyst, captures, points);
}

Result<void> analyse_joined(const AnalysisPlan& plan, analysis::Analyst& analyst,
                            CollectedResults& results, AnalysedCaptures& captures) {
  if (auto done = follow_path(plan.open, analyst, captures); !done) return done;
  analyst.finish();
  report_unfollowed(analyst);
  results.replace(path_findings(results.in_order(), analyst, captures.joined->packets));
  return {};
}

}  // namespace

std::string places_of(const JoinedPath* joined, const analysis::Message& message) {
  if (joined == nullptr) return {};
  const PathPackets& packets = joined->packets;
  const auto first = packets.find(message.first_frame);
  if (!first) return {};
  const std::uint32_t flow = packets.analysed(*first).flow;
  std::set<std::string> places;
  for (const PacketEvent& event : packets.events_of(flow)) {
    const bool counts = event.what == HopEvent::lost || event.what == HopEvent::late;
    const CaptureRecord record = packets.analysed(event.packet);
    const Instant stamp = instant_from_ns(packets.time_ns(event.packet));
    const bool within =
        stamp >= message.first_stamp && (!message.completion || stamp <= message.completion->stamp);
    if (counts && within && ((record.psn - message.first_psn) & 0xffffff) < message.packets)
      places.insert(joined->path.segment_name(event.segment, packets.goes_far(event.packet)));
  }
  return fmt::format("{}", fmt::join(places, ", "));
}

Result<void> analyse_captures(const AnalysisPlan& plan, analysis::Analyst& analyst,
                              CollectedResults& results, AnalysedCaptures& captures,
                              const std::function<void(const CapturePoints&)>& decided) {
  auto source = plan.open();
  if (!source) return std::unexpected(source.error());
  auto points = CapturePoints::decide(*source, plan.points);
  if (!points) return std::unexpected(points.error());
  captures.points = std::move(*points);
  captures.begin = source->begin();
  std::vector<std::uint32_t> path = captures.points.path();
  if (path.size() > PathPoints::kMostPoints) path.resize(PathPoints::kMostPoints);
  if (path.empty() || plan.apart || plan.read_once) {
    if (decided) decided(captures.points);
    captures.damage = analyse(*source, analyst, captures.points, plan.jobs, &captures.totals);
    return {};
  }
  auto read = read_path(plan.open, captures.points, path);
  if (!read) return std::unexpected(read.error());
  captures.joined = std::make_unique<JoinedPath>(std::move(*read));
  captures.begin = captures.joined->packets.begin();
  captures.points.join();
  if (decided) decided(captures.points);
  return analyse_joined(plan, analyst, results, captures);
}

}  // namespace lw::dissect
