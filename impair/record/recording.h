// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <thread>

#include "impair/record/recorder.h"
#include "impair/record/recording_file.h"

namespace lw::impair {

/// A run's recording: a recorder each direction, and the thread that writes what they hold.
class Recording {
 public:
  /// Frames are cut to `most_bytes`; 0: none. The file is the recording's alone.
  Recording(std::unique_ptr<RecordingFile> file, std::uint32_t most_bytes);

  [[nodiscard]] Recorder& recorder(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? eastward_ : westward_;
  }
  void learn(const RuleNames& rules) { file_->learn(rules); }

  /// Waits until everything that was taken is written. Nothing may be recorded afterwards.
  Result<CaptureReport> finish(const std::string& name);

 private:
  void work(const std::stop_token& stop);
  bool write_next();

  std::unique_ptr<RecordingFile> file_;
  Recorder eastward_, westward_;
  std::vector<std::byte> bytes_;
  std::jthread thread_;
};

}  // namespace lw::impair
