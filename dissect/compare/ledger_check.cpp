// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/ledger_check.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "capture/record.h"
#include "core/output.h"
#include "roce/describe.h"

namespace lw::dissect {
namespace {

constexpr std::int64_t kToleranceNs = 1000;
constexpr std::uint32_t kNone = 0xffffffff;

std::uint64_t key_of(std::uint32_t dest_qp, std::uint32_t psn, std::uint8_t opcode) {
  return std::uint64_t{dest_qp} << 32 | std::uint64_t{psn} << 8 | opcode;
}
std::uint64_t key_of(const LedgerEntry& e) { return key_of(e.dest_qp, e.psn, e.opcode); }

/// A sent frame, its arrivals, and its ledger entries.
struct SentFrame {
  std::uint32_t received = kNone;  // order of its match
  bool changed = false;
  bool late = false;                   // arrived after a frame that was sent later
  std::uint32_t overtaken_by = kNone;  // that frame
  std::vector<std::uint32_t> copies;   // orders
  std::vector<const LedgerEntry*> entries;

  [[nodiscard]] std::size_t arrived() const {
    return (received == kNone ? 0U : 1U) + copies.size();
  }
  /// Number of frames that went out according to the ledger; a frame without its own entry did.
  [[nodiscard]] std::size_t went_out() const {
    std::size_t count = 1;
    for (const LedgerEntry* e : entries) {
      if (e->copy == 0) count -= e->out ? 0 : 1;
      if (e->copy > 0) count += e->out ? 1 : 0;
    }
    return count;
  }
  template <class Of>
  [[nodiscard]] bool any(Of of) const {
    return std::ranges::any_of(entries, of,
                               [](const LedgerEntry* e) -> const LedgerEntry& { return *e; });
  }
  [[nodiscard]] bool corrupted() const { return any(&LedgerEntry::corrupts); }
  [[nodiscard]] bool moved() const { return any(&LedgerEntry::moves); }
};

class LedgerCheck {
 public:
  LedgerCheck(const LedgerEntries& ledger, std::size_t direction, Records near, Records far,
              const FlowNames& flows, const Matching& matching, bool goes_far)
      : entries_(ledger.entries[direction]),
        rules_(ledger.rules),
        sent_(goes_far ? near : far),
        received_(goes_far ? far : near),
        flows_(flows),
        matching_(matching),
        goes_far_(goes_far),
        frames_(sent_.size()) {}

  LedgerFindings run() {
    place_matches();
    place_copies();
    find_late();
    place_entries();
    for (std::uint32_t order = 0; order < frames_.size(); ++order)
      if (known_[order]) check_frame(order);
    for (const Unmatched& frame : matching_.unmatched)
      if (frame.goes_far == goes_far_ && frame.at_receiver() && !frame.copy)
        difference_of(received_[frame.order], "invented", false);
    return std::move(findings_);
  }

 private:
  void place_matches() {
    known_.assign(frames_.size(), false);
    for (const Match& m : matching_.matches) {
      if (m.goes_far != goes_far_) continue;
      SentFrame& frame = frames_[goes_far_ ? m.near : m.far];
      frame.received = goes_far_ ? m.far : m.near;
      frame.changed = m.changed;
      known_[goes_far_ ? m.near : m.far] = true;
    }
    for (const Unmatched& frame : matching_.unmatched)
      if (frame.goes_far == goes_far_ && !frame.at_receiver()) known_[frame.order] = true;
  }

  /// A copy belongs to the frame whose match is equal to it; if there are several, to the nearest
  /// in time.
  void place_copies() {
    std::map<Identity, std::vector<std::uint32_t>> originals;  // sent orders
    for (const Unmatched& frame : matching_.unmatched)
      if (frame.copy && frame.goes_far == goes_far_)
        originals[received_.identity(frame.order)] = {};
    if (originals.empty()) return;
    for (std::uint32_t order = 0; order < frames_.size(); ++order) {
      if (frames_[order].received == kNone) continue;
      const auto at = originals.find(received_.identity(frames_[order].received));
      if (at != originals.end()) at->second.push_back(order);
    }
    for (const Unmatched& frame : matching_.unmatched) {
      if (!frame.copy || frame.goes_far != goes_far_) continue;
      const CaptureRecord copy = received_[frame.order];
      const auto& candidates = originals[copy.identity];
      const auto nearest = std::ranges::min_element(candidates, {}, [&](std::uint32_t order) {
        return std::abs(
            stamp_difference(received_[frames_[order].received].stamp_ns, copy.stamp_ns));
      });
      if (nearest != candidates.end()) frames_[*nearest].copies.push_back(frame.order);
    }
  }

