// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/figure.h"
#include "roce/class_settings.h"
#include "roce/frame.h"

namespace lw::gen {

enum class ClassWay : std::uint8_t { sent, received };
inline constexpr std::array<std::string_view, 2> kClassWayNames = {"sent", "received"};
constexpr std::string_view name_of(ClassWay way) noexcept {
  return kClassWayNames[static_cast<std::size_t>(way)];
}

/// Packets of one kind and class that an endpoint sent or received.
struct ClassCount {
  ClassWay way{};
  roce::ClassKind kind{};
  std::uint8_t dscp = 0, ecn = 0;
  std::optional<std::uint8_t> priority;  // none: without a VLAN tag
  std::uint64_t packets = 0, bytes = 0;  // bytes of payload

  static const FigureTable& figures();
};

/// Counts packets by way, kind, DSCP, ECN and priority. Adding one is two increments.
class ClassCounts {
 public:
  void add(ClassWay way, roce::ClassKind kind, std::uint8_t tos,
           std::optional<std::uint8_t> priority, std::size_t payload) noexcept {
    Cell& cell = cells_[index(way, kind, tos, priority ? *priority + 1u : kNoTag)];
    ++cell.packets;
    cell.bytes += payload;
  }
  /// Adds a frame that was received.
  void add(const roce::Frame& frame) noexcept;
  /// The classes that occurred, in order of way, kind, DSCP, ECN and priority.
  [[nodiscard]] std::vector<ClassCount> counts() const;
  void clear() { cells_.assign(kCells, {}); }

 private:
  struct Cell {
    std::uint64_t packets = 0, bytes = 0;
  };
  static constexpr std::size_t kNoTag = 0, kPriorities = 9, kBytes = 256;
  static constexpr std::size_t kCells = 2 * roce::kClassKinds * kBytes * kPriorities;
  static constexpr std::size_t index(ClassWay way, roce::ClassKind kind, std::uint8_t tos,
                                     std::size_t priority) noexcept {
    const std::size_t row =
        static_cast<std::size_t>(way) * roce::kClassKinds + static_cast<std::size_t>(kind);
    return (row * kBytes + tos) * kPriorities + priority;
  }

  std::vector<Cell> cells_ = std::vector<Cell>(kCells);
};

/// A line for each class: "sent data: 512 packets, 33.55 MB with DSCP 26, ECT(0), priority 3".
std::string class_lines(const std::vector<ClassCount>& counts);

}  // namespace lw::gen
