// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace lw::app {

/// Information on a build, for `--version` and man pages. Empty fields are unknown.
struct BuildInfo {
  std::string commit;     // "2ab008a1f0c3"; with "-dirty" if files were changed since
  std::string date;       // date of the commit: "2026-11-23"
  std::string libraries;  // "DPDK 22.11.7, fmt 9.1.0"
};

/// Returns this build's information, with the versions of the given libraries. Defined in its own
/// library, which only the programs link: after a new commit one file is compiled, and the programs
/// are linked.
BuildInfo build_info(std::initializer_list<std::string_view> libraries);

}  // namespace lw::app
