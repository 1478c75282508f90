// SPDX-License-Identifier: BSD-3-Clause
// What one frame costs a link: admitted, delayed, released and sent, in bursts as a port gives
// them. The frames are real ones; their bytes stay in the cache, so this is the engine alone.
#include <array>

#include <benchmark/benchmark.h>

#include "support/path_frames.h"

namespace lw::emulator {
namespace {

constexpr int kBurst = 32;
constexpr Duration kBetweenBursts{1'000};

Pipeline pipeline_of(Duration delay, double loss) {
  RuleConfig rule;
  rule.name = "r";
  rule.loss = loss;
  if (delay.count() > 0) rule.delay = delay;
  return Pipeline(Direction::west_to_east, 1, std::span(&rule, 1));
}

void burst(Link<int>& link, std::span<const std::byte> frame, Instant now) {
  link.release(now);
  for (int i = 0; i < kBurst; ++i)
    benchmark::DoNotOptimize(link.admit(i, roce::open_envelope(frame), now));
  while (!link.egress().empty()) link.sent(link.egress().size(), now);
}

/// Argument: frames in flight; 0: no delay.
void run(benchmark::State& state, std::span<const std::byte> frame, double loss) {
  const Duration delay = kBetweenBursts * (state.range(0) / kBurst);
  Link<int> link(pipeline_of(delay, loss),
                 {.capacity = static_cast<std::size_t>(state.range(0)) + 4096});
  Instant now;
  for (auto _ : state) burst(link, frame, now += kBetweenBursts);
  state.SetItemsProcessed(state.iterations() * kBurst);
  state.counters["in_flight"] = static_cast<double>(link.inside());
}

/// 1.9 ms and up to 3 ms more, as many frames in flight as that makes.
void run_jittered(benchmark::State& state, bool keep_order, std::optional<Duration> half_life) {
  RuleConfig rule;
  rule.name = "jitter";
  rule.delay = Duration{1'900'000};
  rule.jitter = JitterConfig{UniformDelay{0, 3e6}, half_life};
  rule.keep_order = keep_order;
  const std::vector<std::byte> frame = test::roce_frame();
  Link<int> link(Pipeline(Direction::west_to_east, 1, std::span(&rule, 1)), {.capacity = 200'000});
  Instant now;
  for (auto _ : state) burst(link, frame, now += kBetweenBursts);
  state.SetItemsProcessed(state.iterations() * kBurst);
  state.counters["in_flight"] = static_cast<double>(link.inside());
}

void jitter_order_kept(benchmark::State& state) { run_jittered(state, true, std::nullopt); }
void jitter_wandering(benchmark::State& state) {
  run_jittered(state, true, std::chrono::milliseconds(50));
}
void jitter_order_free(benchmark::State& state) { run_jittered(state, false, std::nullopt); }

/// A queue at twice the rate of the frames, or a queue that is always full, before 1.9 ms of delay.
void run_queued(benchmark::State& state, double share) {
  const std::vector<std::byte> frame = test::roce_frame();
  const double bits = on_the_line(static_cast<std::uint32_t>(frame.size()), kLineOverhead) * 8;
  RuleConfig rule;
  rule.name = "queue";
  rule.delay = Duration{1'900'000};
  rule.queue = QueueConfig{
      .rate_bps = share * bits * kBurst * 1e9 / static_cast<double>(kBetweenBursts.count()),
      .buffer_bytes = 1'000'000};
  Link<int> link(Pipeline(Direction::west_to_east, 1, std::span(&rule, 1)), {.capacity = 200'000});
  Instant now;
  for (auto _ : state) burst(link, frame, now += kBetweenBursts);
  state.SetItemsProcessed(state.iterations() * kBurst);
  state.counters["in_flight"] = static_cast<double>(link.inside());
}

void queue_passes(benchmark::State& state) { run_queued(state, 2); }
void queue_full(benchmark::State& state) { run_queued(state, 0.5); }

/// The queue's sums alone: admitted, and left, in bursts as above.
void bare_queue(benchmark::State& state) {
  LineQueue<int> queue({.rate_bps = 2 * 154 * 8 * kBurst * std::uint64_t{1'000'000},
                        .buffer_bytes = 1'000'000,
                        .classes = {{}}});
  Instant now;
  for (auto _ : state) {
    now += kBetweenBursts;
    while (queue.depart(now, [](const auto& sent) { benchmark::DoNotOptimize(sent.times); }))
      continue;
    for (int i = 0; i < kBurst; ++i) benchmark::DoNotOptimize(queue.enqueue(0, 130, i, now));
  }
  state.SetItemsProcessed(state.iterations() * kBurst);
}

void untouched(benchmark::State& state) { run(state, test::other_frame(), 0); }
void delayed(benchmark::State& state) { run(state, test::roce_frame(), 0); }
void delayed_and_lossy(benchmark::State& state) { run(state, test::roce_frame(), 0.001); }

/// The release queue alone, at 10 million frames/s: as many in flight as the delay makes.
void run_queue(benchmark::State& state, FifoIndex line, Duration spread) {
  constexpr Duration kBetween{100};
  const Duration delay = kBetween * state.range(0);
  ReleaseQueue<int> queue(1, 1, static_cast<std::size_t>(state.range(0)) * 2 + 1024);
  Instant now;
  std::uint64_t frame = 0;
  for (auto _ : state) {
    now += kBetween;
    const auto part = static_cast<double>((frame * 0x9e3779b97f4a7c15) >> 11) * 0x1.0p-53;
    const Duration more{static_cast<Duration::rep>(part * static_cast<double>(spread.count()))};
    queue.push(line, {.due = now + delay + more}, now);
    ++frame;
    for (; queue.next() <= now; queue.pop()) benchmark::DoNotOptimize(queue.front());
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["in_flight"] = static_cast<double>(queue.size());
}

void in_order(benchmark::State& state) { run_queue(state, 0, Duration{}); }
void in_any_order(benchmark::State& state) {
  run_queue(state, kWheel, Duration{100 * state.range(0) / 2});
}

/// The release structure must cost the same however much is in flight.
void in_flight(benchmark::internal::Benchmark* b) { b->RangeMultiplier(10)->Range(1000, 1000000); }

BENCHMARK(untouched)->Arg(0);
BENCHMARK(delayed)->Apply(in_flight);
BENCHMARK(in_order)->Apply(in_flight);
BENCHMARK(in_any_order)->Apply(in_flight);
BENCHMARK(delayed_and_lossy)->Arg(60'000);
BENCHMARK(jitter_order_kept);
BENCHMARK(jitter_wandering);
BENCHMARK(jitter_order_free);
BENCHMARK(bare_queue);
BENCHMARK(queue_passes);
BENCHMARK(queue_full);

}  // namespace
}  // namespace lw::emulator

BENCHMARK_MAIN();
