// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "gen/otg/field.h"

namespace lw::gen::otg {

/// Names and indices in a plan.
using Names = std::map<std::string, std::size_t, std::less<>>;

/// The names of a configuration. Flows of QPs and of packets have a common space of names; the
/// indices of `flows` are those of either.
struct PlanNames {
  Names ports, hosts, peers, qps, flows;
};

/// Returns the index of a name; adds a problem if nothing has it. `what`: "port".
std::optional<std::size_t> find_name(const Names& names, const std::string& name,
                                     const std::string& path, const char* what,
                                     ModelReader& reader);
/// Adds a name, or a problem if it is there already.
void add_name(Names& names, const std::string& name, std::size_t index, const std::string& path,
              ModelReader& reader);

}  // namespace lw::gen::otg
