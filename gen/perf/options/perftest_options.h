// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lw::gen::perftest {

/// What becomes of an option of perftest.
enum class Treatment : std::uint8_t {
  same,     // has an option of the same meaning here
  ignored,  // shapes only the output or the way there: noted
  refused,  // would change the result, and is not there
};

/// An option of ib_{write,send,read,atomic}_{bw,lat}.
struct PerftestOption {
  std::string_view letter;  // "m"; empty: none
  std::string_view name;    // "mtu"
  bool takes_value = false;
  Treatment treatment{};
  std::string_view ours;    // "--mtu"; empty: see `remark`
  std::string_view remark;  // what happens, or why it is refused
};

/// All options of perftest 4.5, and those that 6 has in addition.
std::span<const PerftestOption> options() noexcept;

/// Find an option; null: there is none.
const PerftestOption* by_letter(char letter) noexcept;
const PerftestOption* by_name(std::string_view name) noexcept;
/// "-m, --mtu".
std::string written(const PerftestOption& option);

/// The table of options as Markdown, for the manual.
std::string manual_table();

}  // namespace lw::gen::perftest
