// SPDX-License-Identifier: BSD-3-Clause
// Any text as a profile of flows; what is accepted must be possible to send: its first frames are.
#include <cstdint>
#include <string_view>

#include "gen/report/preview.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto profile = lw::config::parse_flow_profile(text, "fuzz.toml");
  if (profile) static_cast<void>(lw::gen::to_text(lw::gen::preview_of(*profile, 8)));
  return 0;
}
