// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dissect/compare/ledger_reader.h"
#include "dissect/matching/comparison.h"

namespace lw::dissect {

/// The entries of a ledger by direction (emulator::Direction), and the names of its rules.
struct LedgerEntries {
  std::vector<LedgerEntry> entries[2];
  std::vector<std::string> rules;
};

/// Reads a ledger as JSON Lines; "-" is standard input. Errors name the line. Usage errors: the
/// file can't be read, or is a compact ledger (with the command that converts it).
Result<LedgerEntries> read_ledger(const std::string& path);

/// How the frames of one direction and the ledger explain each other.
struct LedgerFindings {
  std::uint64_t differences = 0;  // lost, copied, invented, changed, marked, reordered frames
  std::uint64_t records = 0;      // of RoCE frames
  std::uint64_t others = 0;       // records of other frames: not judged
  /// Counts of unexplained differences and records; the first kMostUnexplained have a text.
  std::uint64_t differences_unexplained = 0, records_unexplained = 0;
  std::vector<std::string> difference_texts, record_texts;
};
inline constexpr std::size_t kMostUnexplained = 1000;

/// Explains each difference of one direction by a record, and each record by a difference.
///
/// A record belongs to the sent frame of its destination QP, PSN and opcode that was sent nearest
/// to its time; a constant difference between the two clocks doesn't matter. As many frames must
/// have arrived as the records say. A frame with changed bits, a CE mark or a late arrival needs a
/// record of a stage that does that, and such a record needs such a frame. If the ledger and the
/// captures have one clock, frames must have arrived when the records say, to a microsecond. A
/// changed frame may have arrived as something else.
LedgerFindings check_ledger(const LedgerEntries& ledger, std::size_t direction, Records near,
                            Records far, const FlowNames& flows, const Matching& matching,
                            bool goes_far);

}  // namespace lw::dissect
