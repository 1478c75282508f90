// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/flow/profile.h"
#include "gen/receive/measurement.h"

namespace lw::gen {

/// Names of signed flows by their ids, as a profile has them.
using FlowNames = std::vector<std::string>;
FlowNames names_in(const config::FlowProfile& profile);

/// What a person calls a stream: the profile's name, "flow 3", or "RC request QP 0x12".
std::string name_of(const ReceiveFlow& flow, const FlowNames& names);
std::string source_of(const ReceiveFlow& flow);
std::string destination_of(const ReceiveFlow& flow);

/// A flow's figure; nothing where it has none (latency without signatures). Shares count what was
/// expected: frames that came for the first time and those that didn't.
std::optional<double> value_of(const ReceiveFlow& flow, config::Metric metric);

/// All figures of a flow.
nlohmann::ordered_json to_json(const ReceiveFlow& flow, const FlowNames& names);

/// A table for people: a line a flow, two tables where there are latencies; of more than `most`
/// flows the rest is a number.
std::string flow_table(const Measurement& measurement, const FlowNames& names, std::size_t most);

/// Latency histograms as CSV, "flow,first,last,count": buckets [first, last] in ns that hold
/// something. The same cut everywhere, so files are merged by adding counts of equal buckets.
std::string histogram_csv(const Measurement& measurement, const FlowNames& names);

}  // namespace lw::gen
