// SPDX-License-Identifier: BSD-3-Clause
#include "gen/app/receiver.h"

#include <algorithm>
#include <sched.h>

#include <fmt/format.h>
#include <rte_mbuf.h>

#include "capture/reader.h"
#include "gen/arp/neighbor_table.h"
#include "gen/ranks/companions.h"
#include "nic/clock.h"
#include "nic/idle.h"
#include "nic/stamp_clock.h"
#include "roce/envelope.h"

namespace lw::gen {
namespace {

wire::Bytes frame_bytes(const rte_mbuf* buffer) noexcept {
  return {rte_pktmbuf_mtod(buffer, const std::byte*), rte_pktmbuf_data_len(buffer)};
}

constexpr Duration kWatchEvery = std::chrono::milliseconds(100);

/// Returns a message about a port with a missing interface; nothing if all exist.
std::optional<std::string> missing_port(std::span<const nic::Port> ports) {
  const auto missing = std::ranges::find_if_not(ports, &nic::Port::exists);
  if (missing == ports.end()) return std::nullopt;
  return fmt::format("port `{}`: the interface has disappeared", missing->name());
}

std::vector<const nic::Port*> pointers_to(std::span<const nic::Port> ports) {
  std::vector<const nic::Port*> pointers;
  for (const nic::Port& port : ports) pointers.push_back(&port);
  return pointers;
}

/// The loop of receive_all().
class Reception {
 public:
  Reception(const ListeningPorts& ports, Measurement& measurement, capture::Writer* copy,
            ProgressDisplay& display, const FlowNames& names, const Limits& limits,
            std::optional<Duration> until_idle, const nic::StampClock& clock)
      : ports_(ports),
        measurement_(measurement),
        clock_(clock),
        listener_(measurement, copy, &clock, limits.count),
        display_(display),
        names_(names),
        limits_(limits),
        until_idle_(until_idle),
        losses_(pointers_to(ports.ports)) {}

  Result<ReceiveReport> go() {
    const Instant start = nic::now();
    display_.start(start);
    stalls_.start(start);
    losses_.start(start);
    while (!limits_.stopped() && listener_.frames() < limits_.count) {
      const auto count = poll_all();
      if (!count) return std::unexpected(count.error());
      const Instant now = nic::now();
      stalls_.poll(now);
      if (display_.due(now)) {
        if (auto shown = show(now, start); !shown) return std::unexpected(shown.error());
      }
      if (limits_.duration && now - start >= *limits_.duration) break;
      if (now >= next_watch_) {
        next_watch_ = now + kWatchEvery;
        if (interrupted_ = missing_port(ports_.ports); interrupted_) break;
        if (losses_.due(now)) display_.set_losses(losses_.losses(now));
      }
      if (*count > 0) {
        idle_.busy();
        continue;
      }
      if (all_exhausted() || idle_for_long(now)) break;
      // First yields, because on two cores the sender needs both.
      if (!idle_.nap(kNap)) sched_yield();
    }
    return finish(start);
  }

 private:
  Result<std::size_t> poll_all() {
    std::size_t all = 0;
    for (std::size_t i = 0; i < ports_.ports.size(); ++i) {
      ResponderPort* responder = ports_.responders.empty() ? nullptr : ports_.responders[i].get();
      const auto count = listener_.poll(ports_.ports[i], responder);
      if (!count) return count;
      all += *count;
    }
    return all;
  }

  [[nodiscard]] bool all_exhausted() const noexcept {
    return std::ranges::all_of(ports_.ports, &nic::Port::exhausted);
  }
  [[nodiscard]] bool idle_for_long(Instant now) const noexcept {
    return until_idle_ && listener_.measured() && now - *listener_.measured() >= *until_idle_;
  }

  Result<void> show(Instant now, Instant start) {
    std::optional<Duration> left;
    if (limits_.duration) left = *limits_.duration - (now - start);
    measurement_.count_latencies();
    display_.show(now, progress_of(names_, nullptr, &measurement_), left, &measurement_);
    return {};
  }

  Result<ReceiveReport> finish(Instant start) {
    const Instant end = nic::now();
    measurement_.finalize();
    ReceiveReport report{.missed = 0,
                         .machine = {.losses = losses_.losses(end),
                                     .stalls = stalls_.stalls(),
                                     .elapsed = end - start},
                         .elapsed = listener_.last() - listener_.first(),
                         .clock = clock_.name(),
                         .interrupted = interrupted_.value_or("")};
    for (const nic::Port& port : ports_.ports) report.missed += port.stats().unseen();
    display_.set_losses(report.machine.losses);
    // May wait for the sender's report, while the ports miss frames.
    display_.finish(nic::now(), progress_of(names_, nullptr, &measurement_), &measurement_);
    return report;
  }

