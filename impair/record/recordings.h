// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "impair/record/recording.h"

namespace lw::impair {

/// The recordings of a run, one after another. Any thread may call it; beginning and ending is the
/// work of one thread at a time.
///
/// The data path writes into the recorders of the open recording. Who opens one hands its recorders
/// to the data path; before close(), the data path has given them back.
class Recordings {
 public:
  using Recorders = std::array<Recorder*, 2>;  // by direction; null: nothing is recorded

  /// `rules`: the names of the profile's rules. `clock_offset_ns` is added to every stamp.
  Recordings(RuleNames rules, std::int64_t clock_offset_ns)
      : rules_(std::move(rules)), clock_offset_ns_(clock_offset_ns) {}

  /// Opens FILE.pcapng, in which frames are cut to `most_bytes` (0: none). Errors: the name does
  /// not end in .pcapng, a recording is open (usage), the file can't be written (environment).
  Result<void> open(const std::string& path, std::uint32_t most_bytes);
  [[nodiscard]] bool is_open() const noexcept;
  /// Of the open recording; null where there is none.
  [[nodiscard]] Recorders recorders() noexcept;
  /// Waits until everything is written and closes the open recording. Errors: there is none
  /// (usage), the file is not complete (environment).
  Result<CaptureReport> close();

  /// Rules that a change of configuration brought.
  void learn(const RuleNames& rules);
  /// The recordings so far, the newest last.
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