  void find_late() {
    std::vector<std::uint32_t> arrivals;  // sent orders
    for (std::uint32_t order = 0; order < frames_.size(); ++order)
      if (frames_[order].received != kNone) arrivals.push_back(order);
    std::ranges::sort(arrivals, {}, [&](std::uint32_t order) { return frames_[order].received; });
    std::map<std::uint32_t, std::uint32_t> latest;  // sent order, by flow
    for (const std::uint32_t order : arrivals) {
      const auto [at, first] = latest.try_emplace(sent_[order].flow, order);
      frames_[order].late = order < at->second;
      if (frames_[order].late) frames_[order].overtaken_by = at->second;
      at->second = std::max(at->second, order);
    }
  }

  /// The captures' stamps minus the ledger's: the median over frames with one record.
  std::int64_t clock_difference(const std::vector<std::uint32_t>& by_key) const {
    std::vector<std::int64_t> differences;
    for (const LedgerEntry& entry : entries_) {
      if (!entry.roce) continue;
      const auto [begin, end] = range_of(by_key, key_of(entry));
      if (end - begin == 1)
        differences.push_back(stamp_difference(sent_[*begin].stamp_ns, to_ns(entry.in)));
    }
    if (differences.empty()) return 0;
    const auto middle = differences.begin() + static_cast<long>(differences.size() / 2);
    std::ranges::nth_element(differences, middle);
    return *middle;
  }

  [[nodiscard]] std::uint64_t key_of_sent(std::uint32_t order) const {
    const CaptureRecord sent = sent_[order];
    return key_of(flows_.dest_qp(sent.flow), sent.psn, sent.opcode);
  }
  using Place = std::vector<std::uint32_t>::const_iterator;
  std::pair<Place, Place> range_of(const std::vector<std::uint32_t>& by_key,
                                   std::uint64_t key) const {
    const auto range = std::ranges::equal_range(
        by_key, key, {}, [&](std::uint32_t order) { return key_of_sent(order); });
    return {range.begin(), range.end()};
  }

  void place_entries() {
    std::vector<std::uint32_t> by_key;
    for (std::uint32_t order = 0; order < frames_.size(); ++order)
      if (known_[order]) by_key.push_back(order);
    std::ranges::sort(by_key, {},
                      [&](std::uint32_t order) { return std::tuple(key_of_sent(order), order); });
    const std::int64_t clocks = clock_difference(by_key);
    same_clock_ = std::abs(clocks) <= kToleranceNs;
    for (const LedgerEntry& entry : entries_) {
      if (!entry.roce) {
        ++findings_.others;
        continue;
      }
      ++findings_.records;
      const auto [begin, end] = range_of(by_key, key_of(entry));
      const auto nearest = std::min_element(begin, end, [&](std::uint32_t a, std::uint32_t b) {
        return distance(a, entry, clocks) < distance(b, entry, clocks);
      });
      if (nearest == end) {
        record_unexplained(entry, "no such frame was sent");
      } else {
        frames_[*nearest].entries.push_back(&entry);
      }
    }
  }
  std::int64_t distance(std::uint32_t order, const LedgerEntry& entry, std::int64_t clocks) const {
    return std::abs(
        stamp_difference(stamp_difference(sent_[order].stamp_ns, to_ns(entry.in)), clocks));
  }

  void check_frame(std::uint32_t order) {
    const SentFrame& frame = frames_[order];
    const bool same_number = frame.arrived() == frame.went_out();
    // A damaged frame may have arrived as something else.
    const bool vanished = frame.arrived() < frame.went_out() && frame.corrupted();
    const CaptureRecord sent = sent_[order];
    if (frame.arrived() == 0) difference_of(sent, "lost", same_number || vanished);
    for (std::size_t i = 1; i < frame.arrived(); ++i)
      difference_of(sent, "copied", same_number || vanished);
    if (frame.received != kNone) {
      if (frame.changed) difference_of(sent, "changed", frame.corrupted());
      const bool marked = received_[frame.received].ce && !sent.ce;
      if (marked)
        difference_of(sent, "marked CE", frame.any(&LedgerEntry::marks) || frame.corrupted());
      if (frame.late)
        difference_of(sent, "late",
                      frame.moved() || frame.corrupted() || frames_[frame.overtaken_by].moved());
    }
    for (const LedgerEntry* entry : frame.entries)
      check_entry(*entry, frame, same_number || vanished);
  }

