// SPDX-License-Identifier: BSD-3-Clause
// A filter and a frame. After a byte of 0: instructions as they may come, which must end and stay
// inside the frame. Otherwise tcpdump's language up to a byte of 0: our machine must say what
// libpcap's says.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "capture/filter.h"
#include "core/bpf.h"

namespace {

using Bytes = std::span<const std::byte>;

void run_instructions(Bytes input) {
  constexpr std::size_t kSize = 8;
  if (input.empty()) return;
  const auto wanted = std::to_integer<std::size_t>(input[0]);
  input = input.subspan(1);
  std::vector<lw::BpfInstruction> program;
  for (std::size_t i = 0; i < wanted && input.size() >= kSize; ++i, input = input.subspan(kSize)) {
    lw::BpfInstruction one;
    std::memcpy(&one.code, input.data(), 2);
    one.code &= 0xff;  // more is never known
    one.jump_true = std::to_integer<std::uint8_t>(input[2]);
    one.jump_false = std::to_integer<std::uint8_t>(input[3]);
    std::memcpy(&one.k, input.data() + 4, 4);
    program.push_back(one);
  }
  const auto machine = lw::BpfProgram::create(std::move(program));
  if (machine) (void)machine->matches(input, static_cast<std::uint32_t>(input.size()));
}

void compare_with_libpcap(Bytes input) {
  const auto* text = reinterpret_cast<const char*>(input.data());
  const std::size_t length = strnlen(text, input.size());
  if (length > 200) return;  // libpcap's optimiser takes its time
  const auto filter = lw::capture::Filter::compile(std::string(text, length), 1);
  if (!filter) {
    if (filter.error().message.empty()) std::abort();
    return;
  }
  const Bytes frame = input.subspan(std::min(input.size(), length + 1));
  const auto machine = lw::BpfProgram::create(filter->instructions());
  if (!machine) std::abort();
  for (const std::size_t more : {0, 100}) {
    const auto wire = static_cast<std::uint32_t>(frame.size() + more);
    if (machine->matches(frame, wire) != filter->matches(frame, wire)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input(reinterpret_cast<const std::byte*>(data), size);
  if (input.empty()) return 0;
  if (input[0] == std::byte{}) {
    run_instructions(input.subspan(1));
  } else {
    compare_with_libpcap(input);
  }
  return 0;
}
