// SPDX-License-Identifier: BSD-3-Clause
#include "gen/search/trial_run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <random>
#include <sched.h>
#include <thread>

#include <fmt/format.h>
#include <rte_mbuf.h>

#include "config/flow/headers.h"
#include "config/flow/profile.h"
#include "gen/app/port_run.h"
#include "gen/tx/tx_burst.h"
#include "nic/clock.h"
#include "roce/message.h"
#include "wire/signature.h"

namespace lw::gen {
namespace {

/// A rate counts as offered if the sender reaches this share of it.
constexpr double kOffered = 0.99;
/// Longest trial: a rate may be any number above 0.
constexpr double kMostSeconds = 1e6;
constexpr double kMostMessages = 0x1p40;

/// Returns when a trial of `duration` ends that does not reach its rate.
constexpr Duration overtime(Duration duration) noexcept {
  return duration + duration / 10 + std::chrono::milliseconds(20);
}

/// Receives the frames of a trial, in its own thread.
class Reception {
 public:
  Reception(nic::Port& port, Duration quiet_time, const config::FlowProfile& profile, Duration span)
      : port_(port), quiet_time_(quiet_time), count_(profile, span), thread_([this] { run(); }) {}
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;
  ~Reception() {
    finish([] {});
  }

  /// Waits until no more frames arrive, and calls `meanwhile` every millisecond.
  template <class Meanwhile>
  const TrialCount& finish(Meanwhile meanwhile) {
    sent_.store(true, std::memory_order_relaxed);
    while (thread_.joinable() && !quiet_.load(std::memory_order_relaxed)) {
      meanwhile();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (thread_.joinable()) thread_.join();
    return count_;
  }

 private:
  void run() {
    Instant last = nic::now();
    while (true) {
      const std::size_t count = port_.receive(buffers_);
      const Instant now = nic::now();
      bool any = false;
      for (rte_mbuf* buffer : std::span(buffers_).first(count)) {
        any |= count_.count_frame(
            {rte_pktmbuf_mtod(buffer, const std::byte*), rte_pktmbuf_data_len(buffer)}, now);
        rte_pktmbuf_free(buffer);
      }
      if (any) last = now;
      if (count > 0) continue;
      if (!sent_.load(std::memory_order_relaxed)) {
        last = nic::now();
      } else if (nic::now() - last >= quiet_time_) {
        return quiet_.store(true, std::memory_order_relaxed);
      }
      sched_yield();
    }
  }

  nic::Port& port_;
  Duration quiet_time_;
  std::atomic<bool> sent_{false}, quiet_{false};
  TrialCount count_;  // written by the thread until it has ended
  std::array<rte_mbuf*, 64> buffers_{};
  std::thread thread_;  // the last member: it uses all others
};

/// DPDK's packet socket keeps frames that the kernel didn't accept in its ring until the next send,
/// so an overloaded trial's frames would precede those of the next trial. This sends a frame of the
/// Ethernet type for local experiments (IEEE 802) to flush them.
class Push {
 public:
  explicit Push(Ports& senders) {
    for (nic::Port& port : senders.all()) {
      const auto spec = nic::parse_port_spec(port.name());
      const auto* interface = spec ? spec->as<nic::InterfaceSpec>() : nullptr;
      if (!interface || interface->driver != nic::InterfaceSpec::Driver::af_packet) continue;
      senders_.push_back(std::make_unique<TxBurst>(port, senders.pool()));
    }
  }
  void operator()() {
    for (const auto& sender : senders_) {
      if (sender->add(kFrame)) sender->send(nic::now());
    }
  }

