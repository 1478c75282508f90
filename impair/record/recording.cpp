// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/recording.h"

#include <chrono>

#include <fmt/format.h>

namespace lw::impair {

Result<void> RecordingFile::check_name(const std::string& path) {
  if (capture::format_for(path) == capture::Format::pcapng) return {};
  return fail(
      fmt::format("{}: a capture with four interfaces and comments is a pcapng file: "
                  "name it FILE.pcapng or FILE.pcapng.zst",
                  path));
}

Result<std::unique_ptr<RecordingFile>> RecordingFile::create(const std::string& path,
                                                             RuleNames rules,
                                                             std::int64_t clock_offset_ns,
                                                             const RecordingShape& shape,
                                                             int link_type) {
  if (auto named = check_name(path); !named) return std::unexpected(named.error());
  capture::Writing writing{.format = capture::Format::pcapng,
                           .interfaces = {},
                           .rotation = shape.rotation,
                           .statistics = true};
  for (const std::string_view name : kInterfaceNames) {
    capture::Interface interface{.link_type = link_type, .name = std::string(name)};
    if (shape.most_bytes > 0) interface.snap_length = shape.most_bytes;
    writing.interfaces.push_back(std::move(interface));
  }
  auto writer = capture::Writer::create(path, std::move(writing));
  if (!writer) return std::unexpected(writer.error());
  return std::unique_ptr<RecordingFile>(
      new RecordingFile(std::move(*writer), std::move(rules), clock_offset_ns));
}

void RecordingFile::learn(RuleNames rules) {
  const std::lock_guard lock(mutex_);
  learned_ = std::move(rules);
  news_.store(true, std::memory_order_release);
}

void RecordingFile::note(const Change& change) {
  const std::string text =
      fmt::format("; change before frame {} west to east, {} east to west: {} ({})",
                  change.first_frames[0], change.first_frames[1], change_text(change), change.by);
  const std::lock_guard lock(mutex_);
  if (changes_.size() + text.size() <= kMostNoted) {
    changes_ += text;
  } else {
    ++further_changes_;
  }
  news_.store(true, std::memory_order_release);
}

/// Takes the new rule names over, and moves the changes to `changes`.
void RecordingFile::hear_news(std::string& changes) {
  const std::lock_guard lock(mutex_);
  news_.store(false, std::memory_order_relaxed);
  if (learned_) comments_.learn(std::move(*learned_));
  learned_.reset();
  changes = std::exchange(changes_, {});
  if (const auto further = std::exchange(further_changes_, 0); further > 0)
    changes += fmt::format("; {} further changes", further);
}

/// What was done to the frame, and what has changed since the frame before it.
std::string_view RecordingFile::comment_for(const emulator::LedgerRecord& record) {
  if (!news_.load(std::memory_order_acquire)) [[likely]]
    return comments_.of(record);
  std::string changes;
  hear_news(changes);
  comment_ = std::string(comments_.of(record)) + changes;
  return comment_;
}

/// True for a sent frame that was received before the recording began. The emulator's own pause
/// frames were not received.
bool RecordingFile::came_before(const CaptureRecord& record) noexcept {
  auto& first = first_[static_cast<std::size_t>(record.ledger.direction)];
  if (!record.out && !first) first = record.ledger.number;
  return record.out && record.ledger.stage != emulator::Stage::pause &&
         (!first || record.ledger.number < *first);
}

void RecordingFile::add(const CaptureRecord& record, const capture::Writer::Parts& bytes,
                        bool copies) {
  if (came_before(record)) return left_out_.add();
  const std::uint32_t interface = interface_of(record.ledger.direction, record.out);
  if (failure_) {
    writer_.count_dropped(interface, 1);
  } else {
    const Instant at = record.at + Duration{clock_offset_ns_};
    const std::string_view comment = comment_for(record.ledger);
    const auto written = copies
                             ? writer_.write(at, bytes[0], record.wire_length, interface, comment)
                             : writer_.refer({at, bytes, record.wire_length, interface, comment});
    if (!written) failure_ = written.error();
  }
  if (++waiting_ >= kMostWaiting) pass_on();
}

void RecordingFile::set_skipped(std::uint32_t interface, std::uint64_t frames) {
  Counter& skipped = counts_[interface].skipped;
  const std::uint64_t more = frames - skipped.get();
  if (more == 0) return;
  writer_.count_dropped(interface, more);
  skipped.add(more);
}

void RecordingFile::pass_on() {
  waiting_ = 0;
  if (!writer_.pass_on() && !failure_) failure_ = Error{writer_.failure(), ExitCode::environment};
  publish_counts();
}

/// Brings what other threads see to what the writer has counted. A compressed file's frames may
/// turn out as lost later: they then stay counted as written until close() has given the error.
void RecordingFile::publish_counts() {
  for (std::uint32_t i = 0; i < kRecordedInterfaces; ++i) {
    const capture::InterfaceCount count = writer_.count(i);
    counts_[i].frames.set(count.written);
    counts_[i].lost.set(count.lost - counts_[i].skipped.get());
  }
  files_.set(writer_.files());
  removed_.set(writer_.frames_removed());
}

CaptureReport RecordingFile::report(const std::string& name) const {
  CaptureReport report{
      .file = name, .left_out = left_out_.get(), .files = files_.get(), .removed = removed_.get()};
  for (std::size_t i = 0; i < kRecordedInterfaces; ++i) {
    const RecordedInterface& added =
        report.interfaces.emplace_back(kInterfaceNames[i], counts_[i].frames.get(),
                                       counts_[i].skipped.get(), counts_[i].lost.get());
    report.frames += added.frames;
    report.skipped += added.skipped;
    report.lost += added.lost;
  }
  return report;
}

Result<void> RecordingFile::close() {
  pass_on();
  auto closed = writer_.close();
  publish_counts();
  if (!failure_) return closed;
  const CaptureReport written = report({});
  return fail(fmt::format("{}: its first {} frames are valid, and {} are missing",
                          failure_->message, written.frames, written.lost),
              failure_->exit);
}

void FileRecorder::stage(std::span<const std::byte> bytes, std::uint32_t wire_length) {
  Staged& staged = staged_[count_++];
  staged.bytes.assign(bytes.begin(), bytes.end());
  staged.record.length = static_cast<std::uint32_t>(bytes.size());
  staged.record.wire_length = wire_length;
}

void FileRecorder::say(std::size_t i, Instant at, bool out, const emulator::LedgerRecord& record) {
  staged_[i].record.at = at;
  staged_[i].record.out = out;
  staged_[i].record.ledger = record;
}

void FileRecorder::publish(std::size_t count, bool /*out*/) {
  for (std::size_t i = 0; i < count; ++i) file_->write(staged_[i].record, staged_[i].bytes);
  count_ = 0;
}

using emulator::Direction;

Recording::Recording(std::unique_ptr<RecordingFile> file, std::uint32_t most_bytes)
    : file_(std::move(file)),
      eastward_(Direction::west_to_east, most_bytes),
      westward_(Direction::east_to_west, most_bytes),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

/// Refers to the earlier of the next frames of both directions. So frames in the file are in order
/// of time, as far as both directions have passed theirs by now.
bool Recording::refer_next() {
  const auto east = eastward_.front(), west = westward_.front();
  if (!east && !west) return false;
  Recorder& first = east && (!west || *east <= *west) ? eastward_ : westward_;
  const Recorder::Sight sight = first.next();
  file_->refer(sight.record, sight.bytes);
  return true;
}

/// Writes frames that wait, and returns their number.
std::size_t Recording::write_some() {
  std::size_t frames = 0;
  while (frames < kMostTogether && refer_next()) ++frames;
  for (Recorder* recorder : {&eastward_, &westward_})
    for (const bool out : {false, true})
      file_->set_skipped(interface_of(recorder->direction(), out), recorder->skipped(out));
  file_->pass_on();
  eastward_.give_back();
  westward_.give_back();
  return frames;
}

void Recording::work(const std::stop_token& stop) {
  while (!stop.stop_requested())
    if (write_some() < kFew) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  while (write_some() > 0) {
  }
}

Result<void> Recording::finish() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  return file_->close();
}

}  // namespace lw::impair
