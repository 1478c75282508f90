// SPDX-License-Identifier: BSD-3-Clause
// What a roce-impair of another process adds to frames, seen from outside: one loop sends a frame a
// microsecond into one port, to QP 1 and QP 2 in turn, and takes from another what comes out. Each
// frame carries when it was sent. Where the box delays one QP only, whatever else adds to a frame's
// time, here or there, adds to both alike.
//
//   impair_release PORT-IN PORT-OUT SECONDS DELAY-NS CORE
//
// One JSON object on standard output: what the frames of either QP had beyond the delay of theirs;
// and what delayed ones should have had, as their neighbours tell. A frame that waits meets the box
// twice, when it comes in and when it is due, and each time what keeps the box from its core then;
// one that passes meets it once. So "two passages" is for each delayed frame what frames that
// were sent beside it had, and what frames had that were sent when it was due, less what a passage
// takes by itself.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include <rte_mbuf.h>

#include "bench/impair_feed.h"
#include "core/histogram.h"
#include "nic/clock.h"
#include "nic/port.h"

namespace lw::bench {
namespace {

constexpr Duration kBetweenFrames = std::chrono::microseconds(1);
// Who was kept from its core for longer than this can't say when a frame came, and may have kept it
// from coming: what should have come before isn't judged.
constexpr Duration kBlind = std::chrono::microseconds(2);
// Ethernet 14, IPv4 20 and UDP 8 B are before the BTH; behind its 12 the payload begins, with the
// stamp and the frame's number.
constexpr std::size_t kStampAt = 42 + 12, kNumberAt = kStampAt + 8;
// Longer than any delay: what hasn't come then doesn't come any more.
constexpr Duration kPatience = std::chrono::milliseconds(200);

struct Options {
  nic::PortSpec in, out;
  Duration lasting, delay;
  int core;
};

/// What came of the frames, in the order in which they were sent, to QP 1 and 2 in turn.
class Diary {
 public:
  explicit Diary(Duration lasting) {
    sent_.reserve(static_cast<std::size_t>(lasting / kBetweenFrames) + 1);
    added_.reserve(sent_.capacity());
  }
  void sent(Instant at) {
    sent_.push_back(at);
    added_.push_back(kUnjudged);
  }
  void added(std::size_t frame, Duration beyond_delay) noexcept { added_[frame] = beyond_delay; }
  [[nodiscard]] std::size_t size() const noexcept { return sent_.size(); }

  [[nodiscard]] Histogram of(bool delayed) const {
    Histogram all;
    for (std::size_t i = delayed ? 0 : 1; i < sent_.size(); i += 2)
      if (added_[i] != kUnjudged) all.add(added_[i].count());
    return all;
  }

  struct Witnessed {
    Histogram had, two_passages;
  };
  /// What delayed frames had, and should have had, of those of which both is known.
  [[nodiscard]] Witnessed witnessed(Duration delay) const {
    const Duration passage{of(false).quantile(0.5)};
    Witnessed all;
    for (std::size_t i = 0; i < sent_.size(); i += 2) {
      const Duration in = behind(sent_[i]);
      const Duration out = in == kUnjudged ? in : behind(sent_[i] + in + delay);
      if (added_[i] == kUnjudged || in == kUnjudged || out == kUnjudged) continue;
      all.had.add(added_[i].count());
      all.two_passages.add((in + out - passage).count());
    }
    return all;
  }

 private:
  static constexpr Duration kUnjudged = Duration::min();

  /// What the first frame had that was sent at `when` or later and wasn't delayed; only if soon.
  /// (Not the mean of two: where a stall begins between them it would be half as long.)
  [[nodiscard]] Duration behind(Instant when) const noexcept {
    auto i = static_cast<std::size_t>(std::ranges::lower_bound(sent_, when) - sent_.begin());
    if (i % 2 == 0) ++i;
    return i < sent_.size() && sent_[i] - when <= 3 * kBetweenFrames ? added_[i] : kUnjudged;
  }

  std::vector<Instant> sent_;
  std::vector<Duration> added_;
};

class Prober {
 public:
  Prober(nic::Port& in, nic::Port& out, rte_mempool* pool, Duration delay, Duration lasting)
      : in_(&in), out_(&out), pool_(pool), delay_(delay), diary_(lasting) {}

