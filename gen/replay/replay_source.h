// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "capture/reader.h"
#include "gen/replay/replay_options.h"
#include "gen/traffic/pacer.h"

namespace lw::gen {

/// A frame of a capture, rewritten for sending.
struct ReplayFrame {
  wire::Bytes bytes;  // valid until the next next()
  Duration due{0};    // from the start of the replay
};

/// Counters of frames read from a capture, over all passes.
struct ReplayCounters {
  std::uint64_t read = 0;
  std::uint64_t cut = 0;       // truncated by the capture: not sent
  std::uint64_t left_out = 0;  // not RoCE, and only RoCE is replayed
  std::uint64_t not_roce = 0;  // sent unchanged
  std::uint64_t no_icrc = 0;   // RoCE that can't be rewritten: sent unchanged
  std::uint64_t too_long = 0;  // for the port's buffers: not sent
};

/// Reads a capture's frames, in one or more passes, rewrites them and computes their due times. It
/// holds one frame at a time.
class ReplaySource {
 public:
  /// `options` must outlive it. `longest`: largest frame to send, in bytes. Errors: the file's;
  /// standard input with more than one pass (usage).
  static Result<ReplaySource> open(const ReplayOptions& options, std::size_t longest);

  /// The next frame to send; nothing after the last pass. Errors: the file's; a frame that isn't
  /// Ethernet (usage).
  Result<std::optional<ReplayFrame>> next();

  /// False if frames have no due times and are sent without pauses.
  [[nodiscard]] bool paced() const noexcept;
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
  std::size_t longest_;
  ReplayCounters counters_;
  std::vector<std::byte> frame_;
  std::optional<Pacer> pacer_;

  // One pass, by the capture's time stamps.
  std::uint64_t pass_ = 1, sent_in_pass_ = 0;
  bool started_ = false;
  Instant first_stamp_{}, pass_stamp_{};
  Duration pass_start_{0}, latest_{0};
};

}  // namespace lw::gen
