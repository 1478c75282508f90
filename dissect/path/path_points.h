// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dissect/matching/comparison.h"

namespace lw::dissect {

/// Opens the captures. A path reads them several times.
using OpenCaptures = std::function<Result<FrameSource>()>;

/// The points that saw the frames of one path, in its order, and the frames that each two
/// neighbours have in common. The first point is the near one, the last the far one.
struct PathPoints {
  static constexpr std::size_t kMostPoints = 16;

  std::vector<std::uint32_t> numbers = {};  // of each, among the capture points
  std::vector<std::string> names = {};      // of each
  std::vector<CapturePoint> points = {};    // their frames
  std::vector<Comparison> segments = {};    // between points i and i + 1: one less than points
  IdentityRule rule = {};                   // by which frames were recognised
  std::vector<roce::FlowKey> flows = {};    // by number of CaptureRecord::flow

  [[nodiscard]] std::size_t size() const noexcept { return points.size(); }
  /// "near > far", or "far > near".
  [[nodiscard]] std::string segment_name(std::size_t segment, bool goes_far) const;
};

/// Reads the frames of these capture points, which `decided` knows, and matches those of
/// neighbours. The order is that of `numbers`, unless the TTLs of the frames show another one.
/// Errors: those of `open`; damage of a file is no error.
Result<PathPoints> read_path(const OpenCaptures& open, const CapturePoints& decided,
                             std::vector<std::uint32_t> numbers);

}  // namespace lw::dissect
