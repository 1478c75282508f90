// SPDX-License-Identifier: BSD-3-Clause
// Any text as a condition of `list --where`, asked of a frame.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dissect/fields/condition.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lw;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto condition = dissect::Condition::parse(text);
  if (!condition) {
    if (!condition.error().starts_with("column ")) std::abort();
    return 0;
  }
  static constexpr std::array<std::byte, 90> kFrame = [] {
    std::array<std::byte, 90> frame{};
    constexpr unsigned char kHeaders[] = {
        2,  0,  0, 0, 0,  1, 2, 0, 0,  0, 0, 2, 8,    0, 0x45, 0,    0, 76, 0, 0, 0, 0,
        64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0, 0x12, 0xb7, 0, 56, 0, 0, 17};
    for (std::size_t i = 0; i < std::size(kHeaders); ++i) frame[i] = std::byte{kHeaders[i]};
    return frame;
  }();
  dissect::CapturedFrame captured;
  captured.record.bytes = kFrame;
  captured.record.wire_length = kFrame.size();
  captured.envelope = roce::open_envelope(kFrame);
  const dissect::Dissection dissection(captured);
  // Asked twice, it says the same.
  if (condition->matches(dissection) != condition->matches(dissection)) std::abort();
  return 0;
}
