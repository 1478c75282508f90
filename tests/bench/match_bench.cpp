// SPDX-License-Identifier: BSD-3-Clause
// What it costs to find a frame's rule, from its bytes: rules on RoCE fields of which the last
// matches, 1 of them, 64 and 256. Frames are real ones of many PSNs.
#include <benchmark/benchmark.h>

#include "path/classifier.h"
#include "support/path_frames.h"

namespace lw::path {
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

BENCHMARK(classify)->Arg(1)->Arg(64)->Arg(256);

}  // namespace
}  // namespace lw::path

BENCHMARK_MAIN();
