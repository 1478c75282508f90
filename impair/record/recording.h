// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "capture/writer.h"
#include "core/counter.h"
#include "core/error.h"
#include "impair/record/change_log.h"
#include "impair/record/recorder.h"

namespace lw::impair {

/// Writes received and sent frames to a pcapng file: two interfaces per direction. Frames that were
/// received before the recording began are left out where they are sent, so each sent frame has its
/// received one. The comment of a packet says what was done to the frame. One thread, unless a
/// function says otherwise.
class RecordingFile {
 public:
  /// Error (usage): the name does not end in .pcapng.
  static Result<void> check_name(const std::string& path);
  /// Errors: as check_name(); the file can't be written (environment). `clock_offset_ns` is added
  /// to every time stamp.
  static Result<std::unique_ptr<RecordingFile>> create(const std::string& path, RuleNames rules,
                                                       std::int64_t clock_offset_ns,
                                                       int link_type = capture::kLinkTypeEthernet);

  /// Replaces the rule names after a live change. Any thread.
  void learn(RuleNames rules);

  /// Adds a change to the comment of the next frame. Any thread.
  void note(const Change& change);

  /// Writes a frame. `bytes` has record.length bytes.
  void write(const CaptureRecord& record, std::span<const std::byte> bytes);
  /// Frames in the file, and frames lost because a write failed. After the first failed write
  /// nothing more is written. Any thread.
  [[nodiscard]] std::uint64_t frames() const noexcept { return frames_.get(); }
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.get(); }
  /// Sent frames that were received before the recording began. Any thread.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_.get(); }

  /// Writes the statistics of the interfaces, and closes the file. `skipped`: frames that each
  /// interface missed. Error (environment): a write failed.
  Result<void> close(const std::array<std::uint64_t, kRecordedInterfaces>& skipped);

 private:
  RecordingFile(capture::Writer writer, RuleNames rules, std::int64_t clock_offset_ns)
      : writer_(std::move(writer)), rules_(std::move(rules)), clock_offset_ns_(clock_offset_ns) {}

  capture::Writer writer_;
  [[nodiscard]] bool came_before(const CaptureRecord& record) noexcept;
  [[nodiscard]] std::string comment_for(const emulator::LedgerRecord& record);

  std::mutex mutex_;  // guards the next three
  RuleNames rules_;
  std::string changes_;  // for the next comment, at most kMostNoted characters
  std::uint64_t further_changes_ = 0;
  static constexpr std::size_t kMostNoted = 4096;
  std::int64_t clock_offset_ns_;
  void flush();

  // Largest number of frames in the writer's buffer.
  static constexpr std::uint64_t kMostWaiting = 1024;
  std::uint64_t waiting_ = 0;
  Counter frames_, lost_, left_out_;
  std::array<std::optional<std::uint64_t>, 2> first_{};  // number of the first received frame
  std::array<std::uint64_t, kRecordedInterfaces> written_{};
  Instant last_{};
  std::optional<Error> failure_;
};

/// Writes frames to a recording directly, without a ring. Has the functions of Recorder, for
/// callers that need not be fast. One thread.
class FileRecorder {
 public:
  static constexpr std::size_t kMostStaged = 64;

  /// `file` must outlive the object.
  explicit FileRecorder(RecordingFile& file) noexcept : file_(&file) {}

  /// See Recorder.
  void stage(std::span<const std::byte> bytes, std::uint32_t wire_length);
  void say(std::size_t i, Instant at, bool out, const emulator::LedgerRecord& record);
  void publish(std::size_t count, bool out);

 private:
  struct Staged {
    CaptureRecord record;
    std::vector<std::byte> bytes;
  };
  RecordingFile* file_;
  std::array<Staged, kMostStaged> staged_;
  std::size_t count_ = 0;
};

/// A recording of a run: one recorder per direction, and the thread that writes their frames.
class Recording {
 public:
  /// Takes ownership of `file`. Frames are cut to `most_bytes`; 0: not cut. Throws
  /// std::system_error if the system starts no thread.
  Recording(std::unique_ptr<RecordingFile> file, std::uint32_t most_bytes);

  [[nodiscard]] Recorder& recorder(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? eastward_ : westward_;
  }
  void learn(const RuleNames& rules) { file_->learn(rules); }
  void note(const Change& change) { file_->note(change); }

  /// Returns the state of the recording so far. Any thread.
  [[nodiscard]] CaptureReport report(const std::string& name) const;
  /// Waits until all frames that are not skipped are written, and closes the file. No frame may be
  /// recorded afterwards.
  Result<void> finish();

 private:
  void work(const std::stop_token& stop);
  bool write_next();

  std::unique_ptr<RecordingFile> file_;
  Recorder eastward_, westward_;
  std::vector<std::byte> bytes_;
  std::jthread thread_;
};

}  // namespace lw::impair