  void send(Instant now) noexcept {
    rte_mbuf* frame = rte_pktmbuf_alloc(pool_);
    if (!frame) return;
    const std::uint64_t number = diary_.size();
    const auto& bytes = templates_[number % 2];
    auto* at = rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes.size()));
    std::memcpy(at, bytes.data(), bytes.size());
    std::memcpy(at + kStampAt, &now, sizeof now);
    std::memcpy(at + kNumberAt, &number, sizeof number);
    if (in_->send(std::span(&frame, 1)) == 1) {
      diary_.sent(now);
    } else {
      rte_pktmbuf_free(frame);
    }
  }

  /// False: there was nothing.
  bool receive() noexcept {
    std::array<rte_mbuf*, 32> frames;
    const std::size_t count = out_->receive(frames);
    const Instant now = nic::now();
    if (now - std::exchange(looked_, now) > kBlind) seeing_since_ = now;
    for (rte_mbuf* frame : std::span(frames).first(count)) {
      const auto* at = rte_pktmbuf_mtod(frame, const char*);
      Instant sent;
      std::uint64_t number;
      std::memcpy(&sent, at + kStampAt, sizeof sent);
      std::memcpy(&number, at + kNumberAt, sizeof number);
      const bool delayed = number % 2 == 0;
      const Instant ideal = sent + (delayed ? delay_ : Duration{});
      if (ideal < seeing_since_) {
        ++unjudged_;
      } else {
        diary_.added(number, now - ideal);
      }
      rte_pktmbuf_free(frame);
    }
    return count > 0;
  }

  void print() const {
    const auto spread = [](const Histogram& added) {
      return fmt::format(R"({{"count":{},"p50":{},"p99":{},"p99.9":{},"max":{}}})", added.count(),
                         added.quantile(0.5), added.quantile(0.99), added.quantile(0.999),
                         added.maximum());
    };
    const auto [had, two_passages] = diary_.witnessed(delay_);
    fmt::print(
        R"({{"sent":{},"unjudged":{},"delay 0":{},"delayed":{},"witnessed":{},"two passages":{}}})"
        "\n",
        diary_.size(), unjudged_, spread(diary_.of(false)), spread(diary_.of(true)), spread(had),
        spread(two_passages));
  }

 private:
  nic::Port *in_, *out_;
  rte_mempool* pool_;
  Duration delay_;
  std::array<std::vector<std::byte>, 2> templates_{frame_of(128, 1, 0), frame_of(128, 2, 0)};
  Instant looked_ = nic::now();
  Instant seeing_since_;
  std::uint64_t unjudged_ = 0;
  Diary diary_;
};

void probe(Prober& prober, Duration lasting) {
  const Instant start = nic::now();
  Instant due = start, last = start;
  while (true) {
    const Instant now = nic::now();
    // What can't be sent in time isn't made up for: frames that leave together would tell of that.
    if (now - start < lasting && now >= due) {
      prober.send(now);
      due = std::max(due + kBetweenFrames, now);
    }
    if (prober.receive()) last = now;
    if (now - start >= lasting && now - last > kPatience) return;
  }
}

int run(const Options& options) {
  const std::array specs{options.in, options.out};
  auto eal = nic::Eal::start({.ports = specs, .cores = {options.core}});
  if (!eal) return fmt::print(stderr, "{}\n", eal.error().message), 3;
  auto pool = nic::Pool::create("frames", {.buffers = 32'768, .frame_size = 2048});
  if (!pool) return fmt::print(stderr, "{}\n", pool.error().message), 3;
  auto in = nic::Port::open(*eal, options.in, *pool);
  auto out = nic::Port::open(*eal, options.out, *pool);
  const std::atomic<bool> cancelled{false};
  for (auto* port : {&in, &out}) {
    if (!*port) return fmt::print(stderr, "{}\n", port->error().message), 3;
    if (const auto up = (*port)->wait_link(std::chrono::seconds(20), cancelled); !up)
      return fmt::print(stderr, "{}\n", up.error().message), 3;
  }
  Prober prober(*in, *out, pool->get(), options.delay, options.lasting);
  probe(prober, options.lasting);
  prober.print();
  return 0;
}

}  // namespace
}  // namespace lw::bench

int main(int argc, char** argv) {
  using namespace lw;
  if (argc != 6) {
    fmt::print(stderr, "usage: {} PORT-IN PORT-OUT SECONDS DELAY-NS CORE\n", argv[0]);
    return 2;
  }
  const auto in = nic::parse_port_spec(argv[1]), out = nic::parse_port_spec(argv[2]);
  if (!in || !out) {
    fmt::print(stderr, "{}\n", (!in ? in : out).error().message);
    return 2;
  }
  return bench::run({*in, *out, std::chrono::seconds(bench::number(argv[3])),
                     Duration{bench::number(argv[4])}, static_cast<int>(bench::number(argv[5]))});
}
