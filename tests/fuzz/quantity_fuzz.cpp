// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <string_view>

#include "core/quantity.h"
#include "wire/address.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto duration = lw::parse_duration(text)) lw::format_duration(*duration);
  if (const auto rate = lw::parse_bit_rate(text)) lw::format_bit_rate(*rate);
  if (const auto bytes = lw::parse_bytes(text)) lw::format_bytes(static_cast<double>(*bytes));
  static_cast<void>(lw::parse_kilometres(text));
  static_cast<void>(lw::parse_probability(text));
  static_cast<void>(lw::wire::parse_mac(text));
  static_cast<void>(lw::wire::parse_ip(text));
  return 0;
}
