// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "roce/class_settings.h"

namespace lw::roce {

/// Gives a captured RoCE frame the values that `traffic` has, without its UDP source port and
/// P_Key, which rewrite() changes: the ICRC covers those. A VLAN replaces the ID of the outer tag,
/// or adds a tag; a priority without a VLAN changes a tag that is there. IPv4's checksum is
/// patched. Frames that are no RoCE, and of RoCEv1 DSCP and ECN, stay as they are.
void rewrite_class(const ClassOfTraffic& traffic, std::vector<std::byte>& frame);

}  // namespace lw::roce
