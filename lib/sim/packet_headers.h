// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "roce/envelope.h"
#include "transport/packet.h"
#include "wire/aeth.h"
#include "wire/bth.h"

namespace lw::sim {

/// The headers that a simulated packet would have on the wire, for rules that look at frames. They
/// are composed once for packets that are alike but for what moves from one to the next (PSN,
/// AckReq, AETH); those are written anew each time. The ICRC isn't: no rule looks at it.
class PacketHeaders {
 public:
  /// Lives until the next call.
  const roce::Envelope& of(const transport::Packet& packet);

 private:
  // 1,000 QPs have four kinds of packets each. With one place for each hash, two fifths of their
  // packets found another's headers there, and composing is what an incast spent half its time on.
  static constexpr std::size_t kSets = 2048, kWays = 4;
  static constexpr std::size_t kHeaderBytes = 128;  // all headers of any packet, and no more

  struct Headers {
    transport::Packet like;  // compared by what doesn't move
    std::vector<std::byte> bytes;
    roce::Envelope envelope;
    wire::Bth* bth = nullptr;
    wire::Aeth* aeth = nullptr;  // of an ACK
  };
  static void compose(Headers& headers, const transport::Packet& packet);
  Headers& place_of(const transport::Packet& packet);

  std::vector<Headers> places_ = std::vector<Headers>(kSets * kWays);
};

}  // namespace lw::sim
