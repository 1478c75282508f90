// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "sim/perf.h"

namespace lw::gen {

// perftest's own columns, so that its readers and scripts are at home.

std::string bandwidth_header();
/// `size` in bytes. "BW peak" is the steady rate, the beginning left out; 0.00 where a run was
/// too short for one.
std::string bandwidth_line(std::uint32_t size, const sim::BandwidthResult& result);
std::string bandwidth_json(const sim::PerfConfig& config, const sim::BandwidthResult& result);

std::string latency_header();
std::string latency_line(std::uint32_t size, const sim::LatencyResult& result);
std::string latency_json(const sim::PerfConfig& config, const sim::LatencyResult& result);

}  // namespace lw::gen
