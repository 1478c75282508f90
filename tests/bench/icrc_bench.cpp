// SPDX-License-Identifier: BSD-3-Clause
// An ICRC patched for a new PSN against one computed whole (ISA-L), on the same frame.
#include <benchmark/benchmark.h>

#include "roce/compose.h"
#include "roce/envelope.h"
#include "wire/icrc.h"

namespace {

using namespace lw;

std::vector<std::byte> write_only(std::size_t payload_length) {
  roce::FrameFields fields;
  fields.bth.opcode = 0x0a;
  const std::vector<std::byte> payload(payload_length, std::byte{0x5a});
  return roce::compose(fields, payload);
}

void whole(benchmark::State& state) {
  const auto frame = write_only(static_cast<std::size_t>(state.range(0)));
  const auto envelope = roce::open_envelope(frame);
  const auto packet = std::span{frame}.subspan(
      envelope.network_offset, frame.size() - wire::kIcrcSize - envelope.network_offset);
  for (auto _ : state) {
    benchmark::DoNotOptimize(wire::icrc(wire::Encapsulation::ipv4, packet,
                                        envelope.bth_offset() - envelope.network_offset));
  }
}

void patched(benchmark::State& state) {
  auto frame = write_only(static_cast<std::size_t>(state.range(0)));
  const auto envelope = roce::open_envelope(frame);
  const std::size_t psn_end = envelope.bth_offset() + sizeof(wire::Bth);
  const wire::IcrcFieldPatch patch(3, frame.size() - wire::kIcrcSize - psn_end);
  auto* bth = wire::view_at<wire::Bth>(wire::MutableBytes{frame}, envelope.bth_offset());
  auto icrc = std::span{frame}.last(wire::kIcrcSize);
  const std::uint32_t base = wire::load_icrc(icrc);
  wire::Psn psn;
  for (auto _ : state) {
    ++psn;
    bth->set_psn(psn);
    wire::store_icrc(icrc, base ^ patch(psn.value()));
    benchmark::ClobberMemory();
  }
}

BENCHMARK(whole)->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK(patched)->Arg(256)->Arg(1024)->Arg(4096);

}  // namespace

BENCHMARK_MAIN();
