// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/counter.h"
#include "core/error.h"
#include "core/output.h"
#include "emulator/ledger.h"
#include "impair/record/binary_ledger.h"
#include "impair/record/change_log.h"

namespace lw::impair {

enum class LedgerFormat : std::uint8_t { json_lines, binary };
/// Returns `binary` if the name ends in .lwl, otherwise `json_lines`.
LedgerFormat ledger_format_for(std::string_view path) noexcept;

/// Writes a ledger as JSON Lines, one object per record, or in the compact form (binary_ledger.h);
/// docs/reference/ledger.md describes both. One thread, unless a function says otherwise.
class LedgerFile : public emulator::LedgerSink {
 public:
  /// "-" is standard output. `clock_offset_ns` is added to every time: it converts the emulator's
  /// clock to the clock of capture time stamps. Errors: as OutputFile::open().
  static Result<std::unique_ptr<LedgerFile>> create(const std::string& path, LedgerFormat format,
                                                    RuleNames rules, std::int64_t clock_offset_ns);

  /// Replaces the rule names after a live change. Call it before the first record of a new rule.
  /// Any thread.
  void learn(RuleNames rules);

  /// Adds a change, before the records that write() gets from now on. Until then at most
  /// kMostChangesWaiting wait. Any thread.
  void note(const Change& change);

  void write(std::span<const emulator::LedgerRecord> records) override;
  /// Returns the last kNewest records as ledger_line() formats them, oldest first. Any thread.
  [[nodiscard]] std::vector<std::string> newest();
  static constexpr std::size_t kNewest = 20;
  /// Records in the file, and records lost because a write failed. After the first failed write
  /// nothing more is written, and the file ends with its last whole record. Any thread.
  [[nodiscard]] std::uint64_t records() const noexcept { return records_.get(); }
  [[nodiscard]] std::uint64_t lost() const;
  /// Writes what is left, and closes the file. The error (environment) gives the cause and the part
  /// of the file that is valid. `skipped`: records that were never passed to write().
  Result<void> close(std::uint64_t skipped = 0);

 private:
  LedgerFile(OutputFile file, LedgerFormat format, RuleNames rules, std::int64_t clock_offset_ns);
  using Names = std::shared_ptr<const RuleNames>;
  [[nodiscard]] Names names();
  void keep_newest(std::span<const emulator::LedgerRecord> records);
  void put(std::string_view text, std::size_t records);
  void put_block(const Names& names);
  void put_changes();
  void flush();

  OutputFile file_;
  LedgerFormat format_;
  mutable std::mutex
      mutex_;  // guards what follows up to block_; never held during a write to the disk
  Names rules_;
  // Changes that are not written yet, as change_line() has them; further ones are lost.
  std::vector<std::string> changes_;
  std::uint64_t lost_changes_ = 0;
  static constexpr std::size_t kMostChangesWaiting = 10'000;
  std::deque<emulator::LedgerRecord> newest_;
  // Compact form: records of one block. A large block makes its header negligible.
  static constexpr std::size_t kBlock = 1024;
  Names names_written_;
  std::vector<emulator::LedgerRecord> block_;
  std::int64_t clock_offset_ns_;
  // Whole records that are not written to the file yet.
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 14;
  std::string waiting_;
  std::size_t records_waiting_ = 0;
  std::uint64_t valid_bytes_ = 0;  // valid bytes in the file
  Counter records_, lost_;
};

/// Formats one record as a line of JSON, without a line break.
std::string ledger_line(const emulator::LedgerRecord& record, const RuleNames& rules,
                        std::int64_t clock_offset_ns);

/// Formats a change as a line of JSON, {"change":{...}}, without a line break.
std::string change_line(const Change& change);

/// Writes a ledger outside the data path: records go to a thread through one ring per direction. If
/// the thread can't keep up, records are skipped and counted; the data path never waits.
class LedgerThread : public emulator::LedgerSink {
 public:
  /// Only the thread writes to `sink`, which must outlive this object.
  explicit LedgerThread(emulator::LedgerSink& sink);
  ~LedgerThread() override { finish(); }

  /// Records of one direction. Call these three in the thread of that direction.
  void write(std::span<const emulator::LedgerRecord> records) override;
  std::span<emulator::LedgerRecord> places(emulator::Direction direction) noexcept override;
  void commit(emulator::Direction direction, std::size_t count) noexcept override;
  /// Waits until all records that are not skipped are written. No write() may follow.
  void finish();
  [[nodiscard]] std::uint64_t skipped() const noexcept {
    return links_[0].skipped.get() + links_[1].skipped.get();
  }

 private:
  static constexpr std::size_t kRoom = std::size_t{1} << 17;
  struct Link {
    std::vector<emulator::LedgerRecord> ring;
    // Counters that are never reset; their remainder is the position in the ring.
    alignas(64) std::atomic<std::size_t> written{0};
    alignas(64) std::atomic<std::size_t> taken{0};
    Counter skipped;
  };

  void work(const std::stop_token& stop);
  bool write_some();
  bool write_some_of(Link& link);

  emulator::LedgerSink* sink_;
  std::array<Link, 2> links_;
  std::jthread thread_;
};

}  // namespace lw::impair
