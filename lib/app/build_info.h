// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace lw::app {

/// What `--version` and the man pages say of a build. All empty: not known.
struct BuildInfo {
  std::string commit;     // "2ab008a1f0c3", with "-dirty" where files were changed since
  std::string date;       // of the commit: "2026-11-23"
  std::string libraries;  // "DPDK 22.11.7, fmt 9.1.0"
};

/// Of this build, with the versions of these libraries. Defined in a library of its own, which only
/// the programs link: a new commit compiles one file and links the programs.
BuildInfo build_info(std::initializer_list<std::string_view> libraries);

}  // namespace lw::app
