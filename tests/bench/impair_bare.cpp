// SPDX-License-Identifier: BSD-3-Clause
// The least that a delay takes: frames from one null port wait and leave by the other, on the
// ports, buffers and frames of impair_loop. It looks whether a frame is for UDP port 4791, and that
// is all: no rules, no counts, no audit, and where frames overtake each other none in the right
// order, only in the right 4 us. What it reaches is what this machine's memory lets any such loop
// reach.
//
//   impair_bare PROFILE SECONDS FRAME_BYTES QPS CORE
//
// Delay, uniform jitter and queue are those of the profile's last rule; the queue never overflows.
// One JSON object on standard output.
#include <algorithm>
#include <array>

#include "bench/null_feed.h"
#include "impair/datapath/port_io.h"
#include "nic/clock.h"

namespace lw::impair {
namespace {

constexpr std::size_t kBurst = 32, kAhead = 32;

struct Waiting {
  Duration::rep due;
  rte_mbuf* frame;
};

/// Frames leave in the order of arrivals.
class BareRing {
 public:
  void push(rte_mbuf* frame, Duration::rep due) {
    last_ = std::max(last_, due);
    items_[tail_++ & kMask] = {last_, frame};
  }
  template <class Send>
  void release(Duration::rep now, Send send) {
    std::array<rte_mbuf*, kBurst> out;
    std::size_t count;
    do {
      for (count = 0; count < kBurst && head_ != tail_ && items_[head_ & kMask].due <= now;
           ++count, ++head_) {
        if (tail_ - head_ > kAhead) MbufAccess::fetch(items_[(head_ + kAhead) & kMask].frame);
        out[count] = items_[head_ & kMask].frame;
      }
      send(std::span(out).first(count));
    } while (count == kBurst);
  }
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }

 private:
  static constexpr std::size_t kMask = (1 << 18) - 1;
  std::vector<Waiting> items_ = std::vector<Waiting>(kMask + 1);
  std::size_t head_ = 0, tail_ = 0;
  Duration::rep last_ = 0;
};

/// Frames leave in the order of the 4 us in which they are due.
class BareWheel {
 public:
  void push(rte_mbuf* frame, Duration::rep due) {
    Slot& slot = at(due >> kSlotBits);
    // More than these in 4 us: the others are early.
    if (slot.used == slot.frames.size()) return push(frame, due - (1 << kSlotBits));
    slot.frames[slot.used++] = frame;
    ++size_;
  }
  template <class Send>
  void release(Duration::rep now, Send send) {
    const auto end = now >> kSlotBits;
    for (tick_ = std::max(tick_, end - static_cast<Duration::rep>(kSlots)); tick_ < end; ++tick_) {
      for (rte_mbuf* frame : at(tick_ + 1).in_use()) MbufAccess::fetch(frame);
      const auto* const later = reinterpret_cast<const char*>(&at(tick_ + 3));
      for (std::size_t line = 0; line < kLinesAhead; ++line) rte_prefetch0(later + 64 * line);
      Slot& due = at(tick_);
      for (auto rest = due.in_use(); !rest.empty();
           rest = rest.subspan(std::min(kBurst, rest.size())))
        send(rest.first(std::min(kBurst, rest.size())));
      size_ -= due.used;
      due.used = 0;
    }
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr int kSlotBits = 12;
  static constexpr std::size_t kSlots = 4096, kLinesAhead = 16;
  struct alignas(64) Slot {
    std::uint32_t used = 0;
    std::array<rte_mbuf*, 255> frames;
    std::span<rte_mbuf*> in_use() { return std::span(frames).first(used); }
  };
  Slot& at(Duration::rep tick) { return slots_[static_cast<std::size_t>(tick) % kSlots]; }

  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
  Duration::rep tick_ = 0;
  std::size_t size_ = 0;
};

struct Delays {
  Duration::rep least = 0, range = 0;
  std::uint64_t state = 88172645463325252;

  /// Uniform; xorshift (Marsaglia, 2003), the cheapest that does.
  Duration::rep next() {
    if (range == 0) return least;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return least +
           static_cast<Duration::rep>((state >> 32) * static_cast<std::uint64_t>(range) >> 32);
  }
};

/// A link's time: each frame leaves after the one before it, with its last bit.
struct BareLink {
  double ns_per_byte = 0;  // 0: no queue
  double free_at = 0;

