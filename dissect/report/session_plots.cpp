// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/report/session_plots.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "wire/aeth.h"

namespace lw::dissect {
namespace {

using analysis::CapturedPacket;
using analysis::RequestStream;
using analysis::Sequence;
using analysis::Session;

constexpr std::uint8_t kMarkCe = 3;
/// Cost of a direction without points, in points.
constexpr std::ptrdiff_t kEmptyDirection = 64;
/// Limit of requests of one direction that wait for their acknowledgement; further ones are not
/// plotted as outstanding. As many as RequestStream remembers.
constexpr std::size_t kMostUnacknowledged = 16384;

/// Bytes that a request carries, or requests.
std::uint64_t bytes_asked(const CapturedPacket& packet) {
  return packet.info->operation == wire::Operation::read_request ? packet.dma_length
                                                                 : packet.payload;
}

std::ptrdiff_t points_of(const DirectionPlots& plots) {
  std::size_t points =
      plots.waiting.size() + plots.intervals.sums().size() + 2 * plots.latency.size();
  for (const ThinSeries* const series :
       {&plots.requests, &plots.around, &plots.again, &plots.acks, &plots.naks, &plots.responses,
        &plots.responses_again, &plots.outstanding, &plots.rtt})
    points += series->kept();
  return static_cast<std::ptrdiff_t>(points) + kEmptyDirection;
}

std::int64_t relative(Sequence sequence, Sequence base) {
  return static_cast<std::int64_t>(sequence - base);
}

/// Amount of trouble in a session: recoveries, NAKs, losses, copies and damage.
std::uint64_t trouble_of(const Session& session) {
  std::uint64_t trouble = 0;
  for (const Session::Direction& direction : session.directions) {
    trouble += direction.bad_icrcs;
    if (!direction.stream) continue;
    const analysis::StreamCounts& counts = direction.stream->counts();
    trouble += counts.recoveries + counts.rnr_naks + counts.lost + counts.responses_lost +
               counts.duplicates + counts.responses_duplicated + counts.out_of_order +
               counts.responses_late;
    for (const auto& [code, naks] : counts.naks) trouble += naks;
  }
  return trouble;
}

}  // namespace

std::vector<const Session*> worst_of(std::vector<const Session*> sessions, std::size_t most) {
  struct Ranked {
    std::uint64_t trouble, packets;
    const Session* session;
  };
  std::vector<Ranked> ranked;
  for (const Session* const session : sessions)
    ranked.push_back({trouble_of(*session),
                      session->directions[0].packets + session->directions[1].packets, session});
  const std::size_t kept = std::min(most, ranked.size());
  std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(kept),
                            [](const Ranked& a, const Ranked& b) {
                              if (a.trouble != b.trouble) return a.trouble > b.trouble;
                              if (a.packets != b.packets) return a.packets > b.packets;
                              return a.session->number < b.session->number;
                            });
  sessions.clear();
  for (const Ranked& one : std::span(ranked).first(kept)) sessions.push_back(one.session);
  return sessions;
}

std::vector<SeriesPoint> DirectionPlots::all_requests() const {
  std::vector<SeriesPoint> all = requests.points();
  const std::vector<SeriesPoint> more = around.points();
  all.insert(all.end(), more.begin(), more.end());
  std::ranges::sort(all, [](const SeriesPoint& a, const SeriesPoint& b) {
    return std::pair(a.time, a.frame) < std::pair(b.time, b.frame);
  });
  const auto same = std::ranges::unique(all, {}, &SeriesPoint::frame);
  all.erase(same.begin(), same.end());
  return all;
}

std::int64_t SessionPlots::time_of(Instant stamp) const noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  return std::clamp(stamp_difference(stamp, start()).count(), -kMost, kMost);
}

SessionPlots::Progress& SessionPlots::progress_of(std::uint32_t session, std::uint8_t direction) {
  if (session > progress_.size()) progress_.resize(session);
  return progress_[session - 1][direction];
}

