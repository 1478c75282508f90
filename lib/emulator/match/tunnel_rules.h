// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/match/classifier.h"
#include "emulator/match/match.h"
#include "roce/envelope.h"
#include "wire/view.h"

namespace lw::emulator {

/// The rules for RoCEv2 packets within tunnels. They are tried one by one. One thread.
class TunnelRules {
 public:
  /// `matches`: those of all rules; only those with a tunnel count.
  explicit TunnelRules(std::span<const MatchConfig> matches);

  [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }
  /// Returns the place of the first rule before `end` that matches the frame; `end` if none does.
  /// `outer` is the envelope of a frame that is no RoCEv2 packet.
  [[nodiscard]] RuleIndex classify(const roce::Envelope& outer, RuleIndex end) const noexcept;

 private:
  struct One {
    RuleIndex place;
    TunnelMatch tunnel;
    Classifier inside;
  };
  std::vector<One> rules_;
};

/// A RoCEv2 packet within one tunnel, and where its frame begins in the outer one.
struct Inside {
  roce::Envelope envelope;
  std::size_t offset = 0;
  Tunnel tunnel = Tunnel::vxlan;
  std::uint32_t number = 0;  // VNI; 0 for SRv6
};
/// Returns the RoCEv2 packet within a tunnel that TunnelMatch knows; nothing without one, or if
/// there are several tunnels.
std::optional<Inside> open_inside(const roce::Envelope& outer) noexcept;

/// The sum of the 16-bit words of a frame's outer UDP datagram, for refit_udp_checksum(); 0 without
/// a datagram.
std::uint16_t udp_words(wire::Bytes frame, const roce::Envelope& outer) noexcept;
/// Makes the checksum of the outer UDP datagram right again after bytes of the datagram's payload
/// have changed, if it has one. `before` is udp_words() of the frame as it was.
void refit_udp_checksum(wire::MutableBytes frame, const roce::Envelope& outer,
                        std::uint16_t before) noexcept;

}  // namespace lw::emulator