 private:
  static constexpr auto kFrame = [] {
    constexpr std::size_t kType = 12, kAddress = 6;
    std::array<std::byte, wire::kEthernetMinimum> frame{};
    frame[0] = frame[kAddress] = std::byte{0x02};
    frame[kType] = std::byte{0x88};
    frame[kType + 1] = std::byte{0xb5};
    return frame;
  }();
  std::vector<std::unique_ptr<TxBurst>> senders_;
};

/// Returns the messages of a flow per second.
double message_rate(const config::Flow& flow) {
  return mean_wire_bits(flow) / (8 * flow.means.wire_bytes);
}

double seconds_of(Duration time) { return std::chrono::duration<double>(time).count(); }

/// Bounds every flow by the messages that fit into `duration`. Returns the time in which they are
/// due, at least `duration`.
Duration bound_messages(config::FlowProfile& profile, Duration duration) {
  constexpr double kVariation = 10;  // messages by which an irregular flow may be late
  double longest = seconds_of(duration);
  for (config::Flow& flow : profile.flows) {
    const double rate = message_rate(flow);
    const double fitting = std::min(seconds_of(duration) * rate, kMostMessages);
    flow.messages = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(fitting));
    flow.repeat = 1;
    const bool regular = flow.arrival == config::ArrivalProcess::constant;
    const double messages = static_cast<double>(flow.messages) + (regular ? 0 : kVariation);
    longest = std::max(longest, messages / rate + seconds_of(flow.start_after + flow.off));
  }
  return Duration{static_cast<std::int64_t>(std::min(longest, kMostSeconds) * 1e9)};
}

/// A number that differs from those of the trials before: the signatures carry it.
std::uint16_t next_run() {
  static std::uint16_t last = static_cast<std::uint16_t>(std::random_device{}());
  if (++last == 0) ++last;
  return last;
}

/// True if the flow's messages were sent at their rate. A sender that is too slow is late by more
/// and more, on average by half of what it is at the end. A stall makes few bursts late.
bool is_offered(const FlowCounters& sent, const config::Flow& flow, Duration median_late) {
  const Duration scheduled = sent.span - sent.late - sent.begin;
  const auto most_late = std::chrono::duration<double>(scheduled) * (1 / kOffered - 1);
  return sent.messages == flow.messages && 2 * median_late <= most_late;
}

/// Adds what a flow sent, per second: of the schedule, if it kept to that.
void add_rates(Trial& trial, const FlowCounters& sent, bool offered) {
  FlowCounters counted = sent;
  if (offered) counted.span -= counted.late;
  trial.wire_bps += counted.achieved(config::Rate::Unit::wire_bits);
  trial.frames_per_second += counted.achieved(config::Rate::Unit::frames);
}

Trial trial_of(const RunReport& report, const config::FlowProfile& profile) {
  const FlowCounters total = report.total();
  Trial trial;
  trial.sent = total.frames;
  trial.not_sent = total.not_sent;
  trial.offered = total.not_sent + report.lost_in_ports() == 0;
  const Duration median_late{report.audit.pacing_error.quantile(0.5)};
  for (std::size_t i = 0; i < report.flows.size(); ++i) {
    const bool offered = is_offered(report.flows[i], profile.flows[i], median_late);
    trial.offered &= offered;
    add_rates(trial, report.flows[i], offered);
  }
  return trial;
}

/// Adds what arrived, and what of it the path is to blame for.
void add_arrivals(Trial& trial, const TrialCount& count, const RunReport& report,
                  bool virtual_path) {
  std::vector<FlowFrames> flows;
  for (std::size_t i = 0; i < report.flows.size(); ++i) {
    flows.push_back({.due = count.due(i), .sent = report.flows[i].frames});
    trial.received += std::min(count.received(i), report.flows[i].frames);
  }
  trial.arrivals = count.counts();
  const TrialParts::Counted counted{.sender = report.audit.late_frames > 0, .path = virtual_path};
  const TrialParts parts = count.parts();
  const auto disturbed = parts.disturbed(flows, counted);
  trial.held_up = disturbed.sent;
  trial.lost_held_up = disturbed.lost;
  trial.as_a_whole = parts.mostly_disturbed(counted) || parts.loses_at_random(flows, counted);
  trial.stood_still = parts.still(counted);
  const DelayTrend trend = parts.trend(counted);
  trial.delay_growth = trend.growth();
  trial.delay_grows = trend.grows();
  if (trial.delay_growth) trial.delay_noise = trend.noise();
}

/// Moves the flows' first PSNs behind what a trial sent.
void continue_psns(config::FlowProfile& profile, const RunReport& report) {
  for (std::size_t i = 0; i < profile.flows.size(); ++i) {
    roce::MessageFields& message = profile.flows[i].message;
    if (message.operation == wire::Operation::cnp) continue;
    const bool read = message.operation == wire::Operation::read_request;
    const std::uint64_t psns = report.flows[i].frames * (read ? psn_count(message) : 1);
    message.first_psn = message.first_psn + static_cast<std::uint32_t>(psns & wire::Psn::kMask);
  }
}

}  // namespace

Result<config::FlowProfile> with_message_size(config::FlowProfile profile, std::uint64_t size) {
  for (config::Flow& flow : profile.flows) {
    if (const auto sized = config::set_message_size(flow, size); !sized)
      return fail(fmt::format("flow \"{}\" can't have messages of {} B: {}", flow.name, size,
                              sized.error()));
    flow.repeat = std::nullopt;
    flow.stop_after = std::nullopt;
    flow.faults = nullptr;
    flow.signature = true;
  }
  return profile;
}

Result<Trial> run_trial(config::FlowProfile& profile, double fraction, const TrialEnds& ends,
                        const Limits& limits, Duration quiet_time, ProgressDisplay& display) {
  config::FlowProfile bounded = profile;
  const config::Origin origin{.run = next_run(), .clock = wire::ClockId::kUnknown};
  for (config::Flow& flow : bounded.flows) {
    flow.rate.value *= fraction;
    flow.origin = origin;
  }
  Limits bounds = limits;
  const Duration span = bound_messages(bounded, *limits.duration);
  bounds.duration = overtime(span);
  const FlowNames names = names_in(bounded);
  BackgroundTasks background(ends.neighbors, {}, nullptr, display, names, ends.senders.all());
  const std::uint64_t unseen = ends.receiver.stats().unseen();
  Reception reception(ends.receiver, quiet_time, bounded, span);
  const auto report = run_through_ports({.profile = bounded,
                                         .ports = ends.senders.all(),
                                         .buffers = ends.senders.send_buffers(),
                                         .limits = bounds,
                                         .copy = nullptr,
                                         .seed = {}},
                                        background);
  Push push(ends.senders);
  const TrialCount& count = reception.finish([&] {
    push();
    if (const Instant now = nic::now(); report && display.due(now))
      display.show(now, progress_of(names, &report->flows, nullptr), Duration{0}, nullptr);
  });
  if (!report) return std::unexpected(report.error());
  if (!report->interrupted.empty()) return fail(report->interrupted, ExitCode::failed);
  continue_psns(profile, *report);
  Trial trial = trial_of(*report, bounded);
  trial.fraction = fraction;
  trial.span = span;
  add_arrivals(trial, count, *report, ends.virtual_path);
  const std::uint64_t unseen_now = ends.receiver.stats().unseen();
  trial.lost_here = unseen_now - std::min(unseen, unseen_now);
  return trial;
}

}  // namespace lw::gen
