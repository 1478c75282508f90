// SPDX-License-Identifier: BSD-3-Clause
#include "gen/replay/replay.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/machine_questions.h"
#include "core/quantity.h"
#include "gen/replay/replay_view.h"
#include "gen/report/run_report.h"
#include "gen/tx/tx_burst.h"
#include "nic/clock.h"
#include "nic/idle.h"

namespace lw::gen {
namespace {

bool is_beyond(const ReplayFrame& frame, const Limits& limits) noexcept {
  return limits.duration && frame.due >= *limits.duration;
}

std::string count_line(std::uint64_t count, std::string_view what) {
  return count > 0 ? fmt::format("{} {}\n", counted(count, "frame"), what) : std::string{};
}

constexpr std::uint64_t kFramesBetweenLooks = 1024;  // at the clock, into a file

/// Sends a capture's frames through a port when they are due.
class PortReplay {
 public:
  PortReplay(ReplaySource& source, Ports& ports, capture::Writer* copy, const Limits& limits,
             ReplayView& view)
      : source_(source),
        port_(ports.all().front()),
        burst_(port_, ports.pool()),
        copy_(copy),
        limits_(limits),
        view_(view) {}

  Result<ReplayReport> go() {
    const nic::PortStats before = port_.stats();
    start_ = nic::now();
    view_.start(start_);
    stalls_.start(start_);
    report_.ended_by = EndedBy::count;
    while (!limits_.stopped() && taken_ < limits_.count) {
      const auto frame = source_.next();
      if (!frame) return std::unexpected(frame.error());
      if (!*frame || is_beyond(**frame, limits_)) {
        report_.ended_by = *frame ? EndedBy::duration : EndedBy::flows;
        break;
      }
      if (auto waited = wait_for((*frame)->due); !waited) return std::unexpected(waited.error());
      if (limits_.stopped()) break;
      if (auto sent = add(**frame); !sent) return std::unexpected(sent.error());
    }
    if (limits_.stopped()) report_.ended_by = EndedBy::signal;
    if (auto sent = send(); !sent) return std::unexpected(sent.error());
    report_.elapsed = nic::now() - start_;
    report_.source = source_.counters();
    report_.port = PortLosses{port_.name(), refused_, lost_since(before, port_, report_.frames)};
    report_.machine = Machine{.losses = {not_sent_at(*report_.port, report_.frames)},
                              .stalls = stalls_.stalls(),
                              .elapsed = report_.elapsed};
    return report_;
  }

 private:
  /// Sends the burst, then waits until `due`.
  Result<void> wait_for(Duration due) {
    Duration now = nic::now() - start_;
    if (now < due) {
      if (auto sent = send(); !sent) return sent;
    }
    while ((now = nic::now() - start_) < due && !limits_.stopped()) {
      show_if_due(now);
      stalls_.poll(start_ + now);
      stalls_.sleeps(std::min(due - now, nic::kLongestSleep));
      nic::wait_towards(due - now);
    }
    stalls_.poll(start_ + now);
    show_if_due(now);
    report_.paced = source_.paced();
    if (!report_.paced) return {};
    report_.behind = std::max(now - due, Duration{0});
    report_.latest = std::max(report_.latest, now - due);
    return {};
  }

  void show_if_due(Duration elapsed) {
    const Instant now = start_ + elapsed;
    if (view_.due(now)) view_.show(now, report_, source_.counters());
  }

  Result<void> add(const ReplayFrame& frame) {
    ++taken_;
    if (!burst_.add(frame.bytes)) {
      ++report_.not_sent;
      refused_.add(NotSentReason::ring_full, 1);  // all buffers are in use by the port
      return {};
    }
    sizes_[waiting_] = frame.bytes.size();
    if (copy_ != nullptr) {
      copies_[waiting_].assign(frame.bytes.begin(), frame.bytes.end());
    }
    ++waiting_;
    return burst_.full() ? send() : Result<void>{};
  }

  Result<void> send() {
    if (burst_.empty()) return {};
    const Instant stamp = instant_from_ns(nic::wall_clock_ns());
    const std::size_t sent = burst_.send(nic::now());
    for (std::size_t i = 0; i < sent; ++i) report_.count(sizes_[i]);
    report_.not_sent += waiting_ - sent;
    if (sent < waiting_) refused_.add(reason_not_sent(port_), waiting_ - sent);
    waiting_ = 0;
    for (std::size_t i = 0; copy_ != nullptr && i < sent; ++i) {
      auto written = copy_->write(stamp, copies_[i], static_cast<std::uint32_t>(sizes_[i]));
      if (!written) return written;
    }
    return {};
  }

