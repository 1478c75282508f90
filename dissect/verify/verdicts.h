// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "core/figure.h"
#include "dissect/fields/frame_source.h"

namespace lw::dissect {

/// A frame with a bad ICRC; values in the byte order of the wire.
struct BadFrame {
  std::uint64_t number = 0,
                offset = 0;  // of the frame, from 1; in the file, in bytes
  std::uint32_t expected = 0, found = 0;
};

/// Result of `verify` for one file. roce = icrc_ok + bad_icrc + icrc_unverifiable.
struct FileVerdict {
  std::string file;
  std::uint64_t frames = 0, roce = 0, icrc_ok = 0, bad_icrc = 0, icrc_unverifiable = 0;
  bool opened = false;                    // the file could be read, even if it is not a capture
  std::map<int, std::uint64_t> unopened;  // frames of unsupported link types, by LINKTYPE number
  std::map<std::string, std::uint64_t> closed;  // frames in tunnels that cannot be opened, by name
  std::vector<BadFrame> first_bad;              // the first ten
  std::optional<Error> damage;                  // why reading stopped before the end of the file

  static const FigureTable& figures();
};
inline constexpr JsonOutput kVerdictOutput{.name = "verdict",
                                           .title = "roce-dissect verify --json",
                                           .figures = &FileVerdict::figures,
                                           .judged = true,
                                           .version = 3};

/// Checks every ICRC of a capture, also inside tunnels unless `reading` says otherwise. Cut frames
/// and fragments of RoCE packets are unverifiable.
FileVerdict verify_file(const std::string& path, const FrameReading& reading = {});

/// Finds the IP fragments that belong to RoCE packets: only a packet's first fragment holds the UDP
/// header. Fragments may come in any order. Keeps the newest 65536 packets.
class FragmentTracker {
 public:
  /// Returns the number of frames that this fragment shows to be RoCE: itself, and earlier ones of
  /// its packet that waited for the first fragment. 0 if it isn't RoCE or isn't known yet. Requires
  /// envelope.fragment.
  std::uint64_t roce_frames(const roce::Envelope& envelope);

 private:
  struct Packet {
    bool known = false, roce = false;
    std::uint64_t waiting = 0;
  };
  Packet& packet_of(const roce::Envelope& envelope);

  std::unordered_map<std::string, Packet> packets_;
  std::deque<std::string> order_;
};

}  // namespace lw::dissect
