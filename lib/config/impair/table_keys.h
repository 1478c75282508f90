// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <memory>

#include "config/toml/table.h"
#include "emulator/stage_keys.h"

namespace lw::config {

/// A table of a profile as the key source of the emulator's stages. `folder`: of the files that it
/// names; outlives the keys, like the table's document.
std::unique_ptr<emulator::StageKeys> keys_of(const Table& table,
                                             const std::filesystem::path& folder);

}  // namespace lw::config
