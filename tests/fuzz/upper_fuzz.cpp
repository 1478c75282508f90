// SPDX-License-Identifier: BSD-3-Clause
// Any packets of two connections with any payload, in any order, through the parsers of upper
// layers.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "upper/follower.h"
#include "upper/limits.h"

namespace {

using namespace lw;

/// Takes numbers from the front of the input; zeros behind its end.
struct Input {
  std::span<const std::uint8_t> rest;

  template <class T>
  T read() {
    T value{};
    const std::size_t length = std::min(sizeof(T), rest.size());
    std::memcpy(&value, rest.data(), length);
    rest = rest.subspan(length);
    return value;
  }
  std::span<const std::uint8_t> read_bytes(std::size_t length) {
    const auto bytes = rest.first(std::min(length, rest.size()));
    rest = rest.subspan(bytes.size());
    return bytes;
  }
};

/// A command's parts add up to its latency, and none is negative.
void check(const upper::StorageCommand& found) {
  upper::StorageCommand command = found;
  upper::split(command, {.to_target = Duration{1000}});
  if (!command.ended) return;
  Duration sum{};
  for (const Duration part : command.parts) {
    if (part < Duration{}) std::abort();
    sum += part;
  }
  if (sum != command.latency()) std::abort();
  (void)upper::status_name(command.protocol, command.kind, command.status.value_or(0));
}

void run(Input input, std::optional<upper::UpperProtocol> forced) {
  std::uint64_t commands = 0;
  upper::Follower follower(
      [&](const upper::StorageCommand& command) {
        ++commands;
        check(command);
      },
      forced);
  std::int64_t now = 0;
  for (std::uint64_t number = 1; !input.rest.empty(); ++number) {
    analysis::CapturedPacket packet;
    packet.number = number;
    packet.info = wire::find_opcode(input.read<std::uint8_t>());
    const auto bits = input.read<std::uint8_t>();
    now += (bits & 1) != 0 ? input.read<std::uint16_t>() : 100;
    packet.stamp = instant_from_ns(now);
    packet.psn = input.read<std::uint8_t>();
    if ((bits & 2) != 0) packet.psn |= 0xffff00;
    packet.has_reth = (bits & 4) != 0;
    packet.has_aeth = packet.is_response();
    packet.syndrome = (bits & 8) != 0 ? input.read<std::uint8_t>() : 0x1f;
    packet.va = input.read<std::uint8_t>();
    packet.r_key = bits >> 6;
    packet.dma_length = input.read<std::uint16_t>();
    const auto bytes = input.read_bytes(input.read<std::uint8_t>());
    packet.payload = static_cast<std::uint32_t>(bytes.size() + ((bits & 16) != 0 ? 100 : 0));
    if (packet.info == nullptr) continue;
    follower.add({.packet = packet,
                  .bytes = std::as_bytes(bytes),
                  .connection = 1u + (bits >> 7),
                  .direction = static_cast<std::uint8_t>(bits >> 5 & 1),
                  .mtu = 256,
                  .first_psn = packet.psn});
  }
  follower.finish();
  for (const upper::UpperFacts* const facts : follower.facts())
    if (facts->matched + facts->open > facts->commands) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using upper::UpperProtocol;
  const Input input{{data, size}};
  run(input, {});
  for (const UpperProtocol protocol : {UpperProtocol::nvme, UpperProtocol::nfs, UpperProtocol::smb})
    run(input, protocol);
  return 0;
}