DirectionPlots& SessionPlots::plots_of(const Session& session, std::uint8_t direction,
                                       const CapturedPacket& packet) {
  Held& held = held_[session.number];
  held.session = &session;
  auto& plots = held.directions[direction];
  if (plots) return *plots;
  plots = std::make_unique<DirectionPlots>();
  Progress& progress = progress_of(session.number, direction);
  plots->since = time_of(packet.stamp);
  plots->is_cut = progress.begun;
  progress.begun = true;
  points_ += kEmptyDirection;
  return *plots;
}

void SessionPlots::add(ThinSeries& series, const CapturedPacket& packet, std::int64_t value) {
  points_ += series.add({time_of(packet.stamp), value, packet.number});
}

void SessionPlots::add_event(DirectionPlots& plots, ThinSeries& series,
                             const CapturedPacket& packet, std::int64_t value) {
  add(series, packet, value);
  const std::size_t last = std::min(plots.before.size(), DirectionPlots::kAround);
  for (const SeriesPoint& point : std::span(plots.before).last(last))
    points_ += plots.around.add(point);
  plots.before.clear();
  plots.still_around = DirectionPlots::kAround;
}

void SessionPlots::add_new_request(DirectionPlots& plots, const CapturedPacket& packet,
                                   std::int64_t value) {
  add(plots.requests, packet, value);
  if (plots.still_around > 0) {
    --plots.still_around;
    return add(plots.around, packet, value);
  }
  if (plots.before.size() == 2 * DirectionPlots::kAround)
    plots.before.erase(plots.before.begin(), plots.before.begin() + DirectionPlots::kAround);
  plots.before.push_back({time_of(packet.stamp), value, packet.number});
}

void SessionPlots::followed(const Session& session, std::uint8_t direction,
                            const CapturedPacket& packet, bool taken) {
  if (!start_) start_ = packet.stamp;
  add_marks(session, direction, packet);
  if (!taken) return;
  if (packet.is_request()) add_request(session, direction, packet);
  if (packet.is_response()) add_response(session, static_cast<std::uint8_t>(1 - direction), packet);
  if (points_ > limit_ && held_.size() > kMostHeld) give_up_most();
}

/// A CNP in one direction is for the sender of the other direction.
void SessionPlots::add_marks(const Session& session, std::uint8_t direction,
                             const CapturedPacket& packet) {
  const std::int64_t time = time_of(packet.stamp);
  if (packet.ecn == kMarkCe) {
    IntervalSums& intervals = plots_of(session, direction, packet).intervals;
    points_ += intervals.add(time, DirectionPlots::kMarked, 1);
  }
  if (packet.info == nullptr || packet.info->role != wire::Role::notification) return;
  const auto other = static_cast<std::uint8_t>(1 - direction);
  IntervalSums& intervals = plots_of(session, other, packet).intervals;
  points_ += intervals.add(time, DirectionPlots::kCnps, 1);
}

SessionPlots::Place SessionPlots::place_of(const Session& session, std::uint8_t direction,
                                           const RequestStream& stream,
                                           const CapturedPacket& packet) {
  DirectionPlots& plots = plots_of(session, direction, packet);
  Progress& progress = progress_of(session.number, direction);
  const Sequence psn = stream.unwrap(packet.psn);
  if (!progress.base) progress.base = psn;
  plots.first_psn = static_cast<std::uint32_t>(*progress.base & wire::Psn::kMask);
  return {plots, progress, psn, relative(psn, *progress.base)};
}

void SessionPlots::add_request(const Session& session, std::uint8_t direction,
                               const CapturedPacket& packet) {
  const RequestStream* const stream = session.directions[direction].stream.get();
  if (stream == nullptr) return;
  const auto [plots, progress, psn, value] = place_of(session, direction, *stream, packet);
  const bool is_new = psn >= progress.end;
  if (!is_new) {
    add_event(plots, plots.again, packet, value);
  } else {
    add_new_request(plots, packet, value);
    progress.end = stream->next();
    plots.sent_bytes += bytes_asked(packet);
    if (plots.waiting.size() < kMostUnacknowledged) {
      plots.waiting.push_back({progress.end, plots.sent_bytes});
      ++points_;
    }
  }
  add_state(plots, progress, *stream, packet);
}

