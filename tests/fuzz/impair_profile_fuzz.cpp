// SPDX-License-Identifier: BSD-3-Clause
// Any text as a profile of an impairment, and as one of a path.
#include <cstdint>
#include <string_view>

#include "config/impair/path.h"
#include "config/impair/profile.h"

namespace {

/// A refusal always says why.
template <class Profile>
void expect_words(const lw::Result<Profile>& profile) {
  if (!profile && profile.error().message.empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  expect_words(lw::config::parse_impair_profile(text, "fuzz.toml"));
  expect_words(lw::config::parse_path_profile(text, "fuzz.toml"));
  return 0;
}
