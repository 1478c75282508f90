// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/trial_run.h"

#include <sched.h>
#include <thread>

#include <fmt/format.h>
#include <rte_mbuf.h>

#include "config/flow/profile.h"
#include "gen/app/port_run.h"
#include "gen/tx/tx_burst.h"
#include "nic/clock.h"
#include "roce/frame.h"
#include "wire/signature.h"

namespace lw::gen {
namespace {

/// A rate counts as offered if the sender reaches this share of it, because start and end of a
/// trial are not exact.
constexpr double kOffered = 0.99;

/// Counts the received frames of a trial, in its own thread.
class Count {
 public:
  Count(nic::Port& port, Duration quiet_time)
      : port_(port), quiet_time_(quiet_time), start_(nic::now()), thread_([this] { run(); }) {}
  Count(const Count&) = delete;
  Count& operator=(const Count&) = delete;
  ~Count() {
    finish([] {});
  }

  /// Waits until no more frames arrive, and calls `meanwhile` every millisecond. Returns the number
  /// of counted frames.
  template <class Meanwhile>
  std::uint64_t finish(Meanwhile meanwhile) {
    sent_.store(true, std::memory_order_relaxed);
    while (thread_.joinable() && !quiet_.load(std::memory_order_relaxed)) {
      meanwhile();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (thread_.joinable()) thread_.join();
    return frames_;
  }

 private:
  void run() {
    Instant last = start_;
    while (true) {
      const std::uint64_t before = roce_;
      const std::size_t count = port_.receive(buffers_);
      for (rte_mbuf* buffer : std::span(buffers_).first(count)) take(buffer);
      if (roce_ > before) last = nic::now();
      if (count > 0) continue;
      if (!sent_.load(std::memory_order_relaxed)) {
        last = nic::now();
      } else if (nic::now() - last >= quiet_time_) {
        return quiet_.store(true, std::memory_order_relaxed);
      }
      sched_yield();
    }
  }

  void take(rte_mbuf* buffer) {
    const wire::Bytes bytes(rte_pktmbuf_mtod(buffer, const std::byte*),
                            rte_pktmbuf_data_len(buffer));
    if (const auto frame = roce::parse(bytes)) {
      ++roce_;
      if (is_ours(*frame)) ++frames_;
    }
    rte_pktmbuf_free(buffer);
  }

  /// True if this trial sent the frame: its signature is new enough, or it is too short for one.
  [[nodiscard]] bool is_ours(const roce::Frame& frame) const noexcept {
    const auto* signature = wire::view<wire::Signature>(frame.payload);
    if (signature == nullptr) return true;
    return signature->present() &&
           signature->send_time_ns.get() >= static_cast<std::uint64_t>(to_ns(start_));
  }

  nic::Port& port_;
  Duration quiet_time_;
  Instant start_;
  std::atomic<bool> sent_{false}, quiet_{false};
  std::uint64_t roce_ = 0, frames_ = 0;  // written by the thread until it has ended
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
      const auto* interface = spec ? spec->as<nic::InterfacePort>() : nullptr;
      if (!interface || interface->driver != nic::InterfacePort::Driver::af_packet) continue;
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

/// Returns the amount that a flow sent, in the unit of its rate (without "per second").
double work_of(const FlowCounters& flow, config::Rate::Unit unit) {
  switch (unit) {
    case config::Rate::Unit::frames:
      return static_cast<double>(flow.frames);
    case config::Rate::Unit::messages:
      return static_cast<double>(flow.messages);
    case config::Rate::Unit::goodput:
      return 8.0 * static_cast<double>(flow.payload_bytes);
    case config::Rate::Unit::wire_bits:
    case config::Rate::Unit::link:
      break;
  }
  return 8.0 * static_cast<double>(flow.wire_bytes);
}

}  // namespace

Result<config::FlowProfile> with_message_size(config::FlowProfile profile, std::uint64_t size) {
  for (config::Flow& flow : profile.flows) {
    if (flow.va_step == flow.message.length) flow.va_step = size;
    flow.message.length = size;
    if (const auto why = roce::refusal_of(flow.message); !why.empty()) {
      return fail(fmt::format("flow \"{}\" can't have messages of {} B: {}", flow.name, size, why));
    }
    flow.sizes = config::MessageSizes::fixed(size);
    flow.means = config::means_of(flow);
    flow.repeat = std::nullopt;
    flow.signature = true;
  }
  return profile;
}

Result<Trial> run_trial(config::FlowProfile profile, double fraction, const TrialEnds& ends,
                        const Limits& limits, Duration quiet_time, ProgressDisplay& display) {
  for (config::Flow& flow : profile.flows) flow.rate.value *= fraction;
  BackgroundTasks background(ends.neighbors, {}, nullptr, display, names_in(profile),
                             ends.senders.all());
  Count count(ends.receiver, quiet_time);
  const auto report = run_through_ports({.profile = profile,
                                         .ports = ends.senders.all(),
                                         .buffers = ends.senders.send_buffers(),
                                         .limits = limits,
                                         .copy = nullptr,
                                         .seed = {}},
                                        background);
  Trial trial;
  Push push(ends.senders);
  trial.received = count.finish([&] {
    push();
    if (const Instant now = nic::now(); report && display.due(now))
      display.show(now, progress_of(names_in(profile), &report->flows, nullptr), Duration{0},
                   nullptr);
  });
  if (!report) return std::unexpected(report.error());
  if (!report->interrupted.empty()) return fail(report->interrupted, ExitCode::failed);
  const FlowCounters sent = report->total();
  trial.sent = sent.frames;
  trial.not_sent = sent.not_sent;
  trial.offered = sent.not_sent + report->lost_in_ports() == 0;
  const double seconds = std::chrono::duration<double>(*limits.duration).count();
  trial.wire_bps = 8.0 * static_cast<double>(sent.wire_bytes) / seconds;
  trial.frames_per_second = static_cast<double>(sent.frames) / seconds;
  for (std::size_t i = 0; i < profile.flows.size(); ++i) {
    const config::Rate& rate = profile.flows[i].rate;
    trial.offered &= work_of(report->flows[i], rate.unit) >= kOffered * rate.value * seconds;
  }
  return trial;
}

}  // namespace lw::gen
