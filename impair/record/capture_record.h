// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "emulator/ledger.h"
#include "emulator/transit.h"
#include "impair/record/binary_ledger.h"

namespace lw::impair {

/// A frame that came in or went out, without its bytes. Trivially copyable.
struct CaptureRecord {
  Instant at;
  std::uint32_t length = 0, wire_length = 0;  // of the bytes kept, and of the frame
  bool out = false;
  emulator::LedgerRecord ledger;  // what was done to it
};

/// The interfaces of a recording: two a direction.
inline constexpr std::size_t kRecordedInterfaces = 4;
inline constexpr std::string_view kInterfaceNames[kRecordedInterfaces] = {
    "west-to-east in", "west-to-east out", "east-to-west in", "east-to-west out"};
constexpr std::uint32_t interface_of(emulator::Direction direction, bool out) noexcept {
  return 2 * static_cast<std::uint32_t>(direction) + (out ? 1 : 0);
}

/// A recording that was written.
struct CaptureReport {
  std::string file;
  std::uint64_t frames = 0, skipped = 0;
};

/// Ledger record of a frame that leaves. `number`: its ingress frame number.
emulator::LedgerRecord record_of(const emulator::Transit& transit, std::uint64_t number,
                                 emulator::Direction direction) noexcept;

/// A packet's comment: "drop; frame 171; rule long haul; stage loss".
std::string comment_of(const emulator::LedgerRecord& record, const RuleNames& rules);

}  // namespace lw::impair
