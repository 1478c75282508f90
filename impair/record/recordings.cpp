// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/recordings.h"

#include <system_error>

#include <fmt/format.h>

namespace lw::impair {

Result<void> Recordings::open(const std::string& path, const RecordingShape& shape) {
  const std::lock_guard lock(mutex_);
  if (open_)
    return fail(fmt::format("record: {} is being recorded: end it first (stop-recording)", path_));
  auto file = RecordingFile::create(path, rules_, clock_offset_ns_, shape);
  if (!file) return std::unexpected(file.error());
  try {
    open_ = std::make_shared<Recording>(std::move(*file), shape.most_bytes);
  } catch (const std::system_error&) {
    return fail("record: the system starts no further thread", ExitCode::environment);
  }
  path_ = path;
  return {};
}

bool Recordings::is_open() const noexcept {
  const std::lock_guard lock(mutex_);
  return open_ != nullptr;
}

Recordings::Recorders Recordings::recorders() noexcept {
  const std::lock_guard lock(mutex_);
  if (!open_) return {};
  using enum emulator::Direction;
  return {&open_->recorder(west_to_east), &open_->recorder(east_to_west)};
}

/// Writing the remaining frames may take long. It holds no lock, so reports() does not wait for it.
Result<CaptureReport> Recordings::close() {
  std::unique_lock lock(mutex_);
  if (!open_) return fail("stop-recording: nothing is being recorded");
  const std::shared_ptr<Recording> ending = open_;
  lock.unlock();
  const auto closed = ending->finish();
  lock.lock();
  CaptureReport report = ending->report(path_);
  closed_.push_back(report);
  open_.reset();
  if (!closed) return std::unexpected(closed.error());
  return report;
}

void Recordings::learn(const RuleNames& rules) {
  const std::lock_guard lock(mutex_);
  rules_ = rules;
  if (open_) open_->learn(rules);
}

void Recordings::note(const Change& change) {
  const std::lock_guard lock(mutex_);
  if (open_) open_->note(change);
}

std::vector<CaptureReport> Recordings::reports() const {
  const std::lock_guard lock(mutex_);
  std::vector<CaptureReport> reports = closed_;
  if (open_) {
    reports.push_back(open_->report(path_));
    reports.back().active = true;
  }
  return reports;
}

}  // namespace lw::impair
