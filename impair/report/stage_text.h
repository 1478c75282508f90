// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/rule_config.h"

namespace lw::impair {

/// A rule's stages with their parameters, for people, in the order in which a frame meets them:
/// {"police", "20.00 Gb/s, bursts of 1.00 MB"}. Stages that aren't there are left out.
std::vector<std::pair<std::string_view, std::string>> stage_texts(const emulator::RuleConfig& rule);

}  // namespace lw::impair
