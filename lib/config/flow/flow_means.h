// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/flow/flow_profile.h"

namespace lw::config {

/// From the flow's fields, message and sizes.
MessageMeans means_of(const Flow& flow);

/// The flow's mean rate, from its `means`, in bits a second on the wire.
double mean_wire_bits(const Flow& flow);
/// The same while an on/off flow is on.
double peak_wire_bits(const Flow& flow);

/// What flows ask of a link that they share, at their peaks.
struct LinkDemand {
  double wire_bits = 0;  // a second
  std::string parts;     // "web 3.00 Gb/s + storage 1.00 Gb/s": a part for each [[flow]]
};
/// Of flows `first`, `first + step`, ...
LinkDemand link_demand(const std::vector<Flow>& flows, std::size_t first = 0, std::size_t step = 1);
/// Whether it is more than a link of `link_bps` has, but for rounding.
bool exceeds(const LinkDemand& demand, double link_bps);

}  // namespace lw::config
