// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/error.h"
#include "path/ledger.h"

namespace lw::impair {

/// The names of each direction's rules; a record's rule indexes them.
using RuleNames = std::array<std::vector<std::string>, 2>;

/// A ledger as JSON Lines: one object a frame; impair/README.md lists its keys. One thread, but for
/// learn().
class LedgerFile : public path::LedgerSink {
 public:
  /// "-" is standard output. `clock_offset_ns` is added to every time: what turns the engine's
  /// clock into the one that stamps captures. Errors: environment.
  static Result<std::unique_ptr<LedgerFile>> create(const std::string& path, RuleNames rules,
                                                    std::int64_t clock_offset_ns);

  /// Rules that a change of configuration brought, before their first record. Any thread.
  void learn(RuleNames rules);

  void write(std::span<const path::LedgerRecord> records) override;
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  /// Everything is in the file, or why not (environment).
  Result<void> close();

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept {
      if (file != stdout) std::fclose(file);
    }
  };
  LedgerFile(std::string path, std::FILE* file, RuleNames rules, std::int64_t clock_offset_ns);

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::mutex names_;  // guards the next
  RuleNames rules_;
  std::int64_t clock_offset_ns_;
  std::uint64_t records_ = 0;
  bool failed_ = false;
};

/// One record as one line, without its line break.
std::string ledger_line(const path::LedgerRecord& record, const RuleNames& rules,
                        std::int64_t clock_offset_ns);

}  // namespace lw::impair
