// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/reader.h"
#include "core/error.h"
#include "emulator/direction.h"
#include "roce/envelope.h"

namespace lw::impair {

/// The captures to replay, and the directions of their frames.
struct ReplayInput {
  std::string in;                                                     // "-" is standard input
  emulator::Direction direction = emulator::Direction::west_to_east;  // of `in`
  std::optional<std::string> back;  // capture of the other direction
  bool by_name = false;             // `in` has both directions, by interface name
};

/// A captured frame that arrives.
struct Arriving {
  capture::Record record;  // `interface` is the number in the output capture
  roce::LinkType link;
  emulator::Direction direction;
};

/// Reads the frames of one capture, or of one capture per direction, in order of time stamps. With
/// two directions, each has its own reader, so only the order within a direction matters: the two
/// threads of a recording may have written their frames out of turn. One thread.
class ReplaySource {
 public:
  /// Errors (usage): a file is not a capture; with both directions also: an interface name that
  /// states no direction, or frames of several link types.
  static Result<ReplaySource> open(const ReplayInput& input);

  /// Returns the next frame, valid until the next call; nothing at the end. Of two frames with the
  /// same time stamp, the frame of `in`, or from west to east, comes first. Error (failed): an
  /// unsupported link type.
  Result<std::optional<Arriving>> next();

  /// Upper limit of the frames of one direction; nothing if it is unknown until the end (standard
  /// input).
  [[nodiscard]] std::optional<std::uint64_t> most_frames() const noexcept { return frames_; }
  /// First error in a capture, after the frames that could be read. Call it after the end. The
  /// other capture is read to its own end.
  [[nodiscard]] const std::optional<Error>& damage() const noexcept { return damage_; }
  /// Number of frames that are missing in a recording before its last frame, according to the frame
  /// numbers in its comments.
  [[nodiscard]] std::uint64_t missing() const noexcept;
  /// The directions that have a capture: one or both.
  [[nodiscard]] const std::vector<emulator::Direction>& directions() const noexcept {
    return directions_;
  }
  /// Interfaces of the output capture: those of the input, or, with both directions, one per
  /// direction, named after it.
  [[nodiscard]] const std::vector<capture::Interface>& interfaces() const noexcept {
    return interfaces_;
  }

 private:
  struct Feed {
    std::string path;
    capture::Reader reader;
    emulator::Direction direction;
    std::string_view only = {};  // name of the interface to read; empty: all
    std::optional<capture::Record> front = {};
    bool ended = false;
    std::uint64_t next_number = 0, missing = 0;  // of a recording, from its comments
  };
  static void count_missing(Feed& feed);

  Result<void> add(const std::string& path, emulator::Direction direction,
                   std::string_view only = {});
  void advance(Feed& feed);
  Result<void> assign_interfaces();
  Result<void> join_interfaces();
  [[nodiscard]] bool both() const noexcept { return feeds_.size() > 1; }

  std::deque<Feed> feeds_;
  std::vector<emulator::Direction> directions_;
  std::vector<capture::Interface> interfaces_;
  std::optional<std::uint64_t> frames_;
  std::optional<Error> damage_;
};

}  // namespace lw::impair
