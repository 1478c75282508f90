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

namespace lw::impair {

enum class LedgerFormat : std::uint8_t { json_lines, binary };
/// Binary for a name that ends in .lwl, else JSON Lines.
LedgerFormat ledger_format_for(std::string_view path) noexcept;

/// A ledger as JSON Lines, one object a frame, or in the compact form (binary_ledger.h);
/// docs/reference/ledger.md has both. One thread, but for learn().
class LedgerFile : public emulator::LedgerSink {
 public:
  /// "-" is standard output. `clock_offset_ns` is added to every time: what turns the engine's
  /// clock into the one that stamps captures. Errors: OutputFile::open()'s.
  static Result<std::unique_ptr<LedgerFile>> create(const std::string& path, LedgerFormat format,
                                                    RuleNames rules, std::int64_t clock_offset_ns);

  /// Rules that a change of configuration brought, before their first record. Any thread.
  void learn(RuleNames rules);

  void write(std::span<const emulator::LedgerRecord> records) override;
  /// The newest records, the oldest first, as ledger_line() writes them. Any thread.
  [[nodiscard]] std::vector<std::string> newest();
  static constexpr std::size_t kNewest = 20;
  /// Records in the file, and records that the file could not take: after the first failed write
  /// nothing more is written, and the file ends with its last whole record. Any thread.
  [[nodiscard]] std::uint64_t records() const noexcept { return records_.get(); }
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.get(); }
  /// Everything is in the file, or why not (environment) and how much of it is. `skipped`: records
  /// that never came here.
  Result<void> close(std::uint64_t skipped = 0);

 private:
  LedgerFile(OutputFile file, LedgerFormat format, RuleNames rules, std::int64_t clock_offset_ns);
  using Names = std::shared_ptr<const RuleNames>;
  [[nodiscard]] Names names();
  void keep_newest(std::span<const emulator::LedgerRecord> records);
  void put(std::string_view text, std::size_t records);
  void put_block(const Names& names);
  void flush();

  OutputFile file_;
  LedgerFormat format_;
  std::mutex mutex_;  // guards the next two; never held while the disk is waited for
  Names rules_;
  std::deque<emulator::LedgerRecord> newest_;
  // Of the compact form: a block is worth its head.
  static constexpr std::size_t kBlock = 1024;
  Names names_written_;
  std::vector<emulator::LedgerRecord> block_;
  std::int64_t clock_offset_ns_;
  // Whole records on their way to the file.
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 14;
  std::string waiting_;
  std::size_t records_waiting_ = 0;
  std::uint64_t valid_bytes_ = 0;  // of the file
  Counter records_, lost_;
};

/// One record as one line, without its line break.
std::string ledger_line(const emulator::LedgerRecord& record, const RuleNames& rules,
                        std::int64_t clock_offset_ns);

/// Takes a ledger's writing off the data path: records go through a ring a direction to a thread of
/// their own. When that can't keep up, records are skipped and counted; the data path never waits.
class LedgerThread : public emulator::LedgerSink {
 public:
  /// `sink` is written to by the thread alone, and must outlive it.
  explicit LedgerThread(emulator::LedgerSink& sink);
  ~LedgerThread() override { finish(); }

  /// Records of one direction, in whose thread this is called.
  void write(std::span<const emulator::LedgerRecord> records) override;
  /// Waits until everything that was taken is written. Nothing may be written afterwards.
  void finish();
  [[nodiscard]] std::uint64_t skipped() const noexcept {
    return lanes_[0].skipped.get() + lanes_[1].skipped.get();
  }

 private:
  static constexpr std::size_t kRoom = std::size_t{1} << 17;
  struct Link {
    std::vector<emulator::LedgerRecord> ring;
    // Run freely; masked on use.
    alignas(64) std::atomic<std::size_t> written{0};
    alignas(64) std::atomic<std::size_t> taken{0};
    Counter skipped;
  };

  void work(const std::stop_token& stop);
  bool write_some();
  bool write_some_of(Link& link);

  emulator::LedgerSink* sink_;
  std::array<Link, 2> lanes_;
  std::jthread thread_;
};

}  // namespace lw::impair
