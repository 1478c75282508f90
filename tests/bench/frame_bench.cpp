// SPDX-License-Identifier: BSD-3-Clause
// Time per frame: composed from its fields, written from its template, patched over an earlier
// frame of its template. The argument is the payload size in bytes.
#include <vector>

#include <benchmark/benchmark.h>

#include "gen/traffic/tx_scheduler.h"

namespace {

using namespace lw;

roce::FrameFields write_middle() {
  roce::FrameFields fields;
  fields.bth.opcode = 0x07;
  return fields;
}

std::vector<std::byte> payload_of(std::size_t length) {
  std::vector<std::byte> payload(length);
  for (std::size_t i = 0; i < length; ++i) payload[i] = static_cast<std::byte>(i);
  return payload;
}

gen::VariableFields next(const gen::VariableFields& fields) {
  return {.psn = fields.psn + 1,
          .sequence = fields.sequence + 1,
          .send_time_ns = fields.send_time_ns + 333};
}

void compose_whole(benchmark::State& state) {
  auto fields = write_middle();
  const auto payload = payload_of(static_cast<std::size_t>(state.range(0)));
  std::vector<std::byte> frame(roce::layout_of(fields, payload.size()).size);
  for (auto _ : state) {
    ++fields.bth.psn;
    roce::compose(fields, payload, frame);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

template <bool kPatchOnly, bool kSigned>
void from_template(benchmark::State& state) {
  const auto payload = payload_of(static_cast<std::size_t>(state.range(0)));
  constexpr std::uint32_t kFlow = 1;
  gen::LayoutCache layouts;
  const gen::FrameTemplate frame(write_middle(), payload, kSigned ? &kFlow : nullptr, layouts);
  std::vector<std::byte> out(frame.size());
  gen::VariableFields fields;
  frame.write(fields, out);
  for (auto _ : state) {
    fields = next(fields);
    kPatchOnly ? frame.patch(fields, out) : frame.write(fields, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

/// Scheduling and patching; the argument is the number of flows.
void schedule(benchmark::State& state) {
  config::FlowProfile profile;
  profile.flows.resize(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < profile.flows.size(); ++i) {
    profile.flows[i].id = static_cast<std::uint32_t>(i);
    profile.flows[i].message.length = 1024;
    profile.flows[i].repeat = std::nullopt;
    profile.flows[i].signature = true;
  }
  gen::TxScheduler scheduler(profile);
  std::vector<std::byte> out(4400);
  for (auto _ : state) {
    const auto due = scheduler.next();
    due->frame->patch(due->fields, out);
    scheduler.advance();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(compose_whole)->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK(from_template<false, false>)->Name("write")->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK(from_template<true, false>)->Name("patch")->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK(from_template<true, true>)->Name("patch_signed")->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK(schedule)->Arg(1)->Arg(64)->Arg(1024)->Arg(10000);

}  // namespace

BENCHMARK_MAIN();
