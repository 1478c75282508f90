// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lw::gen::perftest {

/// What becomes of an option of perftest.
enum class Treatment : std::uint8_t {
  same,         // has an option of the same meaning here
  of_port,      // the same through a port or a device; changes nothing in a simulation: noted there
  ignored,      // shapes only the output or the way there: noted
  unsimulated,  // changes nothing in a simulation: noted there; refused through a port or a device
  refused,      // would change the result, and is not there
};

/// An option of ib_{write,send,read,atomic}_{bw,lat}.
struct PerftestOption {
  std::string_view letter;  // "m"; empty: none
  std::string_view name;    // "mtu"
  bool takes_value = false;
  Treatment treatment{};
  std::string_view ours;     // "--mtu"; empty: see `remark`
  std::string_view remark;   // what happens, or why it is refused
  std::string_view since{};  // first release that has it, such as "24.01"; empty: 4.5 or earlier
};

/// The newest release whose options are in the table.
inline constexpr std::string_view kNewestRelease = "6.29 (26.04)";

/// All options of perftest 4.5 to kNewestRelease.
std::span<const PerftestOption> options() noexcept;

/// Finds an option; null: there is none.
const PerftestOption* by_letter(char letter) noexcept;
/// Finds the options that a long name may stand for, as getopt_long() does: that of this exact
/// name, otherwise all whose name begins with it. Where 4.5 has some, newer ones don't count.
/// Several: the name is ambiguous.
std::vector<const PerftestOption*> by_name(std::string_view name);
/// "-m, --mtu".
std::string written(const PerftestOption& option);

/// The table of options as Markdown, for the manual.
std::string manual_table();

}  // namespace lw::gen::perftest
