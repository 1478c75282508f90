// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <utility>

#include "wire/icrc_patch.h"

namespace lw::gen {

/// The ICRC patch tables of a run, each made once: all flows whose packets have a field at the
/// same distance from the end share them, so ten thousand QPs cost no more cache than one.
/// References stay valid as long as this lives. Not thread safe while it grows.
class PatchTables {
 public:
  /// For a field of `width` bytes (1..8) with `distance` covered bytes behind it.
  const wire::IcrcFieldPatch& get(std::size_t width, std::size_t distance) {
    return tables_.try_emplace({width, distance}, width, distance).first->second;
  }

 private:
  std::map<std::pair<std::size_t, std::size_t>, wire::IcrcFieldPatch> tables_;
};

}  // namespace lw::gen
