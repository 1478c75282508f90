// SPDX-License-Identifier: BSD-3-Clause
// What a received frame costs: per-flow order and latency with signatures, order alone from PSNs.
// Frames are 1024 B of payload, in order, from a ring of buffers as a port's would be; arguments:
// flows, and the ICRC check's sample (1 in N; 0: none).
#include <array>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "gen/receive/measurement.h"
#include "gen/traffic/tx_scheduler.h"

namespace {

using namespace lw;

constexpr std::size_t kBuffers = 512;  // a receive ring: it fits the second cache as one does
constexpr std::size_t kBurst = 32;

/// Frames that arrive in turn from `flows` flows; their fields are patched as the sender does, and
/// that cost is left out of the time.
class Arrivals {
 public:
  Arrivals(std::size_t flows, bool is_signed) {
    profile_.flows.resize(flows);
    for (std::size_t i = 0; i < flows; ++i) {
      profile_.flows[i].id = static_cast<std::uint32_t>(i);
      profile_.flows[i].frame.bth.dest_qp = static_cast<std::uint32_t>(i);
      profile_.flows[i].message.length = 1024;
      profile_.flows[i].repeat = std::nullopt;
      profile_.flows[i].signature = is_signed;
    }
    scheduler_ = std::make_unique<gen::TxScheduler>(profile_);
    buffers_.resize(kBuffers, std::vector<std::byte>(1200));
    refill();
  }

  /// Writes the next frames into all buffers.
  void refill() {
    for (auto& buffer : buffers_) {
      auto due = *scheduler_->next();
      due.fields.send_time_ns = static_cast<std::uint64_t>(due.at.count());
      due.frame->write(due.fields, buffer);
      size_ = due.frame->size();
      sent_ = instant_from_ns(due.at.count());
      scheduler_->advance();
    }
  }

  /// When the newest left.
  [[nodiscard]] Instant sent() const noexcept { return sent_; }
  [[nodiscard]] wire::Bytes frame(std::size_t i) const {
    return wire::Bytes(buffers_[i]).first(size_);
  }

 private:
  config::FlowProfile profile_;
  std::unique_ptr<gen::TxScheduler> scheduler_;
  std::vector<std::vector<std::byte>> buffers_;
  std::size_t size_ = 0;
  Instant sent_{};
};

template <bool kSigned>
void receive(benchmark::State& state) {
  Arrivals arrivals(static_cast<std::size_t>(state.range(0)), kSigned);
  gen::Measurement measurement({.icrc_every = static_cast<std::uint32_t>(state.range(1))});
  const auto take_all = [&] {
    for (std::size_t i = 0; i < kBuffers; i += kBurst) {
      std::array<wire::Bytes, kBurst> burst;
      for (std::size_t k = 0; k < kBurst; ++k) burst[k] = arrivals.frame(i + k);
      const std::int64_t delay = 10'000 + static_cast<std::int64_t>(i / kBurst * 64);
      measurement.count_frames(burst, arrivals.sent() + Duration{delay});
    }
  };
  // Streams take memory when they are new, and when their first latencies are counted, up to 13
  // together: each has both behind it when the measurement begins.
  constexpr std::size_t kFramesBefore = 30;
  for (std::size_t seen = 0; seen < kFramesBefore * static_cast<std::size_t>(state.range(0));
       seen += kBuffers, arrivals.refill())
    take_all();
  for (auto _ : state) {
    take_all();
    state.PauseTiming();
    arrivals.refill();
    state.ResumeTiming();
  }
  const auto& totals = measurement.totals();
  if (totals.bad_icrc > 0 || totals.roce != totals.frames) state.SkipWithError("bad frames");
  for (const auto& flow : measurement.flows()) {
    if (flow.order.lost + flow.order.out_of_order > 0) state.SkipWithError("not in order");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBuffers));
}

BENCHMARK(receive<true>)->Name("signed")->ArgsProduct({{1, 64, 1024, 10000, 1000000}, {64}});
BENCHMARK(receive<true>)->Name("signed")->ArgsProduct({{64}, {0, 1}});
BENCHMARK(receive<false>)->Name("psn")->ArgsProduct({{1, 64, 1024}, {64}});

}  // namespace

BENCHMARK_MAIN();