void SessionPlots::add_response(const Session& session, std::uint8_t direction,
                                const CapturedPacket& packet) {
  const RequestStream* const stream = session.directions[direction].stream.get();
  if (stream == nullptr) return;
  const auto [plots, progress, psn, value] = place_of(session, direction, *stream, packet);
  if (packet.info->operation != wire::Operation::ack) {
    add(psn >= progress.response_end ? plots.responses : plots.responses_again, packet, value);
    progress.response_end = std::max(progress.response_end, psn + 1);
  } else if (packet.has_aeth) {
    const auto kind = wire::AethFields{packet.syndrome, packet.msn}.kind();
    if (kind == wire::AethKind::ack)
      add(plots.acks, packet, value);
    else
      add_event(plots, plots.naks, packet, value);
  }
  add_state(plots, progress, *stream, packet);
}

/// Adds what the packet has changed: payload, round trips, outstanding bytes.
void SessionPlots::add_state(DirectionPlots& plots, Progress& progress, const RequestStream& stream,
                             const CapturedPacket& packet) {
  const analysis::StreamCounts& counts = stream.counts();
  if (counts.payload > progress.payload)
    points_ += plots.intervals.add(time_of(packet.stamp), DirectionPlots::kPayload,
                                   counts.payload - progress.payload);
  if (counts.rtt.count() > progress.rtts) add(plots.rtt, packet, stream.last_rtt().count());
  progress.payload = counts.payload;
  progress.rtts = counts.rtt.count();
  add_outstanding(plots, stream, packet);
}

void SessionPlots::add_outstanding(DirectionPlots& plots, const RequestStream& stream,
                                   const CapturedPacket& packet) {
  if (!packet.is_reliable()) return;
  auto& waiting = plots.waiting;
  std::size_t& oldest = plots.oldest_waiting;
  for (; oldest < waiting.size() && waiting[oldest].end <= stream.acknowledged(); ++oldest)
    plots.acknowledged_bytes = waiting[oldest].bytes;
  if (oldest == waiting.size() || oldest >= 1024) {
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(oldest));
    points_ -= static_cast<std::ptrdiff_t>(oldest);
    oldest = 0;
  }
  add(plots.outstanding, packet,
      static_cast<std::int64_t>(plots.sent_bytes - plots.acknowledged_bytes));
}

void SessionPlots::completed(const analysis::Message& message) {
  const auto held = held_.find(message.session);
  if (held == held_.end() || !held->second.directions[message.direction] || !message.completion)
    return;
  const std::int64_t ns = stamp_difference(message.completion->stamp, message.first_stamp).count();
  const double octaves = std::log2(static_cast<double>(std::max<std::int64_t>(ns, 1)));
  const int of_latency = static_cast<int>(std::floor(octaves * DirectionPlots::kClasses));
  std::uint64_t& messages = held->second.directions[message.direction]->latency[of_latency];
  if (messages++ == 0) points_ += 2;
}

/// Removes all but the worst sessions. Other sessions begin again, so the next removal waits until
/// a quarter of the limit was added.
void SessionPlots::give_up_most() {
  std::unordered_map<std::uint32_t, Held> kept;
  points_ = 0;
  for (const Session* const session : worst(kMostHeld)) {
    Held& held = held_[session->number];
    for (const auto& plots : held.directions)
      if (plots) points_ += points_of(*plots);
    kept.emplace(session->number, std::move(held));
  }
  held_ = std::move(kept);
  limit_ = std::max(most_points_, points_ + most_points_ / 4);
}

std::vector<const Session*> SessionPlots::worst(std::size_t most) const {
  std::vector<const Session*> sessions;
  for (const auto& [number, held] : held_) sessions.push_back(held.session);
  return worst_of(std::move(sessions), most);
}

const DirectionPlots* SessionPlots::find(std::uint32_t session, std::uint8_t direction) const {
  const auto held = held_.find(session);
  return held == held_.end() ? nullptr : held->second.directions[direction].get();
}

}  // namespace lw::dissect
