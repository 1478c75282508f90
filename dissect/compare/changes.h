// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "dissect/matching/comparison.h"

namespace lw::dissect {

/// A header field with different values where frames were sent and where they arrived. A value is
/// empty if the frame has no such field.
struct FieldChange {
  std::string field, sent, received;
  std::uint64_t frames = 0;
};

/// The changes of one frame.
struct FrameChange {
  ChangedFrame frame = {};
  std::vector<FieldChange> fields = {};   // headers and ICRC; `frames` is 1
  std::vector<std::size_t> payload = {};  // offsets of changed bytes in the payload
  std::uint64_t payload_bytes = 0;  // number of changed bytes; `payload` has at most kMostOffsets
};
inline constexpr std::size_t kMostOffsets = 64;

/// The changes of one direction.
struct Changes {
  // fields that the ICRC doesn't cover, and addresses and ports that `frames` have alike; most
  // frequent first
  std::vector<FieldChange> rewritten = {};
  std::vector<FrameChange> frames = {};  // the first changed frames
  bool examined = true;                  // false: standard input can't be read again
};

/// Returns the fields that differ between two header forms, for each pair of forms that occurred.
std::vector<FieldChange> rewritten_fields(const DirectionResult& result, const HeaderForms& forms);

/// Reads both files again and compares the bytes of the changed frames in `result`. Holds at most
/// kMostChanged frames. Arguments as of read_point(). Errors: a file can't be opened.
Result<Changes> find_changes(const DirectionResult& result, const HeaderForms& forms,
                             const std::string& sender, const std::string& receiver,
                             const std::string& filter, const FrameReading& reading = {});

}  // namespace lw::dissect
