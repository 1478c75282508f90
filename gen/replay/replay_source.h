// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "capture/reader.h"
#include "gen/replay/replay_options.h"
#include "gen/traffic/pacer.h"

namespace lw::gen {

/// A capture's frame as it shall be sent.
struct ReplayFrame {
  wire::Bytes bytes;  // valid until the next next()
  Duration due{0};    // from the replay's start
};

/// What became of a capture's frames before any was sent; over all passes.
struct ReplayTally {
  std::uint64_t read = 0;
  std::uint64_t cut = 0;       // the capture holds less than was on the wire: not sent
  std::uint64_t left_out = 0;  // no RoCE, and only RoCE was asked for
  std::uint64_t not_roce = 0;  // sent as they are
  std::uint64_t no_icrc = 0;   // RoCE that can't be rewritten: sent as it is
  std::uint64_t too_long = 0;  // for a port's buffers: not sent
};

/// The frames of a capture, pass after pass, rewritten, each with the time at which it is due. It
/// reads as it goes: a capture's size costs no memory.
class ReplaySource {
 public:
  /// `options` must outlive it. `longest` is what one frame may have, bytes. Errors: the file's;
  /// standard input can't be read twice (usage).
  static Result<ReplaySource> open(const ReplayOptions& options, std::size_t longest);

  /// The next frame that is to be sent; nothing behind the last pass. Errors: the file's; a frame
  /// that isn't Ethernet's (usage).
  Result<std::optional<ReplayFrame>> next();

  /// False where frames go as fast as they can, so that none can be late.
  [[nodiscard]] bool paced() const noexcept;
  [[nodiscard]] const ReplayTally& tally() const noexcept { return tally_; }
  /// The stamp of the first frame that was sent: where virtual time begins.
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
  ReplayTally tally_;
  std::vector<std::byte> frame_;
  std::optional<Pacer> pacer_;

  // One pass, by the capture's stamps.
  std::uint64_t pass_ = 1, sent_in_pass_ = 0;
  bool started_ = false;
  Instant first_stamp_{}, pass_stamp_{};
  Duration pass_start_{0}, latest_{0};
};

}  // namespace lw::gen
