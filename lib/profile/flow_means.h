// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "profile/flow_profile.h"

namespace lw::profile {

/// From the flow's fields, message and sizes.
MessageMeans means_of(const Flow& flow);

/// The flow's mean rate, from its `means`, in bits a second on the wire.
double mean_wire_bits(const Flow& flow);
/// The same while an on/off flow is on.
double peak_wire_bits(const Flow& flow);

}  // namespace lw::profile