  ReplaySource& source_;
  nic::Port& port_;
  TxBurst burst_;
  capture::Writer* copy_;
  const Limits& limits_;
  ReplayView& view_;
  ReplayReport report_;
  NotSent refused_;
  StallWatch stalls_;
  Instant start_{};
  std::uint64_t taken_ = 0;
  std::size_t waiting_ = 0;  // frames in the burst
  std::array<std::size_t, TxBurst::kFrames> sizes_{};
  std::array<std::vector<std::byte>, TxBurst::kFrames> copies_;
};

}  // namespace

void ReplayReport::count(std::size_t size) noexcept {
  ++frames;
  bytes += size;
  wire_bytes += gen::wire_bytes(size);
}

namespace {

void observe_pace(Judge& judge, const ReplayReport& r) {
  constexpr Duration kHeldUp = std::chrono::milliseconds(20);
  constexpr double kNear = 0.99;
  const auto all = static_cast<double>(std::max<Duration::rep>(r.elapsed.count(), 1));
  const double share = std::max(0.0, 1 - static_cast<double>(r.behind.count()) / all);
  Observation rate{.name = "rate",
                   .value = share,
                   .text = fmt::format("sent at {} of the speed asked for", format_share(share)),
                   .count = r.frames,
                   .broken = "this machine's limit, or the port's",
                   .remedy = "ask for a lower --speed or --rate, or use a faster port"};
  if (share < kNear && r.behind < kHeldUp) {
    rate.is_lower_bound = true;
    rate.unsure = fmt::format("it ended {} late: too short a run to tell its rate",
                              format_duration(r.behind));
  }
  judge.add(rate);
}

void observe_length(Judge& judge, const ReplayReport& r, const ReplayOptions& options) {
  const Limits& limits = options.limits;
  const bool limited = limits.duration || limits.count != Limits::kAll;
  Observation length{.name = "reached",
                     .value = 1,
                     .text = fmt::format("sent {} in {}", format_count(r.frames, "frame"),
                                         format_duration(r.elapsed)),
                     .count = r.frames};
  if (limited) length.asked_by = limits.duration ? "--duration" : "--count";
  if (r.ended_by == EndedBy::flows && limited) length.remark = "the end of the capture ended it";
  if (r.ended_by == EndedBy::signal) {
    length.text = "a signal ended it: " + length.text;
    const bool endless = options.loop == 0 && !limited;
    length.value = endless ? 1 : 0;
    if (endless) length.remark = "it was to run until one";
  }
  judge.add(length);
}

}  // namespace

void observe_replay(Judge& judge, const ReplayReport& r, const ReplayOptions& options) {
  observe_length(judge, r, options);
  const std::uint64_t unsendable = r.source.too_long + r.source.cut;
  judge.add({.name = "sendable",
             .value = static_cast<double>(unsendable),
             .text = unsendable == 0
                         ? "every frame of the capture could be sent"
                         : fmt::format("{} frames are too long for the port, {} were cut by the "
                                       "capture",
                                       format_count(r.source.too_long), format_count(r.source.cut)),
             .count = r.frames + unsendable,
             .noted = r.source.too_long == 0});
  if (!r.machine) return;
  if (r.paced) observe_pace(judge, r);
  observe(judge, *r.machine, "this machine");
}

std::string to_text(const ReplayReport& r) {
  std::string text =
      fmt::format("{}, {} in {}", counted(r.frames, "frame"),
                  format_bytes(static_cast<double>(r.bytes)), format_duration(r.elapsed));
  if (r.elapsed.count() > 0) {
    const double seconds = static_cast<double>(r.elapsed.count()) * 1e-9;
    text += fmt::format(": {} on the wire",
                        format_bit_rate(8.0 * static_cast<double>(r.wire_bytes) / seconds));
  }
  text += fmt::format(", {} not sent\n", r.not_sent);
  if (r.latest.count() > 0) {
    text += fmt::format("largest delay of a frame: {}\n", format_duration(r.latest));
  }
  if (r.port) text += to_text(*r.port);
  text += count_line(r.source.not_roce, "aren't RoCE: sent unchanged");
  text += count_line(r.source.no_icrc, "are RoCE with an unknown ICRC position: sent unchanged");
  text += count_line(r.source.left_out, "aren't RoCE: not sent");
  text += count_line(r.source.cut, "are truncated by the capture: not sent");
  text += count_line(r.source.too_long, "are too long for the port: not sent");
  return text;
}

const FigureTable& ReplayReport::figures() {
  using Row = FigureOf<ReplayReport>;
  static constexpr Figure kRows[] = {
      Row::of<&ReplayReport::frames>("frames", "Frames sent.", Unit::frames),
      Row::of<&ReplayReport::bytes>("bytes", "Their bytes, without FCS.", Unit::bytes),
      Row::of<&ReplayReport::not_sent>("not_sent", "Frames that the port did not take.",
                                       Unit::frames),
      Row::of<&ReplayReport::elapsed>("elapsed_ns", "Duration.", Unit::ns),
      Row::of<&ReplayReport::latest>("latest_ns", "Largest delay of a frame.", Unit::ns),
      Row::of<&ReplayReport::behind>("behind_ns", "Delay of the last frame.", Unit::ns),
      Row::of<&ReplayReport::ended_by>("ended_by", "What ended it; `flows`: the capture's end."),
      Row::of<&ReplayReport::machine>("machine",
                                      "What this machine lost and delayed; only with a port.")
          .if_any(),
      Row::of<through<&ReplayReport::source, &ReplayCounters::read>>(
          "read", "Frames read from the capture.", Unit::frames),
      Row::of<through<&ReplayReport::source, &ReplayCounters::not_roce>>(
          "not_roce", "Frames that are not RoCE, sent unchanged.", Unit::frames),
      Row::of<through<&ReplayReport::source, &ReplayCounters::no_icrc>>(
          "no_icrc", "RoCE frames with an unknown ICRC position, sent unchanged.", Unit::frames),
      Row::of<through<&ReplayReport::source, &ReplayCounters::left_out>>(
          "left_out", "Frames that are not RoCE, not sent.", Unit::frames),
      Row::of<through<&ReplayReport::source, &ReplayCounters::cut>>(
          "cut", "Frames that the capture truncated, not sent.", Unit::frames),
      Row::of<through<&ReplayReport::source, &ReplayCounters::too_long>>(
          "too_long", "Frames too long for the port, not sent.", Unit::frames),
      Row::of<&ReplayReport::port>("port", "Frames that the port did not send.")};
  static constexpr FigureTable kTable{"Report of a replayed capture.", kRows};
  return kTable;
}

report::RunRows page_rows(const ReplayReport& report) {
  const ReplayCounters& source = report.source;
  return {.accounts = {{.identity = "",
                        .columns = {"Read from the capture", "Sent", "Not taken by the port",
                                    "Left out: not RoCE", "Left out: cut in the capture",
                                    "Left out: too long for the port"},
                        .rows = {{source.read, report.frames, report.not_sent, source.left_out,
                                  source.cut, source.too_long}}}}};
}

Result<ReplayReport> replay_into_capture(ReplaySource& source, capture::Writer& writer,
                                         const Limits& limits, ReplayView& view) {
  ReplayReport report;
  view.start(nic::now());
  while (report.frames < limits.count && !limits.stopped() && !writer.failed()) {
    const auto frame = source.next();
    if (!frame) return std::unexpected(frame.error());
    if (!*frame || (limits.duration && (*frame)->due >= *limits.duration)) break;
    const wire::Bytes bytes = (*frame)->bytes;
    const auto written = writer.write(source.first_stamp() + (*frame)->due, bytes,
                                      static_cast<std::uint32_t>(bytes.size()));
    if (!written) return std::unexpected(written.error());
    report.count(bytes.size());
    report.elapsed = (*frame)->due;
    if (report.frames % kFramesBetweenLooks != 0) continue;
    if (const Instant now = nic::now(); view.due(now)) view.show(now, report, source.counters());
  }
  report.source = source.counters();
  return report;
}

Result<ReplayReport> replay_through_port(ReplaySource& source, Ports& ports, capture::Writer* copy,
                                         const Limits& limits, ReplayView& view) {
  return PortReplay(source, ports, copy, limits, view).go();
}

}  // namespace lw::gen