  ListeningPorts ports_;
  Measurement& measurement_;
  const nic::StampClock& clock_;
  Listener listener_;
  ProgressDisplay& display_;
  const FlowNames& names_;
  const Limits& limits_;
  std::optional<Duration> until_idle_;
  ReceiveWatch losses_;
  StallWatch stalls_;
  Instant next_watch_{};
  std::optional<std::string> interrupted_;
  static constexpr Duration kNap = std::chrono::microseconds(70);
  static constexpr int kEmptyRounds = 256;
  nic::Idle idle_{IdleMode::adaptive, kEmptyRounds};
};

constexpr std::uint64_t kFramesBetweenChecks = 1024;  // for a stop request

void show_if_due(ProgressDisplay& display, const FlowNames& names, Measurement& measurement) {
  const Instant now = nic::now();
  if (!display.due(now)) return;
  measurement.count_latencies();
  display.show(now, progress_of(names, nullptr, &measurement), std::nullopt, &measurement);
}

/// True if `stamp` may be of the clock that stamped the frame's signature: at most an hour later.
bool same_clock(const roce::Envelope& envelope, Instant stamp) noexcept {
  const auto frame = roce::parse(envelope);
  if (!frame) return false;
  const auto* signature = wire::view<wire::Signature>(frame->payload);
  if (signature == nullptr || !signature->present()) return false;
  constexpr std::int64_t kLongest = 3'600'000'000'000;
  const auto sent = instant_from_ns(static_cast<std::int64_t>(signature->send_time_ns.get()));
  return stamp >= sent && capture::stamp_difference(stamp, sent).count() < kLongest;
}

}  // namespace

Result<std::size_t> Listener::poll(nic::Port& port, ResponderPort* responder) {
  const std::size_t count = port.receive(buffers_);
  if (count == 0) return count;
  const Instant now = nic::now();
  if (frames_ == 0) first_ = now;
  last_ = now;
  const std::size_t wanted = std::min<std::uint64_t>(count, most_ - frames_);
  // A file's frames were sent at another time: no latency.
  const bool send_clock = !port.finite();
  const Instant arrival = now + stamp_offset(now);
  std::array<wire::Bytes, kBurst> frames;
  std::ranges::transform(std::span(buffers_).first(wanted), frames.begin(),
                         [](const rte_mbuf* buffer) { return frame_bytes(buffer); });
  const std::uint64_t roce = measurement_.totals().roce;
  measurement_.count_frames(std::span<const wire::Bytes>(frames).first(wanted), arrival,
                            send_clock);
  if (measurement_.totals().roce != roce) measured_ = now;
  if (responder != nullptr) {
    for (const wire::Bytes frame : std::span(frames).first(wanted)) responder->answer(frame);
    responder->send_answers();
  }
  frames_ += wanted;
  const auto kept = keep_copies(wanted);
  rte_pktmbuf_free_bulk(buffers_.data(), static_cast<unsigned>(count));
  if (!kept) return std::unexpected(kept.error());
  return count;
}

Duration Listener::stamp_offset(Instant now) noexcept {
  if (clock_ == nullptr || now < next_clock_) return stamp_offset_;
  next_clock_ = now + std::chrono::milliseconds(1);
  return stamp_offset_ = clock_->offset();
}

Result<void> Listener::keep_copies(std::size_t count) {
  if (copy_ == nullptr) return {};
  const Instant stamp = instant_from_ns(nic::wall_clock_ns());
  for (const rte_mbuf* buffer : std::span(buffers_).first(count)) {
    const wire::Bytes bytes = frame_bytes(buffer);
    auto written = copy_->write(stamp, bytes, static_cast<std::uint32_t>(bytes.size()));
    if (!written) return written;
  }
  return {};
}

Result<ReceiveReport> receive_all(const ListeningPorts& ports, Measurement& measurement,
                                  capture::Writer* copy, ProgressDisplay& display,
                                  const FlowNames& names, const Limits& limits,
                                  std::optional<Duration> until_idle,
                                  const nic::StampClock& clock) {
  return Reception(ports, measurement, copy, display, names, limits, until_idle, clock).go();
}

Result<ReceiveReport> receive_file(const std::string& path, Measurement& measurement,
                                   ProgressDisplay& display, const FlowNames& names,
                                   const Limits& limits) {
  auto reader = capture::Reader::open(path);
  if (!reader) return std::unexpected(reader.error());
  std::optional<Instant> first;
  Instant last{};
  display.start(nic::now());
  for (std::uint64_t taken = 0; taken < limits.count; ++taken) {
    if (taken % kFramesBetweenChecks == 0) {
      if (limits.stopped()) break;
      show_if_due(display, names, measurement);
    }
    const auto record = reader->next();
    if (!record) return std::unexpected(record.error());
    if (!*record) break;
    const capture::Record& frame = **record;
    const auto link = roce::link_of(reader->interfaces()[frame.interface].link_type);
    if (!link) continue;
    const auto envelope = roce::open_envelope(frame.bytes, frame.wire_length, *link);
    measurement.count_frame(envelope, frame.stamp, same_clock(envelope, frame.stamp));
    first = first.value_or(frame.stamp);
    last = std::max(last, frame.stamp);
  }
  measurement.finalize();
  display.finish(nic::now(), progress_of(names, nullptr, &measurement), &measurement);
  return ReceiveReport{.missed = 0,
                       .elapsed = first ? capture::stamp_difference(last, *first) : Duration{0},
                       .clock = {},
                       .interrupted = {}};
}

BackgroundTasks::BackgroundTasks(NeighborTable& neighbors, std::span<nic::Port* const> receivers,
                                 Measurement* measurement, ProgressDisplay& display,
                                 FlowNames names, std::span<const nic::Port> watched,
                                 const nic::StampClock* clock)
    : neighbors_(neighbors),
      watched_(watched),
      receivers_(receivers.begin(), receivers.end()),
      losses_({receivers.begin(), receivers.end()}),
      measurement_(measurement),
      display_(display),
      names_(std::move(names)) {
  if (measurement == nullptr) return;
  listener_.emplace(*measurement, nullptr, clock);
  for (nic::Port* port : receivers_) neighbors.stop_polling(*port);
}

void BackgroundTasks::poll_neighbors(Instant now) {
  next_neighbors_ = now + std::chrono::milliseconds(1);
  neighbors_.poll();
  if (companions_ != nullptr) companions_->poll();
  if (now < next_watch_) return;
  next_watch_ = now + kWatchEvery;
  if (!interrupted_) interrupted_ = missing_port(watched_);
  if (losses_.due(now)) display_.set_losses(losses_.losses(now));
}

Result<void> BackgroundTasks::poll() {
  for (nic::Port* port : receivers_) {
    if (auto count = listener_->poll(*port, neighbors_.responder_of(*port)); !count)
      return std::unexpected(count.error());
  }
  return {};
}

Result<void> BackgroundTasks::show(Instant now, const SentSoFar& sent,
                                   std::optional<Duration> left) {
  if (measurement_ != nullptr) measurement_->count_latencies();
  display_.show(now, progress_of(names_, &sent.flows, measurement_), left, measurement_,
                sent.pacing);
  return {};
}

void BackgroundTasks::begun() {
  if (companions_ != nullptr) companions_->begun();
}

/// False while another process of a common run sends.
bool BackgroundTasks::all_sent() const {
  return companions_ == nullptr || companions_->all_sent().has_value();
}

/// True if no sent frame is missing: then the wait ends when the port is empty.
bool BackgroundTasks::all_arrived(const std::vector<FlowCounters>& sent) const {
  std::uint64_t left = 0, arrived = 0;
  for (const FlowCounters& flow : sent) left += flow.frames;
  if (companions_ != nullptr) left = *companions_->all_sent();
  for (const ReceiveFlow& flow : measurement_->flows()) {
    arrived += flow.frames + flow.bad_icrc - std::min(flow.frames, flow.order.duplicated);
  }
  return arrived >= left;
}

Result<void> BackgroundTasks::finish(const SentSoFar& sent, Duration timeout,
                                     const std::atomic<bool>& stop) {
  Instant quiet_since = nic::now();
  while (listener_ && !interrupted_ && !stop.load(std::memory_order_relaxed)) {
    const std::uint64_t before = listener_->frames();
    const Instant now = nic::now();
    if (auto stepped = step(now, [&]() -> auto& { return sent; }, Duration{0}); !stepped)
      return stepped;
    if (listener_->frames() != before || !all_sent()) {
      quiet_since = now;
    } else if (all_arrived(sent.flows) || now - quiet_since >= timeout) {
      break;
    } else {
      sched_yield();
    }
  }
  if (measurement_ != nullptr) measurement_->finalize();
  display_.set_losses(losses_.losses(nic::now()));
  display_.finish(nic::now(), progress_of(names_, &sent.flows, measurement_), measurement_,
                  sent.pacing);
  return {};
}

}  // namespace lw::gen
