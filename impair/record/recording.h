// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
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
#include "impair/record/comments.h"
#include "impair/record/recorder.h"

namespace lw::impair {

/// How a recording is made.
struct RecordingShape {
  std::uint32_t most_bytes = 0;  // of each frame; 0: all
  Rotation rotation = {};
};

/// Writes received and sent frames to a pcapng file: two interfaces per direction. Frames that were
/// received before the recording began are left out where they are sent, so each sent frame has its
/// received one. The comment of a packet says what was done to the frame. One thread, unless a
/// function says otherwise.
class RecordingFile {
 public:
  /// Error (usage): the name ends neither in .pcapng nor in .pcapng.zst.
  static Result<void> check_name(const std::string& path);
  /// Errors: as check_name(); the file can't be written (environment). `clock_offset_ns` is added
  /// to every time stamp.
  static Result<std::unique_ptr<RecordingFile>> create(const std::string& path, RuleNames rules,
                                                       std::int64_t clock_offset_ns,
                                                       const RecordingShape& shape = {},
                                                       int link_type = capture::kLinkTypeEthernet);

  /// Replaces the rule names after a live change. Any thread.
  void learn(RuleNames rules);

  /// Adds a change to the comment of the next frame. Any thread.
  void note(const Change& change);

  /// Writes a frame, whose bytes are copied.
  void write(const CaptureRecord& record, std::span<const std::byte> bytes) {
    add(record, {bytes, {}}, true);
  }
  /// Writes a frame, whose bytes must stay as they are until pass_on().
  void refer(const CaptureRecord& record, const capture::Writer::Parts& bytes) {
    add(record, bytes, false);
  }
  /// Sets how many frames an interface has missed so far, because the writer was behind.
  void set_skipped(std::uint32_t interface, std::uint64_t frames);
  /// Writes the frames so far. After the first failed write nothing more is written.
  void pass_on();

  /// Returns the state of the recording. Any thread. Frames that wait for pass_on() are not in it.
  [[nodiscard]] CaptureReport report(const std::string& name) const;

  /// Writes the statistics of the interfaces, and closes the file. Error (environment): a write
  /// failed.
  Result<void> close();

 private:
  RecordingFile(capture::Writer writer, RuleNames rules, std::int64_t clock_offset_ns)
      : writer_(std::move(writer)),
        comments_(std::move(rules)),
        clock_offset_ns_(clock_offset_ns) {}

  void add(const CaptureRecord& record, const capture::Writer::Parts& bytes, bool copies);
  [[nodiscard]] bool came_before(const CaptureRecord& record) noexcept;
  [[nodiscard]] std::string_view comment_for(const emulator::LedgerRecord& record);
  void hear_news(std::string& changes);
  void publish_counts();

  struct Counts {
    Counter frames, lost, skipped;
  };

  capture::Writer writer_;
  Comments comments_;
  std::string comment_;
  std::int64_t clock_offset_ns_;

  std::mutex mutex_;                  // guards the next three
  std::optional<RuleNames> learned_;  // names that comments_ has not got yet
  std::string changes_;               // for the next comment, at most kMostNoted characters
  std::uint64_t further_changes_ = 0;
  std::atomic<bool> news_{false};  // one of them is there
  static constexpr std::size_t kMostNoted = 4096;

  // Largest number of frames that write() keeps.
  static constexpr std::uint64_t kMostWaiting = 1024;
  std::uint64_t waiting_ = 0;
  std::array<Counts, kRecordedInterfaces> counts_;
  Counter left_out_, files_, removed_;
  std::array<std::optional<std::uint64_t>, 2> first_{};  // number of the first received frame
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
  [[nodiscard]] CaptureReport report(const std::string& name) const { return file_->report(name); }
  /// Waits until all frames that are not skipped are written, and closes the file. No frame may be
  /// recorded afterwards.
  Result<void> finish();

 private:
  // Frames that are written at once: their bytes and what is around each are pieces of one
  // writev(), which takes 1024.
  static constexpr std::size_t kMostTogether = 512;
  // With fewer than these it waits for more, as every write has a cost of its own.
  static constexpr std::size_t kFew = 64;

  void work(const std::stop_token& stop);
  bool refer_next();
  std::size_t write_some();

  std::unique_ptr<RecordingFile> file_;
  Recorder eastward_, westward_;
  std::jthread thread_;
};

}  // namespace lw::impair
