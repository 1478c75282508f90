// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "upper/protocol.h"

namespace lw::upper {

/// A part of a command's latency.
enum class Part : std::uint8_t {
  path,            // packets on the way, by the connection's least round trip
  target,          // the target, between a request that has arrived and its answer
  path_or_target,  // both, where the point does not show the round trip
  transfer,        // data on the way, and the time between their packets
  recovery,        // lost, late or refused packets that came again
  credit_wait,     // a sender that waited for credits
  undecided,       // the target, or an answer that was lost before the point: cannot tell
};
constexpr std::size_t kParts = 7;
std::string_view name_of(Part part) noexcept;  // "path"
std::string_view help_of(Part part) noexcept;

/// A time without a packet of a command: until one side answers, or goes on.
struct SideDelay {
  Duration length{};
  Duration silence{};        // before its end: without a new packet from the side
  Duration to_ack{};         // from its begin until the ACK of what the side got; 0: none passed
  bool at_target = true;     // false: at the host
  bool answers = true;       // false: its side sent the packet before, too
  Part rest = Part::target;  // what it is but for path

  [[nodiscard]] bool is_like(const SideDelay& other) const noexcept {
    return at_target == other.at_target && answers == other.answers && rest == other.rest;
  }
};

/// A command of an upper layer, as it passed the capture point.
struct StorageCommand {
  static constexpr std::size_t kMostDelays = 4;

  std::uint32_t connection = 0;
  std::uint8_t direction = 0;  // of its request
  UpperProtocol protocol = UpperProtocol::unknown;
  std::uint8_t kind = 0;                      // of the protocol: which table of status it uses
  std::string_view operation = {};            // "read", "NFSv4 WRITE"
  std::uint64_t id = 0;                       // CID, XID, message ID
  std::optional<std::uint16_t> queue = {};    // of NVMe
  std::optional<std::uint16_t> sq_head = {};  // of NVMe: in its completion
  std::optional<std::uint64_t> bytes = {};    // of data; nothing: its length was not captured
  std::uint32_t depth = 0;                    // commands open when it began, itself among them
  /// Without completion, `end` is when its identifier was used again, or the last command of any
  /// connection began or ended.
  Instant begin = {}, end = {};
  std::uint64_t begin_frame = 0, end_frame = 0;
  std::uint32_t begin_psn = 0;
  bool ended = false;            // its completion was captured
  bool waits_for_event = false;  // it ends when something happens, not as soon as it can
  bool is_keep_alive = false;
  bool is_late = false;  // a keep-alive that came after its timeout
  /// How much later than its completion its request was acknowledged: a host of NVMe ends a command
  /// when it has both.
  Duration late_ack{};
  bool full_at_begin = false;  // all credits, or the whole queue, were in use
  std::optional<std::uint32_t> status = {};
  bool failed = false;

  std::array<Duration, kParts> parts{};
  Duration target_recovery{};        // of the part recovery: of what the target sent
  std::uint64_t recovery_frame = 0;  // the first packet that came again; 0: none
  std::uint8_t recovery_direction = 0;
  /// No later packet had passed before it, so its receiver had no reason for a NAK.
  bool recovery_of_newest = false;

  // What latency has, before split() knows the round trips.
  std::array<SideDelay, kMostDelays> delays{};
  std::uint8_t delay_count = 0;

  [[nodiscard]] Duration latency() const noexcept { return stamp_difference(end, begin); }
  /// What its host waits at least.
  [[nodiscard]] Duration host_time() const noexcept { return latency() + late_ack; }
  [[nodiscard]] Duration part(Part which) const noexcept {
    return parts[static_cast<std::size_t>(which)];
  }
  Duration& part(Part which) noexcept { return parts[static_cast<std::size_t>(which)]; }
  /// The largest part; the first of equal ones.
  [[nodiscard]] Part largest() const noexcept;
};

/// What the transport shows about the two sides of the point.
struct PathFacts {
  std::optional<Duration> to_target = {}, to_host = {};  // least round trips from the point
  /// The least time after which the target repeats an answer that was lost; a longer silence of a
  /// target behind a path may be one.
  Duration timer = std::chrono::milliseconds(4);
};

/// Divides the delays of a command into path and target. Where the point does not show the round
/// trip, they are one part; where an answer may have been lost before the point, they are
/// undecided. The parts add up to the latency.
void split(StorageCommand& command, const PathFacts& facts) noexcept;

/// Commands that failed with one status. `kind` as in StorageCommand.
struct FailedCount {
  std::uint8_t kind = 0;
  std::uint32_t status = 0;
  std::uint64_t commands = 0;
};

/// Facts of a connection's upper layer.
struct UpperFacts {
  std::uint32_t connection = 0;
  std::uint8_t client = 0;  // the direction of the commands
  UpperProtocol protocol = UpperProtocol::unknown;
  RecognisedBy recognised_by = RecognisedBy::nothing;
  std::string_view detail = {};  // "admin queue", "I/O queue", "encrypted"; may be empty
  std::uint64_t sends = 0;       // messages that could carry commands
  std::uint64_t commands = 0;    // whose begin was captured
  std::uint64_t matched = 0;     // whose completion was captured, too
  std::uint64_t open = 0;        // without completion at the end
  std::uint64_t beginless = 0;   // completions whose command was not captured
  std::uint64_t replaced = 0;    // whose identifier was used again before their completion
  std::uint32_t most_outstanding = 0;
  std::optional<std::uint32_t> limit = {};  // credits or queue size, the newest
  std::uint64_t exhausted = 0;              // commands that began with all credits in use
  Duration exhausted_time{};                // with all credits in use: the host can begin none
  std::uint64_t credit_waits = 0;           // messages that waited for credits
  std::optional<Duration> keep_alive = {};  // its timeout
  /// Missed: not answered within the timeout, or the first command of all connections for longer.
  std::uint64_t keep_alives = 0, keep_alives_missed = 0;
  std::uint64_t aborts = 0, errors = 0, encrypted = 0, unreadable = 0;
  std::vector<FailedCount> failed = {};  // by status, the first kMostStatuses
};

}  // namespace lw::upper
