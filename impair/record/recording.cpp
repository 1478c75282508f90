// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/recording.h"

#include <chrono>

#include <fmt/format.h>

namespace lw::impair {

Result<void> RecordingFile::check_name(const std::string& path) {
  if (capture::format_for(path) == capture::Format::pcapng) return {};
  return fail(
      fmt::format("{}: a capture with four interfaces and comments is a pcapng file: "
                  "name it FILE.pcapng",
                  path));
}

Result<std::unique_ptr<RecordingFile>> RecordingFile::create(const std::string& path,
                                                             RuleNames rules,
                                                             std::int64_t clock_offset_ns,
                                                             int link_type) {
  if (auto named = check_name(path); !named) return std::unexpected(named.error());
  std::vector<capture::Interface> interfaces;
  for (const std::string_view name : kInterfaceNames)
    interfaces.push_back({.link_type = link_type, .name = std::string(name)});
  auto writer = capture::Writer::create(path, capture::Format::pcapng, std::move(interfaces));
  if (!writer) return std::unexpected(writer.error());
  return std::unique_ptr<RecordingFile>(
      new RecordingFile(std::move(*writer), std::move(rules), clock_offset_ns));
}

void RecordingFile::learn(RuleNames rules) {
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
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
}

/// What was done to the frame, and what has changed since the frame before it.
std::string RecordingFile::comment_for(const emulator::LedgerRecord& record) {
  const std::lock_guard lock(mutex_);
  std::string comment = comment_of(record, rules_) + std::exchange(changes_, {});
  if (const auto further = std::exchange(further_changes_, 0); further > 0)
    comment += fmt::format("; {} further changes", further);
  return comment;
}

/// True for a sent frame that was received before the recording began. The emulator's own pause
/// frames were not received.
bool RecordingFile::came_before(const CaptureRecord& record) noexcept {
  auto& first = first_[static_cast<std::size_t>(record.ledger.direction)];
  if (!record.out && !first) first = record.ledger.number;
  return record.out && record.ledger.stage != emulator::Stage::pause &&
         (!first || record.ledger.number < *first);
}

void RecordingFile::write(const CaptureRecord& record, std::span<const std::byte> bytes) {
  if (came_before(record)) return left_out_.add();
  if (failure_) return lost_.add();
  const std::string comment = comment_for(record.ledger);
  const std::uint32_t interface = interface_of(record.ledger.direction, record.out);
  last_ = record.at + Duration{clock_offset_ns_};
  const auto written = writer_.write(last_, bytes, record.wire_length, interface, comment);
  if (!written) failure_ = written.error();
  ++written_[interface];
  if (++waiting_ >= kMostWaiting || failure_) flush();
}

void RecordingFile::flush() {
  if (!failure_)
    if (!writer_.flush()) failure_ = Error{writer_.failure(), ExitCode::environment};
  (failure_ ? lost_ : frames_).add(waiting_);
  waiting_ = 0;
}

Result<void> RecordingFile::close(const std::array<std::uint64_t, kRecordedInterfaces>& skipped) {
  flush();
  if (failure_)
    return fail(fmt::format("{}: its first {} frames are valid, and {} are missing",
                            failure_->message, frames(), lost()),
                failure_->exit);
  for (std::uint32_t i = 0; i < kRecordedInterfaces; ++i)
    writer_.write_statistics(i, last_, written_[i] + skipped[i], skipped[i]);
  return writer_.close();
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

/// Writes the earlier of the next frames of both directions. So frames in the file are in order of
/// time, as far as both directions have passed theirs by now.
bool Recording::write_next() {
  const auto east = eastward_.front(), west = westward_.front();
  if (!east && !west) return false;
  Recorder& first = east && (!west || *east <= *west) ? eastward_ : westward_;
  const CaptureRecord record = first.take(bytes_);
  file_->write(record, bytes_);
  return true;
}

void Recording::work(const std::stop_token& stop) {
  while (!stop.stop_requested())
    if (!write_next()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  while (write_next()) {
  }
}

CaptureReport Recording::report(const std::string& name) const {
  CaptureReport report{.file = name,
                       .frames = file_->frames(),
                       .lost = file_->lost(),
                       .left_out = file_->left_out()};
  for (const Recorder* recorder : {&eastward_, &westward_})
    report.skipped += recorder->skipped(false) + recorder->skipped(true);
  return report;
}

Result<void> Recording::finish() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  std::array<std::uint64_t, kRecordedInterfaces> skipped{};
  for (const Recorder* recorder : {&eastward_, &westward_})
    for (const bool out : {false, true})
      skipped[interface_of(recorder->direction(), out)] = recorder->skipped(out);
  return file_->close(skipped);
}

}  // namespace lw::impair
