// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/ledger_file.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "report/figures/json.h"

namespace lw::impair {
namespace {

/// Returns a JSON string, quoted and escaped: names come from a profile and may have any character.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string ledger_line(const emulator::LedgerRecord& record, const RuleNames& rules,
                        std::int64_t clock_offset_ns) {
  const auto& names = rules[static_cast<std::size_t>(record.direction)];
  fmt::memory_buffer line;
  const auto out = fmt::appender(line);
  fmt::format_to(out, R"({{"direction":"{}","frame":{},"time_in_ns":{},"time_out_ns":)",
                 name_of(record.direction), record.number, to_ns(record.in) + clock_offset_ns);
  if (record.went_out()) {
    fmt::format_to(out, "{}", to_ns(record.out) + clock_offset_ns);
  } else {
    fmt::format_to(out, "null");
  }
  fmt::format_to(out, R"(,"rule":{},"stage":"{}","action":"{}")",
                 record.rule < names.size() ? quoted(names[record.rule]) : "null",
                 name_of(record.stage), record.action());
  if (record.acted.several())
    fmt::format_to(out, R"(,"stages":["{}"])", fmt::join(names_of(record.acted), R"(",")"));
  if (record.copy > 0) fmt::format_to(out, R"(,"copy":{})", record.copy);
  if (record.roce)
    fmt::format_to(
        out, R"(,"infiniband.bth.destqp":{},"infiniband.bth.psn":{},"infiniband.bth.opcode":{})",
        record.qpn, record.psn, record.opcode);
  fmt::format_to(out, "}}");
  return fmt::to_string(line);
}

std::string change_line(const Change& change) {
  const report::Json line = {{"change", report::json_of(change)}};
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

LedgerFormat ledger_format_for(std::string_view path) noexcept {
  return path.ends_with(".lwl") ? LedgerFormat::binary : LedgerFormat::json_lines;
}

Result<std::unique_ptr<LedgerFile>> LedgerFile::create(const std::string& path, LedgerFormat format,
                                                       RuleNames rules,
                                                       std::int64_t clock_offset_ns) {
  auto file = OutputFile::open(path, OutputFile::Mode::growing);
  if (!file) return std::unexpected(file.error());
  return std::unique_ptr<LedgerFile>(
      new LedgerFile(std::move(*file), format, std::move(rules), clock_offset_ns));
}

LedgerFile::LedgerFile(OutputFile file, LedgerFormat format, RuleNames rules,
                       std::int64_t clock_offset_ns)
    : file_(std::move(file)),
      format_(format),
      rules_(std::make_shared<const RuleNames>(std::move(rules))),
      clock_offset_ns_(clock_offset_ns) {
  if (format_ == LedgerFormat::binary) binary_ledger::put_header(waiting_);
}

/// Names are only added, so earlier records have the same names afterwards.
void LedgerFile::learn(RuleNames rules) {
  auto next = std::make_shared<const RuleNames>(std::move(rules));
  const std::lock_guard lock(mutex_);
  if (*next != *rules_) rules_ = std::move(next);
}

void LedgerFile::note(const Change& change) {
  std::string line = change_line(change);
  const std::lock_guard lock(mutex_);
  if (changes_.size() < kMostChangesWaiting) {
    changes_.push_back(std::move(line));
  } else {
    ++lost_changes_;
  }
}

std::uint64_t LedgerFile::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_.get() + lost_changes_;
}

/// Writes the changes that are waiting.
void LedgerFile::put_changes() {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(mutex_);
    if (changes_.empty()) return;
    lines = std::exchange(changes_, {});
  }
  if (format_ == LedgerFormat::binary) put_block(names());  // the records before them
  for (const std::string& line : lines) {
    std::string text;
    if (format_ == LedgerFormat::binary) {
      binary_ledger::put_change(text, line);
    } else {
      text = line + "\n";
    }
    put(text, 0);
  }
}

LedgerFile::Names LedgerFile::names() {
  const std::lock_guard lock(mutex_);
  return rules_;
}

void LedgerFile::put(std::string_view text, std::size_t records) {
  if (file_.failed()) return lost_.add(records);
  waiting_ += text;
  records_waiting_ += records;
  if (waiting_.size() >= kMostWaiting) flush();
}

void LedgerFile::flush() {
  if (file_.failed() || waiting_.empty()) return;
  file_.write(waiting_);
  if (file_.flush()) {
    valid_bytes_ += waiting_.size();
    records_.add(records_waiting_);
  } else {
    lost_.add(records_waiting_);
  }
  waiting_.clear();
  records_waiting_ = 0;
}