  Duration::rep departure(Duration::rep now, std::uint32_t bytes) {
    constexpr double kOverhead = 24;  // of Ethernet, as the queue's default
    if (ns_per_byte == 0) return now;
    free_at = std::max(free_at, static_cast<double>(now)) + (bytes + kOverhead) * ns_per_byte;
    return static_cast<Duration::rep>(free_at);
  }
};

bool is_rocev2(const rte_mbuf* frame) {
  const auto* bytes = rte_pktmbuf_mtod(frame, const std::uint8_t*);
  return bytes[12] == 0x08 && bytes[23] == 17 && bytes[36] == 0x12 && bytes[37] == 0xb7;
}

template <class Queue>
struct BareWay {
  nic::Port *from, *to;
  Delays delays;
  BareLink link;
  Queue queue{};
  std::uint64_t received = 0, matched = 0;

  void turn() {
    std::array<rte_mbuf*, kBurst> burst;
    const std::size_t count = from->receive(burst);
    const auto frames = std::span(burst).first(count);
    for (const rte_mbuf* frame : frames) rte_prefetch0(rte_pktmbuf_mtod(frame, const void*));
    const Duration::rep now = nic::now().time_since_epoch().count();
    queue.release(now, [this](std::span<rte_mbuf*> out) {
      if (!out.empty()) to->send(out);
    });
    received += count;
    for (rte_mbuf* frame : frames) {
      matched += is_rocev2(frame);
      queue.push(frame, link.departure(now, rte_pktmbuf_pkt_len(frame)) + delays.next());
    }
  }
};

template <class Queue>
void measure(Ports& ports, const Delays& delays, const BareLink& link, unsigned seconds) {
  constexpr int kTurnsBetweenLooks = 100;
  BareWay<Queue> there{&ports.west, &ports.east, delays, link};
  BareWay<Queue> back{&ports.east, &ports.west, delays, link};
  const double before = bench::core_seconds();
  const Instant end = nic::now() + std::chrono::seconds(seconds);
  while (nic::now() < end) {
    for (int i = 0; i < kTurnsBetweenLooks; ++i) {
      there.turn();
      back.turn();
    }
  }
  const std::uint64_t received = there.received + back.received;
  const double rate = static_cast<double>(received) / (bench::core_seconds() - before);
  const double mean = static_cast<double>(delays.least + delays.range / 2) * 1e-9;
  fmt::print(R"({{"frames_per_core_s":{:.0f},"received":{},"matched":{},"in_flight":{},)"
             R"("rate_x_delay":{:.0f}}})"
             "\n",
             rate, received, there.matched + back.matched, there.queue.size() + back.queue.size(),
             rate * mean);
}

int run_bare(const std::string& path, unsigned seconds, unsigned bytes, unsigned qps, int core) {
  const auto profile = config::load_impair_profile(path);
  if (!profile) return fmt::print(stderr, "{}\n", profile.error().message), 2;
  const emulator::RuleConfig& rule = profile->rules.back();
  Delays delays{.least = rule.delay.value_or(Duration{}).count()};
  if (rule.jitter) {
    const auto& uniform = std::get<emulator::UniformDelay>(rule.jitter->distribution);
    delays.least += static_cast<Duration::rep>(uniform.low);
    delays.range = static_cast<Duration::rep>(uniform.high - uniform.low);
  }
  BareLink link;
  if (rule.queue) link.ns_per_byte = 8e9 / rule.queue->rate_bps;
  RunConfig config;
  auto ports = bench::null_feed(*profile, config, bytes, qps);
  if (!ports) return fmt::print(stderr, "{}\n", ports.error().message), 3;
  bench::pin(core);
  if (delays.range > 0 && !rule.keep_order) {
    measure<BareWheel>(*ports, delays, link, seconds);
  } else {
    measure<BareRing>(*ports, delays, link, seconds);
  }
  return 0;
}

}  // namespace
}  // namespace lw::impair

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: {} PROFILE SECONDS FRAME_BYTES QPS CORE\n", argv[0]);
    return 2;
  }
  using lw::bench::number;
  return lw::impair::run_bare(argv[1], number(argv[2]), number(argv[3]), number(argv[4]),
                              static_cast<int>(number(argv[5])));
}
