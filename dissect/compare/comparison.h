// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "dissect/fields/frame_source.h"
#include "dissect/fields/recent_map.h"

namespace lw::dissect {

/// Identity of a frame anywhere on its path: a 128-bit hash of encapsulation, addresses,
/// destination QP, PSN, opcode, length and ICRC. All bytes that an ICRC covers count; fields that a
/// router may change (TTL, ECN, VLAN, MAC) don't.
using Identity = std::array<std::uint64_t, 2>;

/// Nothing for frames that aren't RoCE, fragments, and frames whose ICRC wasn't captured.
std::optional<Identity> identity_of(const roce::Envelope& envelope) noexcept;

/// A RoCE frame seen at a capture point.
struct CaptureRecord {
  Identity identity;
  std::int64_t stamp_ns;
  std::uint32_t order;  // index among the point's records
  std::uint32_t flow;   // index into FlowNames
  bool bad_icrc;
};

/// Numbers ordered address pairs from 0; shared by both capture points. Of more pairs than `most`
/// the least recently seen are forgotten.
class FlowNames {
 public:
  explicit FlowNames(std::size_t most = kMostFlows) : indices_(most) {}

  std::uint32_t index_of(const std::string& source, const std::string& destination);
  /// Whether the flow of each number was forgotten.
  [[nodiscard]] const std::vector<bool>& forgotten() const noexcept { return forgotten_; }

 private:
  struct Index {
    std::uint32_t value = 0;
  };
  RecentMap<std::pair<std::string, std::string>, Index> indices_;
  std::vector<bool> forgotten_;
};

/// The RoCE frames of a capture.
struct CapturePoint {
  std::string file;
  std::uint64_t frames = 0, roce = 0;
  std::uint64_t unidentified = 0;  // RoCE frames without an identity: cut, or fragments
  std::vector<CaptureRecord> records;
  std::optional<Error> damage;  // why reading stopped before the end of the file
};

/// Reads a whole capture, or the interfaces of it that `place` names (see place_of()). An error
/// means that it couldn't be opened, or lacks such an interface.
Result<CapturePoint> read_point(const std::string& place, const std::string& filter,
                                FlowNames& flows);

/// A share of trials and its 95 % confidence interval.
struct Proportion {
  double value = 0, low = 0, high = 1;
};

/// Wilson's score interval; also valid for few trials and for shares near 0. (E. B. Wilson 1927)
Proportion wilson95(std::uint64_t hits, std::uint64_t trials) noexcept;

/// One-way delays in ns, exact: the rounding of a histogram, 0.05 %, is a microsecond at 1.9 ms,
/// more than the errors of interest. 8 bytes a frame.
class Delays {
 public:
  void add(std::int64_t ns) { sorted_.push_back(ns); }
  void sort();

  [[nodiscard]] std::size_t count() const noexcept { return sorted_.size(); }
  [[nodiscard]] double mean() const noexcept;
  /// The smallest delay with at least `q` of all at or below it, q in [0, 1]: 0 is the shortest, 1
  /// the longest. Only after sort(), and where there are any.
  [[nodiscard]] std::int64_t quantile(double q) const noexcept;

 private:
  std::vector<std::int64_t> sorted_;
};

/// Result for the frames of one direction.
struct DirectionResult {
  std::uint64_t sent = 0, received = 0;
  std::uint64_t lost = 0;        // seen at the sender's point only
  std::uint64_t invented = 0;    // seen at the receiver's point only
  std::uint64_t damaged = 0;     // part of invented: with a bad ICRC, so changed on the way
  std::uint64_t duplicated = 0;  // further copies of a frame that was sent once
  std::uint64_t reordered = 0;   // arrived after a frame that was sent later (RFC 4737, 3.3)
  std::uint64_t ambiguous = 0;  // matched, but with equal frames that were lost or copied: no delay
  Delays delays;                // of all other matched frames

  [[nodiscard]] bool seen() const noexcept { return sent + received > 0; }
  [[nodiscard]] Proportion loss() const noexcept { return wilson95(lost, sent); }
};

struct Comparison {
  DirectionResult near_to_far, far_to_near;
  std::uint64_t forgotten_flows = 0;
};

enum class Senders : std::uint8_t { both, near };  // at which end frames come from

/// Matches the frames of two points of a path: of equal frames, the k-th here is the k-th there. A
/// flow (ordered pair of addresses) goes from the point that saw most of its frames first, or with
/// Senders::near from there. The clocks must agree to better than the path's delay. Frames of
/// forgotten flows are judged one by one: what was seen at one point only was sent there.
Comparison compare_points(const CapturePoint& near, const CapturePoint& far, const FlowNames& flows,
                          Senders senders = Senders::both);

}  // namespace lw::dissect
