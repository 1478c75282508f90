// SPDX-License-Identifier: BSD-3-Clause
#include "gen/stats/run_stats.h"

#include <algorithm>

namespace lw::gen {

using config::Rate;

double FlowCounters::achieved(Rate::Unit unit) const noexcept {
  if (span <= begin) return 0;
  const double seconds = static_cast<double>((span - begin).count()) * 1e-9;
  switch (unit) {
    case Rate::Unit::frames:
      return static_cast<double>(frames) / seconds;
    case Rate::Unit::messages:
      return static_cast<double>(messages) / seconds;
    case Rate::Unit::goodput:
      return 8.0 * static_cast<double>(payload_bytes) / seconds;
    default:
      return 8.0 * static_cast<double>(wire_bytes) / seconds;
  }
}

FlowCounters& FlowCounters::operator+=(const FlowCounters& other) noexcept {
  if (frames == 0 || (other.frames > 0 && other.begin < begin)) begin = other.begin;
  frames += other.frames;
  bytes += other.bytes;
  wire_bytes += other.wire_bytes;
  payload_bytes += other.payload_bytes;
  messages += other.messages;
  unsigned_frames += other.unsigned_frames;
  not_sent += other.not_sent;
  for (std::size_t kind = 0; kind < faults.size(); ++kind) faults[kind] += other.faults[kind];
  span = std::max(span, std::max(other.begin, other.span - other.shared));
  return *this;
}

void PaceReport::add(const PaceReport& other) noexcept {
  behind = std::max(behind, other.behind);
  if (other.worst_second >= worst_second) return;
  worst_second = other.worst_second;
  worst_at = other.worst_at;
}

void PaceWatch::sample(Instant now, Duration behind) noexcept {
  const auto span = static_cast<double>((now - second_).count());
  const auto more = static_cast<double>((behind - behind_).count());
  if (const double share = std::clamp(1 - more / span, 0.0, 1.0); share < pace_.worst_second) {
    pace_.worst_second = share;
    pace_.worst_at = second_ - start_;
  }
  second_ = now;
  behind_ = behind;
}

PaceReport PaceWatch::finish(Duration behind) const noexcept {
  PaceReport pace = pace_;
  pace.behind = behind;
  return pace;
}

std::string_view name_of(EndedBy end) noexcept {
  constexpr std::array<std::string_view, 5> kNames = {"flows", "count", "duration", "signal",
                                                      "failure"};
  return kNames[static_cast<std::size_t>(end)];
}

std::string_view name_of(NotSentReason reason) noexcept {
  constexpr std::array<std::string_view, kNotSentReasons> kNames = {"mtu", "link_down", "ring_full",
                                                                    "port_error"};
  return kNames[static_cast<std::size_t>(reason)];
}

namespace {

using Reasons = std::array<std::pair<std::string_view, std::uint64_t>, kNotSentReasons>;

template <NotSent PortLosses::* frames>
Reasons by_reason(const PortLosses& port) {
  Reasons reasons;
  for (std::size_t i = 0; i < reasons.size(); ++i)
    reasons[i] = {name_of(static_cast<NotSentReason>(i)), (port.*frames).frames[i]};
  return reasons;
}

}  // namespace

namespace {

std::vector<std::pair<std::string_view, std::uint64_t>> faults_by_kind(
    const FlowCounters& counters) {
  std::vector<std::pair<std::string_view, std::uint64_t>> faults;
  for (std::size_t kind = 0; kind < counters.faults.size(); ++kind)
    if (counters.faults[kind] > 0)
      faults.emplace_back(name_of(static_cast<config::FaultKind>(kind)), counters.faults[kind]);
  return faults;
}

}  // namespace

const FigureTable& FlowCounters::figures() {
  using Row = FigureOf<FlowCounters>;
  static constexpr Figure kRows[] = {
      Row::of<&FlowCounters::frames>("frames", "Frames sent.", Unit::frames),
      Row::of<&FlowCounters::bytes>("bytes", "Their bytes, without FCS.", Unit::bytes),
      Row::of<&FlowCounters::payload_bytes>("payload_bytes", "Bytes of payload.", Unit::bytes),
      Row::of<&FlowCounters::messages>("messages", "Messages whose last frame was sent."),
      Row::of<&FlowCounters::not_sent>("not_sent", "Frames that the port did not take.",
                                       Unit::frames),
      Row::of<&FlowCounters::unsigned_frames>("unsigned_frames",
                                              "Frames too short for the signature.", Unit::frames),
      Row::of<faults_by_kind>("faults", "Deliberate faults, by kind.", Unit::frames).if_any()};
  static constexpr FigureTable kTable{"What a flow sent.", kRows};
  return kTable;
}

const FigureTable& PortLosses::figures() {
  using Row = FigureOf<PortLosses>;
  static constexpr Figure kRows[] = {
      Row::of<&PortLosses::port>("port", "The port, as given."),
      Row::of<by_reason<&PortLosses::refused>>(
          "not_sent", "Frames that it did not take, by reason.", Unit::frames),
      Row::of<by_reason<&PortLosses::lost>>("lost", "Frames that it took and lost, by reason.",
                                            Unit::frames)};
  static constexpr FigureTable kTable{"Frames that a port did not send.", kRows};
  return kTable;
}

std::uint64_t RunReport::lost_in_ports() const noexcept {
  std::uint64_t lost = 0;
  for (const PortLosses& port : ports) lost += port.lost.total();
  return lost;
}

FlowCounters RunReport::total() const noexcept { return total(0, flows.size()); }

FlowCounters RunReport::total(std::size_t first, std::size_t number) const noexcept {
  FlowCounters sum;
  for (std::size_t i = first; i < first + number; ++i) sum += flows[i];
  return sum;
}

}  // namespace lw::gen
