// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "impair/record/recording.h"

namespace lw::impair {

/// The recordings of a run, one after another. Any thread may call it; only one thread at a time
/// may open or close a recording.
///
/// The data path writes into the recorders of the open recording. The caller of open() gives the
/// recorders to the data path. Before close(), the data path must no longer use them.
class Recordings {
 public:
  using Recorders = std::array<Recorder*, 2>;  // by direction; null: nothing is recorded

  /// `rules`: the names of the profile's rules. `clock_offset_ns` is added to every time stamp.
  Recordings(RuleNames rules, std::int64_t clock_offset_ns)
      : rules_(std::move(rules)), clock_offset_ns_(clock_offset_ns) {}

  /// Opens a recording. Errors: those of RecordingFile::create(); a recording is open (usage).
  Result<void> open(const std::string& path, const RecordingShape& shape);
  [[nodiscard]] bool is_open() const noexcept;
  /// Recorders of the open recording; null if none is open.
  [[nodiscard]] Recorders recorders() noexcept;
  /// Waits until all frames are written, and closes the open recording. Errors: no recording is
  /// open (usage); the file is not complete (environment).
  Result<CaptureReport> close();

  /// Replaces the rule names after a live change.
  void learn(const RuleNames& rules);
  /// Adds a change to the open recording, if there is one. Any thread.
  void note(const Change& change);
  /// Returns the recordings so far, the newest last.
  [[nodiscard]] std::vector<CaptureReport> reports() const;

 private:
  mutable std::mutex mutex_;  // guards all members below
  RuleNames rules_;
  std::int64_t clock_offset_ns_;
  std::string path_;  // of the open recording
  std::shared_ptr<Recording> open_;
  std::vector<CaptureReport> closed_;
};

}  // namespace lw::impair
