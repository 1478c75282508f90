// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <string>

#include "config/toml/table.h"
#include "emulator/rule_config.h"

namespace lw::config {

/// Reads a [[rule]]'s stages: all but its name, its match and its constant delay. Mistakes are
/// noted in the table's document. `folder`: where files that the profile names are looked for.
void read_stages(const Table& rule, const std::filesystem::path& folder,
                 emulator::RuleConfig& config);

/// The parts of it that have files of their own.
emulator::LossConfig read_loss(const Table& rule, const std::filesystem::path& folder);
std::optional<emulator::JitterConfig> read_jitter(const Table& rule,
                                                  const std::filesystem::path& folder);
std::optional<emulator::TraceConfig> read_trace(const Table& rule,
                                                const std::filesystem::path& folder);

/// Whether a key's value is a table, where a lone number says the most common case.
Parsed<bool> is_table(const Value& value);

/// The whole of a file, or what is wrong with it.
Parsed<std::string> read_whole_file(const std::filesystem::path& file);

/// "low,high,weight" a line, times with units ("10us,20us,5"); a heading and lines that begin with
/// # are passed over. The error names the line.
Parsed<emulator::BinnedDelay> parse_delay_histogram(std::string_view csv);
/// A distribution as netem keeps it in /usr/lib/tc/NAME.dist: whole numbers, in 8192ths of the
/// deviation from the mean.
Parsed<emulator::BinnedDelay> parse_netem_distribution(std::string_view text, double mean_ns,
                                                       double deviation_ns);
/// A heading of `time` and some of `delay`, `loss`, `rate`, then a row a line; an empty field
/// leaves the rule's own. Times rise, from 0.
Parsed<emulator::TraceConfig> parse_trace(std::string_view csv);

}  // namespace lw::config