  void check_entry(const LedgerEntry& entry, const SentFrame& frame, bool number_fits) {
    if (!number_fits)
      return record_unexplained(
          entry, fmt::format("{} arrived, {} by the ledger", frame.arrived(), frame.went_out()));
    if (!entry.out || frame.arrived() == 0) return;
    using emulator::Stage;
    if (entry.stages.has(Stage::corrupt) && !frame.changed)
      return record_unexplained(entry, "it arrived unchanged");
    if (entry.stages.has(Stage::mark) && !arrived_with_ce(frame) && !frame.changed)
      return record_unexplained(entry, "it arrived without CE");
    if (same_clock_ && !arrived_at(frame, to_ns(*entry.out)))
      return record_unexplained(entry, "it arrived at another time");
  }
  bool arrived_with_ce(const SentFrame& frame) const {
    const auto is_ce = [&](std::uint32_t order) { return received_[order].ce; };
    return (frame.received != kNone && is_ce(frame.received)) ||
           std::ranges::any_of(frame.copies, is_ce);
  }
  bool arrived_at(const SentFrame& frame, std::int64_t stamp_ns) const {
    const auto fits = [&](std::uint32_t order) {
      return std::abs(stamp_difference(received_[order].stamp_ns, stamp_ns)) <= kToleranceNs;
    };
    return (frame.received != kNone && fits(frame.received)) ||
           std::ranges::any_of(frame.copies, fits);
  }

  void difference_of(const CaptureRecord& frame, std::string_view what, bool explained) {
    ++findings_.differences;
    if (explained || ++findings_.differences_unexplained > kMostUnexplained) return;
    findings_.difference_texts.push_back(fmt::format("{} frame {}: {} qp {:#08x} psn {}", what,
                                                     frame.number, roce::opcode_text(frame.opcode),
                                                     flows_.dest_qp(frame.flow), frame.psn));
  }
  void record_unexplained(const LedgerEntry& entry, std::string_view why) {
    if (++findings_.records_unexplained > kMostUnexplained) return;
    findings_.record_texts.push_back(
        fmt::format("frame {}{}, {}{}: {} qp {:#08x} psn {}: {}", entry.frame,
                    entry.copy > 0 ? fmt::format(" copy {}", entry.copy) : "", entry.action,
                    entry.rule > 0 ? fmt::format(" by rule {}", rules_[entry.rule]) : "",
                    roce::opcode_text(entry.opcode), entry.dest_qp, entry.psn, why));
  }

  const std::vector<LedgerEntry>& entries_;
  const std::vector<std::string>& rules_;
  Records sent_, received_;
  const FlowNames& flows_;
  const Matching& matching_;
  bool goes_far_;
  bool same_clock_ = false;
  std::vector<SentFrame> frames_;  // by order at the sender's point
  std::vector<bool> known_;        // whether the frame was sent in this direction
  LedgerFindings findings_;
};

}  // namespace

Result<LedgerEntries> read_ledger(const std::string& path) {
  note_input(path);
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  // A folder opens, but has nothing to be read.
  if (!in || (in.peek(), in.bad()))
    return fail(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  in.clear();
  LedgerEntries ledger;
  LedgerReader reader;
  std::string line;
  for (std::uint64_t number = 1; std::getline(in, line); ++number) {
    if (number == 1 && line.starts_with("LWLEDGER"))
      return fail(
          fmt::format("{0}: expected a ledger as JSON Lines, found a compact one: use "
                      "roce-impair ledger {0} | roce-dissect compare ... --ledger -",
                      path));
    const auto entry = reader.read(line);
    if (!entry) return fail(fmt::format("{}:{}: {}", path, number, entry.error()));
    if (*entry) ledger.entries[static_cast<std::size_t>((*entry)->direction)].push_back(**entry);
  }
  ledger.rules = reader.rules();
  return ledger;
}

LedgerFindings check_ledger(const LedgerEntries& ledger, std::size_t direction, Records near,
                            Records far, const FlowNames& flows, const Matching& matching,
                            bool goes_far) {
  return LedgerCheck(ledger, direction, near, far, flows, matching, goes_far).run();
}

}  // namespace lw::dissect
