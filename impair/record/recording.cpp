// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/recording.h"

#include <chrono>

namespace lw::impair {

using emulator::Direction;

Recording::Recording(std::unique_ptr<RecordingFile> file, std::uint32_t most_bytes)
    : file_(std::move(file)),
      eastward_(Direction::west_to_east, most_bytes),
      westward_(Direction::east_to_west, most_bytes),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

/// The earlier of the two fronts, so that the file is in the order of time as far as both
/// directions have reported by now.
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

Result<CaptureReport> Recording::finish(const std::string& name) {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  std::array<std::uint64_t, kRecordedInterfaces> skipped{};
  CaptureReport report{.file = name, .frames = file_->frames()};
  for (const Recorder* recorder : {&eastward_, &westward_})
    for (const bool out : {false, true}) {
      const std::uint64_t count = recorder->skipped(out);
      skipped[interface_of(recorder->direction(), out)] = count;
      report.skipped += count;
    }
  if (auto closed = file_->close(skipped); !closed) return std::unexpected(closed.error());
  return report;
}

}  // namespace lw::impair
