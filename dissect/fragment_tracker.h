// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "roce/envelope.h"

namespace lw::dissect {

/// Tells which later IP fragments belong to RoCE packets: only a packet's first fragment holds the
/// UDP header. Fragments may come in any order; the newest 65536 packets are remembered.
class FragmentTracker {
 public:
  /// How many frames this fragment shows to be RoCE: itself, and those that came before the first
  /// one told. 0 where it isn't RoCE or can't be told yet. Only for envelope.fragment.
  std::uint64_t roce_frames(const roce::Envelope& envelope);

 private:
  struct Packet {
    bool told = false, roce = false;
    std::uint64_t waiting = 0;
  };
  Packet& packet_of(const roce::Envelope& envelope);

  std::unordered_map<std::string, Packet> packets_;
  std::deque<std::string> order_;
};

}  // namespace lw::dissect
