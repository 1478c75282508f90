// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "capture/reader.h"
#include "config/flow/traffic.h"
#include "core/quantity.h"
#include "gen/stats/run_stats.h"
#include "gen/traffic/pacer.h"
#include "roce/class_settings.h"
#include "roce/compose.h"
#include "wire/psn.h"

namespace lw::gen {

/// Speed relative to the capture's time stamps.
struct Speed {
  double factor = 1;  // > 0; infinite: no pauses
};

/// Due times of a replay's frames: from their time stamps, or at a rate.
using Pace = std::variant<Speed, config::Rate>;

/// Options of `roce-gen replay`.
struct ReplayOptions {
  std::string capture;  // a path, "-" for standard input
  std::string port;     // empty: none
  std::string pcap;     // a path, "-" for standard output; empty: none
  Pace pace;
  std::uint64_t loop = 1;  // passes over the capture; 0: until stopped
  roce::FrameChanges rewrite;
  roce::ClassOfTraffic traffic;  // of RoCE frames, without source port and P_Key, which are above
  bool roce_only = false;
  Limits limits;
  bool json = false, verbose = false, live = false;
};

/// Parses "2x", "0.5x", "2" or "max".
Parsed<Speed> parse_speed(std::string_view text);

/// Parses "192.0.2.1=203.0.113.1", or "203.0.113.1" for all frames of that address family.
Parsed<roce::AddressChange> parse_address_change(std::string_view text);

/// A number and its replacement.
struct Mapping {
  std::uint32_t from = 0, to = 0;
};
/// Parses "0x11=0x22": both 0 to `largest`, decimal or hexadecimal.
Parsed<Mapping> parse_mapping(std::string_view text, std::uint32_t largest);

/// Offset that is added to PSNs modulo 2^24, for one QP or for all.
struct PsnOffset {
  std::optional<std::uint32_t> qp;
  std::uint32_t offset = 0;
};
/// Parses "100" or "-5" for all QPs, "0x11=100" for one.
Parsed<PsnOffset> parse_psn_offset(std::string_view text);

/// A frame of a capture, rewritten for sending.
struct ReplayFrame {
  wire::Bytes bytes;  // valid until the next next()
  Duration due{0};    // from the start of the replay
};

/// Counters of frames read from a capture, over all passes.
struct ReplayCounters {
  std::uint64_t read = 0;
  std::uint64_t cut = 0;       // truncated by the capture: not sent
  std::uint64_t left_out = 0;  // not RoCE, while only RoCE is replayed: not sent
  std::uint64_t not_roce = 0;  // sent unchanged
  std::uint64_t no_icrc = 0;   // RoCE that can't be rewritten: sent unchanged
  std::uint64_t too_long = 0;  // for the port's buffers: not sent
};

/// Finds out whether one new address for all frames would merge two hosts: whether there are frames
/// in both directions between two addresses that change.
class DirectionCheck {
 public:
  explicit DirectionCheck(const roce::FrameChanges& rewrite);

  /// Adds a frame. Error (usage): the frame goes back to the source of an earlier one; the message
  /// shows the OLD=NEW form to use instead.
  Result<void> add(wire::Bytes frame);
  /// True if a new address for all frames is given.
  [[nodiscard]] bool needed() const noexcept { return !change_.empty(); }

 private:
  std::string change_;  // the option and its value; empty: none
  std::size_t family_ = 0;
  std::set<std::pair<wire::IpAddress, wire::IpAddress>> seen_;
};

/// Reads a capture's frames in one or more passes, rewrites them, and computes their due times.
/// Holds one frame at a time.
class ReplaySource {
 public:
  /// `options` must outlive it. `longest`: largest frame to send, in bytes. Errors: those of the
  /// file; standard input with more than one pass, or a single new address for a file with both
  /// directions (usage).
  static Result<ReplaySource> open(const ReplayOptions& options, std::size_t longest);

  /// Returns the next frame to send; nothing after the last pass, or where the file is damaged,
  /// which is reported at the end of the program. Errors: those of a file without frames; a frame
  /// that isn't Ethernet, or that goes back although there is one new address for all (usage).
  Result<std::optional<ReplayFrame>> next();

  /// False if frames have no due times and are sent without pauses.
  [[nodiscard]] bool paced() const noexcept;
  /// Sets the largest frame to send, in bytes, without a VLAN tag.
  void set_longest(std::size_t longest) noexcept { longest_ = longest; }
  [[nodiscard]] const ReplayCounters& counters() const noexcept { return counters_; }
  /// Time stamp of the first frame to send: the start of virtual time.
  [[nodiscard]] Instant first_stamp() const noexcept { return first_stamp_; }

 private:
  ReplaySource(const ReplayOptions& options, capture::Reader reader, std::size_t longest);
  Result<bool> begin_pass();
  Result<bool> keep(const capture::Record& record);
  bool prepare(const capture::Record& record);
  Duration due_of(Instant stamp, std::size_t size) noexcept;

  const ReplayOptions* options_;
  capture::Reader reader_;
  std::size_t longest_, most_;  // most_: with a VLAN tag
  ReplayCounters counters_;
  std::vector<std::byte> frame_;
  std::optional<Pacer> pacer_;
  DirectionCheck directions_;

  // The present pass, counted from 1; times are those of the replay and of the capture.
  std::uint64_t pass_ = 1, sent_in_pass_ = 0;
  bool started_ = false;
  Instant first_stamp_{}, pass_stamp_{};
  Duration pass_start_{0}, latest_{0};
};

}  // namespace lw::gen
