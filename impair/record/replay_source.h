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

/// Which captures hold what came in where.
struct ReplayInput {
  std::string in;                                                     // "-" is standard input
  emulator::Direction direction = emulator::Direction::west_to_east;  // of its frames
  std::optional<std::string> back;  // a capture of the other direction's
  bool by_name = false;  // `in` has both directions': its interfaces' names say which are which
};

/// A captured frame that comes in.
struct Arriving {
  capture::Record record;  // its interface is the copy's
  roce::LinkType link;
  emulator::Direction direction;
};

/// The frames of one capture, or of one a direction, in the order of their stamps. Where there are
/// two directions each is read by itself, so that only the order within a direction counts: a
/// recording's two threads needn't have written theirs in turn. One thread.
class ReplaySource {
 public:
  /// Errors (usage): no capture there; of both directions' captures, names of interfaces that say
  /// no direction, and frames of several link types.
  static Result<ReplaySource> open(const ReplayInput& input);

  /// The next frame, valid until the next call; nothing at the end. Of two with the same stamp
  /// that of `in`, or from west to east, is first. An error (failed): a link type that can't be
  /// read.
  Result<std::optional<Arriving>> next();

  /// No direction has more frames than this; nothing where that can't be known before the end.
  [[nodiscard]] std::optional<std::uint64_t> most_frames() const noexcept { return frames_; }
  /// What was wrong with a capture behind what could be read of it; after the end. The other one
  /// was read to its own end.
  [[nodiscard]] const std::optional<Error>& damage() const noexcept { return damage_; }
  /// How many frames a recording's numbers say came in before the last one, but aren't in it.
  [[nodiscard]] std::uint64_t missing() const noexcept;
  /// One, or both.
  [[nodiscard]] const std::vector<emulator::Direction>& directions() const noexcept {
    return directions_;
  }
  /// What the copy needs: the capture's own, or one a direction, named after it.
  [[nodiscard]] const std::vector<capture::Interface>& interfaces() const noexcept {
    return interfaces_;
  }

 private:
  struct Feed {
    std::string path;
    capture::Reader reader;
    emulator::Direction direction;
    std::string_view only = {};  // the interface whose frames count; empty: all
    std::optional<capture::Record> front = {};
    bool ended = false;
    std::uint64_t next_number = 0, missing = 0;  // of a recording: by what its comments say
  };
  static void count_missing(Feed& feed);

  Result<void> add(const std::string& path, emulator::Direction direction,
                   std::string_view only = {});
  void advance(Feed& feed);
  Result<void> settle_interfaces();
  Result<void> join_interfaces();
  [[nodiscard]] bool both() const noexcept { return feeds_.size() > 1; }

  std::deque<Feed> feeds_;
  std::vector<emulator::Direction> directions_;
  std::vector<capture::Interface> interfaces_;
  std::optional<std::uint64_t> frames_;
  std::optional<Error> damage_;
};

}  // namespace lw::impair
