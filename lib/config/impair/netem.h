// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace lw::config {

/// A queueing discipline of Linux's netem as an impair profile.
struct NetemProfile {
  std::string toml;
  std::vector<std::string> differences;  // differences to netem, one sentence each
};

/// Settings of a translation.
struct NetemSetting {
  // direction of the rule; a qdisc acts on what its interface sends
  std::string direction = "west-to-east";
  std::string distributions = "/usr/lib/tc";  // folder of netem's NAME.dist files
};

/// Translates the parameters of `tc qdisc ... netem`, with or without the words before "netem":
/// "delay 100ms 10ms loss 1%"; or those of `tc qdisc ... tbf`, with "tbf". Units are those of tc: a
/// time without a unit is in us, and "kbps" means kilobytes per second. (tc-netem(8), iproute2 6.1)
/// Errors name the word and what was expected, and parameters that have no equivalent.
Result<NetemProfile> profile_of_netem(std::string_view text, const NetemSetting& setting = {});

}  // namespace lw::config
