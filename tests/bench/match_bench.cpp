// SPDX-License-Identifier: BSD-3-Clause
// What it costs to find a frame's rule, from its bytes: rules on RoCE fields of which the last
// matches, 1 of them, 64, 256 and 10,000; and what learning 10,000 QPs and waiting for 1,000 events
// adds.
#include <benchmark/benchmark.h>

#include "emulator/events/events.h"
#include "emulator/match/classifier.h"
#include "support/path_frames.h"

namespace lw::emulator {
namespace {

constexpr std::uint32_t kQp = 0x4711;
constexpr std::size_t kFrames = 256;

std::vector<std::vector<std::byte>> frames_of_many_psns() {
  std::vector<std::vector<std::byte>> frames;
  for (std::uint32_t i = 0; i < kFrames; ++i)
    frames.push_back(test::roce_frame(kQp, i * 65'537, 1024));
  return frames;
}

/// Every rule names a QP, some opcodes and a PSN range; the frames are the last one's.
std::vector<MatchConfig> rules_of(std::size_t count) {
  std::vector<MatchConfig> rules(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t qp = i + 1 == count ? kQp : 0x10000 + i * 977;
    rules[i].dest_qp = {{qp, qp}};
    rules[i].opcodes.emplace().set(0x04).set(0x0a + i % 3);
    rules[i].psn = {{i * 1000, 0xffffff - i * 1000}};
  }
  rules.back().psn = {{0, 0xffffff}};
  return rules;
}

void classify(benchmark::State& state) {
  const auto frames = frames_of_many_psns();
  const auto rules = rules_of(static_cast<std::size_t>(state.range(0)));
  const Classifier classifier(rules);
  std::size_t i = 0, hits = 0;
  for (auto _ : state) {
    const auto envelope = roce::open_envelope(frames[i++ % kFrames]);
    hits += classifier.classify(envelope, bth_of(envelope)) == rules.size() - 1;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["matched"] = static_cast<double>(hits) / static_cast<double>(state.iterations());
}

/// One event for every tenth QP, at a PSN that doesn't come.
std::vector<EventConfig> pending_events(std::uint32_t count) {
  std::vector<EventConfig> events(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    events[i].qp = 10 * i + 1;
    events[i].psn_from = PsnFrom::absolute;
    events[i].psn = 1;
  }
  return events;
}

/// Argument: pending events.
void track(benchmark::State& state) {
  constexpr std::uint32_t kQps = 10'000;
  std::vector<std::vector<std::byte>> frames;
  for (std::uint32_t qp = 0; qp < kQps; ++qp) frames.push_back(test::roce_frame(0x100 + qp, 0));
  const auto rules = rules_of(1);
  const Classifier classifier(rules);
  Events events(Direction::west_to_east,
                pending_events(static_cast<std::uint32_t>(state.range(0))));
  std::size_t i = 0;
  for (auto _ : state) {
    const auto envelope = roce::open_envelope(frames[i]);
    const auto* bth = bth_of(envelope);
    benchmark::DoNotOptimize(classifier.classify(envelope, bth));
    benchmark::DoNotOptimize(events.on_packet(envelope, *bth));
    if (++i == kQps) i = 0;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["qps"] = static_cast<double>(events.qps());
}

BENCHMARK(track)->Arg(0)->Arg(1)->Arg(1000);
BENCHMARK(classify)->Arg(1)->Arg(64)->Arg(256)->Arg(10'000);

}  // namespace
}  // namespace lw::emulator

BENCHMARK_MAIN();
