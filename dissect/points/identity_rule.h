// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <limits>
#include <optional>

#include "dissect/points/frame_identity.h"

namespace lw::dissect {

/// The parts of a frame that make its identity.
struct IdentityRule {
  static constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();

  /// True: by the ICRC: encapsulation, addresses, destination QP, PSN, opcode, length and ICRC, so
  /// that all bytes that the ICRC covers count. False: by content: addresses, IP identification,
  /// UDP source port, BTH, extension headers, length, and the first `payload` bytes of the payload.
  bool by_icrc = true;
  bool judges_icrcs = true;  // a bad ICRC means a damaged frame
  std::size_t payload = kWhole;
  /// Where a capture cut extension headers: this many bytes behind the BTH count, whatever they
  /// are, in place of extension headers and payload.
  std::size_t body = kWhole;
};

/// By ICRC, the lower half of the identity is the ICRC itself, which depends on every byte that
/// counts. Nothing for frames that aren't RoCE, for fragments, and if the capture lacks bytes that
/// count.
std::optional<Identity> identity_of(const roce::Frame& frame, const IdentityRule& rule) noexcept;

}  // namespace lw::dissect
