// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/figure.h"
#include "core/limits.h"
#include "core/quantity.h"

namespace lw {

/// kLongestTime as the bound of a row in ns.
inline constexpr double kLongestTimeNs = std::chrono::nanoseconds(kLongestTime).count();

/// The kind of a setting whose text has a unit of its own: "TIME" ("500ns"), of a duration; "RATE"
/// ("100Gb/s"), of a number in bits per second; "SIZE" ("64kB"), of a whole number of bytes;
/// "SHARE"
/// ("0.1%"), of a number that is a share; empty for others.
std::string_view quantity_of(const Figure& row) noexcept;

/// The values that a setting takes: "a time up to 10s", "1 to 31", "true, false", "per-output,
/// per-input"; of a text without names "a text".
std::string values_of_setting(const Figure& row);

/// The name of a setting whose text has a unit of its own: "nic_latency" of "nic_latency_ns".
std::string_view key_of_setting(const Figure& row) noexcept;

/// The text of a unit: "us", "Gb/s", "percent"; empty for none.
std::string_view unit_text(Unit unit) noexcept;

/// Reads a whole number, decimal or hexadecimal (0x...). Error: "expected a whole number from 1 to
/// 8, found \"9\"".
Parsed<std::uint64_t> read_whole(std::string_view text, std::uint64_t low, std::uint64_t high);
/// Reads a number. Error: as that of read_whole().
Parsed<double> read_decimal(std::string_view text, double low, double high);

/// Sets a setting of `object`, the struct of the row's table, to the value of a text: a number
/// or quantity within its bounds, "true" or "false", or one of its choices. Error: what was
/// expected, and what was found; then the setting is as before.
Parsed<void> set_setting(const Figure& row, void* object, std::string_view text);

/// Returns a setting's value as set_setting() reads it: "32767", "false", "qp"; empty for one that
/// has no value.
std::string text_of_setting(const Figure& row, const void* object);

/// Returns the meaning of a setting as a noun phrase with its unit: "time between two increases, in
/// us"; without it for a quantity.
std::string help_of_setting(const Figure& row);

}  // namespace lw
