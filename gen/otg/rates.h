// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/time.h"
#include "gen/otg/model.h"
#include "transport/dcqcn_config.h"

/// Quantities of the model in our units.
namespace lw::gen::otg {

/// The line rate of a Layer1.speed, in bit/s: "speed_100_gbps". Nothing for another text.
std::optional<double> bps_of_speed(std::string_view speed) noexcept;

/// The size of a message in bytes: `unit` is bytes, kb, mb or gb, of 1024 each.
std::uint64_t bytes_of_message(std::uint64_t size, std::string_view unit) noexcept;

/// The exponent of the local ACK timeout (IBTA vol. 1, 9.9.2.1.1) that is `timeout` or the next
/// longer one; 0, which is no limit, for 0.
std::uint8_t ack_timeout_of(Duration timeout) noexcept;

/// DCQCN's parameters at a port of `line_bps`.
transport::DcqcnConfig dcqcn_of(const DcqcnSettings& settings, const CnpSettings& cnp,
                                double line_bps) noexcept;

}  // namespace lw::gen::otg
