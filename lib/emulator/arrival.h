// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"
#include "emulator/match/match.h"
#include "roce/envelope.h"

namespace lw::emulator {

/// A frame as it comes in: all that rules and stages go by.
struct Arrival {
  const roce::Envelope& envelope;
  const wire::Bth* bth;      // bth_of(envelope)
  std::uint64_t number = 0;  // ingress frame number of its direction, from 0
  std::uint32_t bytes = 0;   // on the wire, without FCS
  Instant now;
};

inline Arrival arrival_of(const roce::Envelope& envelope, std::uint64_t number,
                          Instant now) noexcept {
  return {envelope, bth_of(envelope), number, static_cast<std::uint32_t>(envelope.wire_length),
          now};
}

}  // namespace lw::emulator