void LedgerFile::put_block(const Names& names) {
  if (block_.empty()) return;
  std::string text;
  if (names != names_written_) binary_ledger::put_names(text, *names);
  names_written_ = names;
  binary_ledger::put_records(text, block_, clock_offset_ns_);
  put(text, block_.size());
  block_.clear();
}

void LedgerFile::keep_newest(std::span<const emulator::LedgerRecord> records) {
  const auto newest = records.last(std::min(records.size(), kNewest));
  const std::lock_guard lock(mutex_);
  newest_.insert(newest_.end(), newest.begin(), newest.end());
  while (newest_.size() > kNewest) newest_.pop_front();
}

std::vector<std::string> LedgerFile::newest() {
  std::deque<emulator::LedgerRecord> records;
  Names rules;
  {
    const std::lock_guard lock(mutex_);
    records = newest_;
    rules = rules_;
  }
  std::vector<std::string> lines;
  for (const auto& record : records) lines.push_back(ledger_line(record, *rules, clock_offset_ns_));
  return lines;
}

void LedgerFile::write(std::span<const emulator::LedgerRecord> records) {
  keep_newest(records);
  if (file_.failed()) return lost_.add(records.size());
  put_changes();
  const Names rules = names();
  if (format_ == LedgerFormat::binary) {
    block_.insert(block_.end(), records.begin(), records.end());
    if (block_.size() >= kBlock) put_block(rules);
    return;
  }
  for (const auto& record : records) put(ledger_line(record, *rules, clock_offset_ns_) + "\n", 1);
}

Result<void> LedgerFile::close(std::uint64_t skipped) {
  put_changes();
  if (format_ == LedgerFormat::binary) put_block(names());
  flush();
  if (format_ == LedgerFormat::binary) {
    std::string end;
    binary_ledger::put_end(end, records(), skipped);
    put(end, 0);
    flush();
  }
  const std::string failure = file_.failure();
  auto closed = file_.close();
  if (failure.empty() || closed.error().message.empty()) return closed;
  return fail(fmt::format("{}: its first {} records, {} B, are valid, and {} are missing", failure,
                          records(), valid_bytes_, lost() + skipped),
              ExitCode::environment);
}

LedgerThread::LedgerThread(emulator::LedgerSink& sink) : sink_(&sink) {
  for (Link& link : links_) link.ring.resize(kRoom);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void LedgerThread::write(std::span<const emulator::LedgerRecord> records) {
  if (records.empty()) return;
  Link& link = links_[static_cast<std::size_t>(records.front().direction)];
  const std::size_t written = link.written.load(std::memory_order_relaxed);
  const std::size_t room = kRoom - (written - link.taken.load(std::memory_order_acquire));
  const std::size_t count = std::min(room, records.size());
  for (std::size_t i = 0; i < count; ++i) link.ring[(written + i) % kRoom] = records[i];
  link.written.store(written + count, std::memory_order_release);
  if (count < records.size()) link.skipped.add(records.size() - count);
}

std::span<emulator::LedgerRecord> LedgerThread::places(emulator::Direction direction) noexcept {
  Link& link = links_[static_cast<std::size_t>(direction)];
  const std::size_t written = link.written.load(std::memory_order_relaxed);
  const std::size_t room = kRoom - (written - link.taken.load(std::memory_order_acquire));
  const std::size_t start = written % kRoom;
  return std::span(link.ring).subspan(start, std::min(room, kRoom - start));
}

void LedgerThread::commit(emulator::Direction direction, std::size_t count) noexcept {
  std::atomic<std::size_t>& written = links_[static_cast<std::size_t>(direction)].written;
  written.store(written.load(std::memory_order_relaxed) + count, std::memory_order_release);
}

bool LedgerThread::write_some_of(Link& link) {
  const std::size_t taken = link.taken.load(std::memory_order_relaxed);
  const std::size_t waiting = link.written.load(std::memory_order_acquire) - taken;
  if (waiting == 0) return false;
  const std::size_t start = taken % kRoom;
  const std::size_t count = std::min(waiting, kRoom - start);
  sink_->write(std::span(link.ring).subspan(start, count));
  link.taken.store(taken + count, std::memory_order_release);
  return true;
}

bool LedgerThread::write_some() {
  const bool first = write_some_of(links_[0]);
  return write_some_of(links_[1]) || first;
}

void LedgerThread::work(const std::stop_token& stop) {
  // The ring holds the records of a tenth of a second at a million records per second, so a check
  // every 2 ms is enough.
  while (!stop.stop_requested())
    if (!write_some()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  while (write_some()) {
  }
}

void LedgerThread::finish() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

}  // namespace lw::impair
