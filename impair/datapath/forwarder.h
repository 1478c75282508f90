// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <span>

#include "core/handoff.h"
#include "emulator/direction.h"
#include "emulator/link.h"
#include "impair/datapath/configuration.h"
#include "impair/datapath/direction_report.h"
#include "wire/pfc.h"

namespace lw::impair {

/// A message from one direction to the other about flow control.
struct PauseNote {
  enum class Kind : std::uint8_t {
    heard,  // a pause frame that came in for the other direction's queues
    send,   // a pause frame that this direction's queues want sent against their stream
  };
  Kind kind = Kind::heard;
  wire::PfcFields fields;
};

/// Both directions' messages to each other; each may run on a thread of its own. A message is lost
/// when its queue is full, as a pause frame may be on a wire: the sender repeats it.
class PauseExchange {
 public:
  using Notes = SpscQueue<PauseNote>;

  [[nodiscard]] Notes& from(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? from_eastward_ : from_westward_;
  }
  [[nodiscard]] Notes& to(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? from_westward_ : from_eastward_;
  }

 private:
  Notes from_eastward_, from_westward_;
};

/// Moves frames in both directions, or in one, each through an emulator::Link of its own. `run` and
/// `replay` differ only in `Io`, the input and output of one direction: PortIo moves bursts between
/// two ports in real time, CaptureIo moves single frames between captures in virtual time.
///
///   poll() -> receive() -> Link::admit() -> Link::release() -> send()
///
/// The directions share no state but what they exchange through queues (pause frames, connection
/// set-up), so each may be polled by a thread of its own. Everything else needs both at rest.
template <class Io>
class Forwarder {
 public:
  using Handle = typename Io::Handle;
  using Link = emulator::Link<Handle, typename Io::Frames>;
  using Recorder = typename Io::Recorder;
  using Configuration = impair::Configuration<Link>;

  /// Forwards in the directions of `ios`: one, or both, which then exchange pause frames and
  /// connection set-up. `ledger` may be null, and must outlive the forwarder.
  Forwarder(const config::ImpairProfile& profile, const emulator::LinkConfig& link,
            std::span<const Io> ios, emulator::LedgerSink* ledger);
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;
  ~Forwarder() { abandon(); }

  /// Copies each frame that comes in or goes out to `recorder`, which must live until another one,
  /// or null, replaces it.
  void record(emulator::Direction direction, Recorder* recorder) noexcept {
    way(direction).recorder = recorder;
  }

  /// One round of one direction: receives frames if `receiving`, decides, sends what is due.
  /// Returns true when a frame moved.
  bool poll(emulator::Direction direction, bool receiving) noexcept;
  /// One round of all directions at one instant: no frame leaves before all have received, and
  /// before each has heard what the other asks for.
  void poll_together(bool receiving) noexcept;

  /// Swaps `next` and the configuration in force. Frames inside keep their releases.
  void replace(Configuration& next) noexcept;
  /// While the link of a port is down, frames that come in or leave by it are dropped and counted.
  void set_links(const config::LinkChange& change) noexcept;
  /// Writes the ledger records gathered so far.
  void flush_ledger() noexcept {
    for_each_way([](OneWay& way) { way.link.flush_ledger(); });
  }
  /// Drops all frames inside, counted as stopped.
  void abandon() noexcept;

  [[nodiscard]] bool forwards(emulator::Direction direction) const noexcept {
    return ways_[index_of(direction)].has_value();
  }
  [[nodiscard]] bool both() const noexcept { return ways_[0] && ways_[1]; }
  [[nodiscard]] const Link& link(emulator::Direction direction) const noexcept {
    return way(direction).link;
  }
  /// When there is something to do in this direction without input; Instant::max(): never.
  [[nodiscard]] Instant next_work(emulator::Direction direction) const noexcept {
    const Link& link = way(direction).link;
    return std::min(link.next_release(), link.next_ask());
  }
  [[nodiscard]] Instant next_work() const noexcept;
  /// Frames inside, of all directions.
  [[nodiscard]] std::size_t inside() const noexcept;
  /// The time that poll() read from the clock last.
  [[nodiscard]] Instant last_time(emulator::Direction direction) const noexcept {
    return way(direction).now;
  }
  /// When a frame was received last. Any thread, like input_ended().
  [[nodiscard]] Instant last_received(emulator::Direction direction) const noexcept {
    return Instant{Duration{way(direction).last_received.load(std::memory_order_relaxed)}};
  }
  [[nodiscard]] bool input_ended(emulator::Direction direction) const noexcept {
    return way(direction).input_ended.load(std::memory_order_relaxed);
  }
  /// Statistics of each direction, not audited. `running`: without a walk through what is inside.
  [[nodiscard]] std::vector<DirectionReport> report(bool running) const;

 private:
  /// One direction.
  struct alignas(64) OneWay {
    OneWay(const Io& input_output, emulator::Pipeline pipeline, const emulator::LinkConfig& config,
           emulator::LedgerSink* ledger)
        : io(input_output), link(std::move(pipeline), config, ledger, io.frames()) {}

    Io io;
    Link link;
    Recorder* recorder = nullptr;
    bool in_up = true, out_up = true;  // the links that frames come by, and leave by
    Instant now = io.now();
    std::atomic<bool> input_ended{false};
    std::atomic<Duration::rep> last_received{now.time_since_epoch().count()};
  };

  static constexpr std::size_t index_of(emulator::Direction direction) noexcept {
    return static_cast<std::size_t>(direction);
  }
  [[nodiscard]] OneWay& way(emulator::Direction direction) noexcept {
    return *ways_[index_of(direction)];
  }
  [[nodiscard]] const OneWay& way(emulator::Direction direction) const noexcept {
    return *ways_[index_of(direction)];
  }
  template <class Visit>
  void for_each_way(Visit visit) {
    for (auto& way : ways_)
      if (way) visit(*way);
  }

  std::size_t receive(OneWay& way, bool receiving) noexcept;
  void admit(OneWay& way, std::span<Handle> frames) noexcept;
  void admit_data(OneWay& way, std::span<Handle> frames) noexcept;
  bool admit_single(OneWay& way, Handle frame) noexcept;
  void take_pause(OneWay& way, Handle frame, const wire::PfcFields& fields) noexcept;
  void refuse(OneWay& way, std::span<Handle> frames) noexcept;
  void exchange_pauses(OneWay& way) noexcept;
  void send_pause(OneWay& way, const wire::PfcFields& fields) noexcept;
  std::size_t send(OneWay& way) noexcept;
  std::size_t send_what_falls_due(OneWay& way) noexcept;
  static void record_received(OneWay& way, Handle frame, const emulator::LedgerRecord& record);

  PauseExchange pauses_;
  std::array<std::optional<OneWay>, 2> ways_;  // by direction
};

}  // namespace lw::impair
