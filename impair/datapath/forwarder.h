// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <span>

#include "core/counter.h"
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
    heard,  // a pause frame was received for the other direction's queues
    send,   // this direction's queues request a pause frame to their sender
  };
  Kind kind = Kind::heard;
  wire::PfcFields fields;
};

/// Messages between the two directions, which may run on different threads. If a queue is full, the
/// message is lost, as a pause frame may be on a wire: the sender repeats it.
class PauseExchange {
 public:
  using Notes = SpscQueue<PauseNote>;

  /// Messages that `direction` sends.
  [[nodiscard]] Notes& from(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? from_eastward_ : from_westward_;
  }
  /// Messages for `direction`.
  [[nodiscard]] Notes& to(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? from_westward_ : from_eastward_;
  }

 private:
  Notes from_eastward_, from_westward_;
};

/// Moves frames in both directions, or in one, each through its own emulator::Link. `run` and
/// `replay` differ only in `Io`, the input and output of one direction: PortIo moves bursts between
/// two ports in real time, CaptureIo moves single frames between captures in virtual time.
///
///   poll() -> receive() -> Link::admit() -> Link::release() -> send()
///
/// The directions share no state. They exchange pause frames and connection set-up through queues,
/// so each may be polled by its own thread. All other functions require that no thread polls,
/// unless stated otherwise.
template <class Io>
class Forwarder {
 public:
  using Handle = typename Io::Handle;
  using Link = emulator::Link<Handle, typename Io::Frames>;
  using Recorder = typename Io::Recorder;
  using Configuration = impair::Configuration<Link>;

  /// Forwards in the directions of `ios`. Two directions exchange pause frames and connection
  /// set-up. `ledger` may be null, and must outlive the forwarder.
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

  /// One round of one direction: receives frames if `receiving`, applies the rules, and sends due
  /// frames. Returns true if a frame was received or sent.
  bool poll(emulator::Direction direction, bool receiving) noexcept;
  /// One round of all directions at one instant. All directions receive before one of them sends.
  /// Each reads the pause requests of the other before it sends.
  void poll_together(bool receiving) noexcept;

  /// Swaps `next` and the configuration in force. Frames inside keep their release times.
  void replace(Configuration& next) noexcept;
  /// Uses more memory for the frames of a direction, and `frames` for those that wait. See
  /// Link::grow().
  void grow(emulator::Direction direction, typename Link::Room& room,
            typename Io::Frames frames) noexcept {
    way(direction).link.grow(room, frames, way(direction).io.now());
  }
  /// Sets the links of ports up or down. A frame that enters or leaves by a port whose link is down
  /// is dropped and counted.
  void set_links(const config::LinkChange& change) noexcept;
  /// Writes the ledger records gathered so far.
  void flush_ledger() noexcept {
    for_each_way([](OneWay& way) { way.link.flush_ledger(); });
  }
  /// Drops all frames inside, and counts them as stopped.
  void abandon() noexcept;

  [[nodiscard]] bool forwards(emulator::Direction direction) const noexcept {
    return ways_[index_of(direction)].has_value();
  }
  [[nodiscard]] bool both() const noexcept { return ways_[0] && ways_[1]; }
  [[nodiscard]] const Link& link(emulator::Direction direction) const noexcept {
    return way(direction).link;
  }
  /// Time at which this direction has work even without input; Instant::max(): never.
  [[nodiscard]] Instant next_work(emulator::Direction direction) const noexcept {
    const Link& link = way(direction).link;
    return std::min(link.next_release(), link.next_ask());
  }
  [[nodiscard]] Instant next_work() const noexcept;
  /// Number of the next received frame of each direction.
  [[nodiscard]] std::array<std::uint64_t, 2> next_numbers() const noexcept;
  /// Number of frames inside, in all directions.
  [[nodiscard]] std::size_t inside() const noexcept;
  /// Time that poll() last read from the clock.
  [[nodiscard]] Instant last_time(emulator::Direction direction) const noexcept {
    return way(direction).now;
  }
  /// Arrival of the frame that was last received; before the first frame, time of construction. Any
  /// thread.
  [[nodiscard]] Instant last_received(emulator::Direction direction) const noexcept {
    return Instant{Duration{way(direction).last_received.load(std::memory_order_relaxed)}};
  }
  /// When the first frame arrived; Instant::max(): none has. Any thread.
  [[nodiscard]] Instant first_arrival(emulator::Direction direction) const noexcept {
    return Instant{Duration{way(direction).first_arrival.load(std::memory_order_relaxed)}};
  }
  /// True if the input is exhausted. Any thread.
  [[nodiscard]] bool input_ended(emulator::Direction direction) const noexcept {
    return way(direction).input_ended.load(std::memory_order_relaxed);
  }
  /// Number of the pause frames that the queues have sent.
  [[nodiscard]] std::uint64_t pauses_sent() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& way : ways_)
      if (way) sum += way->pauses_sent;
    return sum;
  }
  /// Returns the statistics of each direction, not audited. If `running`, frames in flight are
  /// computed from other counters instead of counted.
  [[nodiscard]] std::vector<DirectionReport> report(bool running) const;

 private:
  static constexpr Duration::rep kNever = Instant::max().time_since_epoch().count();
  /// One direction.
  struct alignas(64) OneWay {
    OneWay(const Io& input_output, emulator::Pipeline pipeline, const emulator::LinkConfig& config,
           emulator::LedgerSink* ledger)
        : io(input_output), link(std::move(pipeline), config, ledger, io.frames()) {}

    Io io;
    Link link;
    Recorder* recorder = nullptr;
    bool in_up = true, out_up = true;  // links of the input port and the output port
    std::uint64_t pauses_sent = 0;     // for the queues of the other direction
    Instant now = io.now();
    Instant arrival = now;       // of the frames that are being admitted
    Instant drained_at = now;    // when the port had no frame left; of a port without stamps
    bool receives = true;        // false: at the end of a run
    Histogram unseen_wait;       // most ns that frames may have waited in such a port
    Counter stamped_departures;  // frames whose departure the output port has stamped
    std::atomic<Duration::rep> first_arrival{kNever};
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
  void admit_or_refuse(OneWay& way, std::span<Handle> frames) noexcept;
  static Instant horizon_of(const OneWay& way) noexcept;
  static void note_wait(OneWay& way, std::size_t frames, bool drained) noexcept;
  void admit(OneWay& way, std::span<Handle> frames) noexcept;
  void admit_data(OneWay& way, std::span<Handle> frames) noexcept;
  bool admit_single(OneWay& way, Handle frame) noexcept;
  bool admit_staged(OneWay& way, Handle frame) noexcept;
  void admit_rest(OneWay& way, Handle frame, const wire::PfcFields& rest) noexcept;
  void take_pause(OneWay& way, Handle frame, const wire::PfcFields& fields) noexcept;
  void refuse(OneWay& way, std::span<Handle> frames) noexcept;
  void exchange_pauses(OneWay& way) noexcept;
  void send_pause(OneWay& way, const wire::PfcFields& fields) noexcept;
  std::size_t send(OneWay& way) noexcept;
  static void note_sent_singly(OneWay& way, std::size_t count, Instant before) noexcept;
  std::size_t send_what_falls_due(OneWay& way) noexcept;
  static void record_received(OneWay& way, Handle frame, const emulator::LedgerRecord& record);

  PauseExchange pauses_;
  std::array<std::optional<OneWay>, 2> ways_;  // by direction
};

}  // namespace lw::impair
