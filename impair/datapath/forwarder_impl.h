// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// forwarder.h: definitions, for the translation units that instantiate it.
#include <algorithm>

#include "impair/datapath/forwarder.h"

namespace lw::impair {

template <class Io>
Forwarder<Io>::Forwarder(const config::ImpairProfile& profile, const emulator::LinkConfig& link,
                         std::span<const Io> ios, emulator::LedgerSink* ledger) {
  const auto exchange = ios.size() > 1 ? std::make_shared<emulator::CmExchange>() : nullptr;
  for (const Io& io : ios)
    ways_[index_of(io.direction())].emplace(io, pipeline_of(profile, io.direction(), {}, exchange),
                                            link, ledger);
}

template <class Io>
bool Forwarder<Io>::poll(emulator::Direction direction, bool receiving) noexcept {
  OneWay& way = this->way(direction);
  const std::size_t received = receive(way, receiving);
  exchange_pauses(way);
  std::size_t moved = received + send(way);
  // A full burst means load: then large bursts matter more than exact release times.
  if (received < Io::kBurst) moved += send_what_falls_due(way);
  if (moved) way.link.flush_ledger();
  return moved != 0;
}

template <class Io>
void Forwarder<Io>::poll_together(bool receiving) noexcept {
  for_each_way([&](OneWay& way) { receive(way, receiving); });
  if (receiving) flush_ledger();
  // Two rounds: in the second one, the first direction gets the messages of the other.
  for (int round = 0; round < 2; ++round) for_each_way([&](OneWay& way) { exchange_pauses(way); });
  for_each_way([&](OneWay& way) { send(way); });
}

/// Releases due frames, and admits frames that have arrived. Returns how many have arrived.
template <class Io>
std::size_t Forwarder<Io>::receive(OneWay& way, bool receiving) noexcept {
  std::span<Handle> frames;
  std::size_t most = 0;
  way.receives = receiving;
  if (receiving) {
    // Without room in the egress buffer, frames stay in the device: so the device's ring shows that
    // the output is blocked.
    most = std::min(Io::kBurst, way.link.egress_room());
    // A file can wait until the queue has room; a wire can't.
    if (way.io.finite()) most = std::min(most, way.link.queue_room());
    if (most) frames = way.io.receive(most);
  }
  if (frames.empty()) {
    way.input_ended.store(way.io.exhausted(), std::memory_order_relaxed);
    way.link.fetch_next();
  }
  way.now = way.io.now();
  const std::span<const Instant> arrivals =
      frames.empty() ? std::span<const Instant>() : way.io.arrivals();
  way.link.release(way.now, frames.size(),
                   arrivals.empty() ? horizon_of(way) : std::min(arrivals.front(), way.now));
  if (Io::kPolls && !way.io.stamped()) note_wait(way, frames.size(), frames.size() < most);
  if (frames.empty()) return 0;
  for (std::size_t i = 0; i < frames.size();) {
    way.arrival = arrivals.empty() ? way.now : arrivals[i];
    std::size_t end = arrivals.empty() ? frames.size() : i + 1;
    while (end < frames.size() && arrivals[end] == way.arrival) ++end;
    admit_or_refuse(way, frames.subspan(i, end - i));
    i = end;
  }
  way.last_received.store(way.arrival.time_since_epoch().count(), std::memory_order_relaxed);
  return frames.size();
}

/// Admits frames that arrived together, at way.arrival. Refuses them while the input is down.
template <class Io>
void Forwarder<Io>::admit_or_refuse(OneWay& way, std::span<Handle> frames) noexcept {
  if (way.first_arrival.load(std::memory_order_relaxed) == kNever) [[unlikely]]
    way.first_arrival.store(way.arrival.time_since_epoch().count(), std::memory_order_relaxed);
  if (way.in_up) [[likely]] {
    admit(way, frames);
  } else {
    refuse(way, frames);
  }
}

/// Until when queues and groups go on: no frame arrives before it that is received later. At the
/// end of a run none is received.
template <class Io>
Instant Forwarder<Io>::horizon_of(const OneWay& way) noexcept {
  return way.io.stamped() && way.receives ? std::min(way.io.horizon(), way.now) : way.now;
}

/// Of a port without stamps: counts how long frames may have waited, since the port had none left.
template <class Io>
void Forwarder<Io>::note_wait(OneWay& way, std::size_t frames, bool drained) noexcept {
  if (frames > 0) way.unseen_wait.add((way.now - way.drained_at).count(), frames);
  if (drained) way.drained_at = way.now;
}

/// What a pause frame asks of the other direction's queues is not forwarded. Frames are numbered in
/// order of arrival.
template <class Io>
void Forwarder<Io>::admit(OneWay& way, std::span<Handle> frames) noexcept {
  const wire::Priorities obeyed = both() ? way.link.pipeline().obeyed_pauses() : 0;
  if (obeyed) [[unlikely]] {
    for (std::size_t i = 0; i < frames.size();) {
      const auto asked = wire::pfc_of(Io::bytes(frames[i]));
      if (!asked || !(asked->listed() & obeyed)) {
        ++i;
        continue;
      }
      admit_data(way, frames.first(i));
      if (const auto rest = asked->without(obeyed); rest.listed()) {
        pauses_.from(way.io.direction()).push({PauseNote::Kind::heard, *asked});
        admit_rest(way, frames[i], rest);
      } else {
        take_pause(way, frames[i], *asked);
      }
      frames = frames.subspan(i + 1);
      i = 0;
    }
  }
  if (!frames.empty()) admit_data(way, frames);
}

template <class Io>
void Forwarder<Io>::admit_data(OneWay& way, std::span<Handle> frames) noexcept {
  std::array<Handle, Io::kBurst> dropped;
  const std::size_t ours = way.io.make_own(frames, way.link.pipeline().edits());
  const std::size_t batch = Io::kBatches && !way.recorder ? ours : 0;
  std::size_t drops = 0;
  if constexpr (Io::kBatches)
    if (batch) drops = way.link.admit(frames.first(batch), way.arrival, dropped);
  for (const Handle frame : frames.subspan(batch))
    if (!admit_single(way, frame)) dropped[drops++] = frame;
  if (drops) way.io.free(std::span(dropped).first(drops));
}

/// The recorder gets the frame as received, before a stage changes it.
template <class Io>
bool Forwarder<Io>::admit_single(OneWay& way, Handle frame) noexcept {
  if (way.recorder) way.recorder->stage(Io::bytes(frame), Io::wire_length(frame));
  return admit_staged(way, frame);
}

/// Admits a frame whose bytes the recorder has, if there is one.
template <class Io>
bool Forwarder<Io>::admit_staged(OneWay& way, Handle frame) noexcept {
  const roce::Envelope envelope = Io::envelope(frame);
  emulator::LedgerRecord record;
  const bool kept = Io::is_held_by_others(frame)
                        ? way.link.admit_without_buffer(envelope, way.arrival, &record)
                        : way.link.admit(frame, envelope, way.arrival, &record);
  if (!way.recorder) return kept;
  way.recorder->say(0, way.arrival, false, record);
  way.recorder->publish(1, false);
  return kept;
}

/// Admits a pause frame, of which it forwards only `rest`: the other priorities are obeyed here.
/// The frame is forwarded as it came if no buffer is free for the change.
template <class Io>
void Forwarder<Io>::admit_rest(OneWay& way, Handle frame, const wire::PfcFields& rest) noexcept {
  way.io.make_own(std::span(&frame, 1), true);
  if (way.recorder) way.recorder->stage(Io::bytes(frame), Io::wire_length(frame));
  auto* pfc = wire::view_at<wire::Pfc>(way.io.frames().writable(frame), sizeof(wire::Ethernet));
  if (pfc) pfc->set(rest);
  if (!admit_staged(way, frame)) way.io.free(std::span(&frame, 1));
}

template <class Io>
void Forwarder<Io>::record_received(OneWay& way, Handle frame,
                                    const emulator::LedgerRecord& record) {
  if (!way.recorder) return;
  way.recorder->stage(Io::bytes(frame), Io::wire_length(frame));
  way.recorder->say(0, way.arrival, false, record);
  way.recorder->publish(1, false);
}

template <class Io>
void Forwarder<Io>::take_pause(OneWay& way, Handle frame, const wire::PfcFields& fields) noexcept {
  emulator::LedgerRecord record;
  way.link.consume(Io::envelope(frame), way.arrival, &record);
  pauses_.from(way.io.direction()).push({PauseNote::Kind::heard, fields});
  record_received(way, frame, record);
  way.io.free(std::span(&frame, 1));
}

/// Drops frames that came in by a port whose link is down.
template <class Io>
void Forwarder<Io>::refuse(OneWay& way, std::span<Handle> frames) noexcept {
  for (const Handle frame : frames) {
    emulator::LedgerRecord record;
    way.link.turn_away(Io::envelope(frame), way.arrival, &record);
    record_received(way, frame, record);
  }
  way.io.free(frames);
}

/// Handles the messages of the other direction, and sends it the pauses that this direction's
/// queues request.
template <class Io>
void Forwarder<Io>::exchange_pauses(OneWay& way) noexcept {
  if (!both()) return;
  const emulator::Direction direction = way.io.direction();
  while (const auto note = pauses_.to(direction).pop()) {
    if (note->kind == PauseNote::Kind::heard) {
      way.link.pause(note->fields, way.now);
    } else {
      send_pause(way, note->fields);
    }
  }
  if (way.link.pipeline().asking().empty()) return;
  for (const wire::PfcFields& asked : way.link.asks_for(way.now))
    pauses_.from(direction).push({PauseNote::Kind::send, asked});
}

/// If no buffer is free, the pause frame is lost, as it may be on a wire.
template <class Io>
void Forwarder<Io>::send_pause(OneWay& way, const wire::PfcFields& fields) noexcept {
  const auto bytes = wire::pfc_frame(way.io.source_address(), fields);
  std::optional<Handle> frame = way.io.make_frame(bytes);
  if (!frame) return;
  ++way.pauses_sent;
  if (!way.link.create(*frame, bytes.size(), way.now)) way.io.free(std::span(&*frame, 1));
}

/// Sends the frames that the link has released; drops them if the output link is down. Returns how
/// many were sent or dropped.
template <class Io>
std::size_t Forwarder<Io>::send(OneWay& way) noexcept {
  if (!way.out_up) [[unlikely]] {
    const std::size_t lost = way.link.egress_size();
    way.link.lose_egress([](Handle frame) { return Io::envelope(frame); },
                         [&](Handle frame) { way.io.free(std::span(&frame, 1)); });
    return lost;
  }
  for (std::size_t total = 0;;) {
    std::span<Handle> out = way.link.egress();
    out = out.first(std::min(out.size(), Io::kSendBurst));
    if (out.empty()) return total;
    if (way.recorder) [[unlikely]]
      for (const Handle frame : out) way.recorder->stage(Io::bytes(frame), Io::wire_length(frame));
    const Instant before = way.io.hands_over_singly() ? way.io.now() : Instant{};
    const std::size_t count = way.io.send(out);
    if (count || way.recorder) way.now = way.io.now();
    if (way.recorder) [[unlikely]] {
      way.link.for_each_leaving(
          count, [&](std::size_t i, const emulator::Transit& transit, std::uint64_t number) {
            way.recorder->say(i, way.now, true, record_of(transit, number, way.io.direction()));
          });
      way.recorder->publish(count, true);
    }
    if (way.io.hands_over_singly()) {
      note_sent_singly(way, count, before);
    } else if (count) {
      way.link.sent(count, way.now);
    }
    total += count;
    if (count < out.size()) return total;
  }
}

/// Counts frames that a port has taken one after another, between `before` and now: when they left
/// by their stamps, or else spread over this time.
template <class Io>
void Forwarder<Io>::note_sent_singly(OneWay& way, std::size_t count, Instant before) noexcept {
  const std::span<const Instant> stamped = way.io.departures();
  const bool known = count > 0 && stamped.size() == count;
  if (known) way.stamped_departures.add(count);
  const Duration took = way.now - before;
  Instant left = before;
  for (std::size_t i = 0; i < count; ++i) {
    const auto share = static_cast<Duration::rep>(i);
    left = known ? std::clamp(stamped[i], left, way.now)
                 : before + took * share / static_cast<Duration::rep>(count);
    way.link.sent(1, left);
  }
}

/// Sends frames that have become due since the round began. If the next frame is due within
/// kAboutToBeDue, waits for it instead of polling the other direction first.
template <class Io>
std::size_t Forwarder<Io>::send_what_falls_due(OneWay& way) noexcept {
  // Frames that arrive in the meantime wait at most this much longer.
  constexpr Duration kAboutToBeDue{300};
  // A clock that does not advance must not hold the loop.
  constexpr int kMostLooks = 64;
  const Instant next = way.link.next_release();
  if (next > way.now + kAboutToBeDue) return 0;
  for (int looks = 0; next > way.now && looks < kMostLooks; ++looks) way.now = way.io.now();
  way.link.release(way.now, 0, horizon_of(way));
  return send(way);
}

template <class Io>
void Forwarder<Io>::replace(Configuration& next) noexcept {
  for_each_way(
      [&](OneWay& way) { way.link.replace(next.prepared(way.io.direction()), way.io.now()); });
}

template <class Io>
void Forwarder<Io>::set_links(const config::LinkChange& change) noexcept {
  for_each_way([&](OneWay& way) {
    const bool east = way.io.direction() == emulator::Direction::west_to_east;
    if (east ? change.west : change.east) way.in_up = change.up;
    if (east ? change.east : change.west) way.out_up = change.up;
  });
}

template <class Io>
void Forwarder<Io>::abandon() noexcept {
  for_each_way([](OneWay& way) {
    way.link.abandon([](Handle frame) { return Io::envelope(frame); },
                     [&](Handle frame) { way.io.free(std::span(&frame, 1)); });
    way.link.flush_ledger();
  });
}

template <class Io>
Instant Forwarder<Io>::next_work() const noexcept {
  Instant next = Instant::max();
  for (const auto& way : ways_)
    if (way) next = std::min(next, next_work(way->io.direction()));
  return next;
}

template <class Io>
std::array<std::uint64_t, 2> Forwarder<Io>::next_numbers() const noexcept {
  std::array<std::uint64_t, 2> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (ways_[i]) numbers[i] = ways_[i]->link.counters().received.frames.get();
  return numbers;
}

template <class Io>
std::size_t Forwarder<Io>::inside() const noexcept {
  std::size_t frames = 0;
  for (const auto& way : ways_)
    if (way) frames += way->link.inside();
  return frames;
}

template <class Io>
std::vector<DirectionReport> Forwarder<Io>::report(bool running) const {
  std::vector<DirectionReport> reports;
  for (const auto& way : ways_) {
    if (!way) continue;
    const Link& link = way->link;
    auto& report = reports.emplace_back(
        report_of(link.pipeline(), running ? link.running_accounting() : link.accounting()));
    report.delay = spread_of(link.delay());
    report.delays = delays_of(link.delay());
    report.release_error = spread_of(link.release_error());
    report.pass_latency = spread_of(link.pass_latency());
    report.late_frames = link.late();
    if (Io::kPolls)
      report.arrivals = ArrivalReport{.stamped = way->io.stamped(),
                                      .stepped = way->io.stepped(),
                                      .uncertainty = way->io.stamp_uncertainty(),
                                      .wait = spread_of(way->unseen_wait),
                                      .departures = way->stamped_departures.get()};
  }
  return reports;
}

}  // namespace lw::impair
