// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "gen/frames/patch_tables.h"
#include "roce/compose.h"
#include "wire/view.h"

namespace lw::gen {

/// A field that moves from frame to frame: where it stands, in bytes from the payload's start, and
/// what its value does to the ICRC. Without tables the frame has no such field.
struct MovingField {
  const wire::IcrcFieldPatch* patch = nullptr;
  std::int32_t offset = 0;
};

/// A frame's first bytes, all headers and the payload's beginning (where a signature may stand),
/// laid out so that the payload starts at the same place whatever stands before it: one copy of a
/// fixed size writes them.
struct FrameStart {
  static constexpr std::size_t kHeaders = 128;  // RD over two tags and IPv6 has 122
  static constexpr std::size_t kPayload = 32;
  alignas(64) std::array<std::byte, kHeaders + kPayload> bytes{};

  [[nodiscard]] std::byte* payload() noexcept { return bytes.data() + kHeaders; }
  friend bool operator==(const FrameStart&, const FrameStart&) = default;
};

/// What frames of many QPs have in common: layout, payload, where their moving fields stand. One
/// shape of a quarter KiB serves a whole range, so ten thousand QPs fit the cache.
struct FrameShape {
  FrameStart start;  // of the QP that came first; its moving fields are 0
  roce::FrameLayout layout;
  std::size_t payload_length = 0;
  wire::Bytes rest;              // the payload behind `start`
  std::uint32_t payload_id = 0;  // the same wherever `rest`, its place and pad are the same; not 0
  bool has_icrc = true;
  std::uint8_t reserved7 = 0;  // the bits beside AckReq
  MovingField acknowledge;     // AckReq and PSN, one field of four bytes
  MovingField va, length, msn, immediate, sequence, send_time;
};

/// The shapes and patch tables of a run. References stay valid as long as this lives. Not thread
/// safe while it grows.
class FrameShapes {
 public:
  /// 32-bit words in which a QP's start may differ from its shape's.
  static constexpr std::size_t kMostOwn = 6;

  [[nodiscard]] PatchTables& tables() noexcept { return tables_; }

  /// The shape to use for a frame that would have this one if it were alone. `fields` are those
  /// that the frame was composed from.
  const FrameShape& get(const roce::FrameFields& fields, FrameShape wanted);

  /// A number that no template or payload of this process had before; not 0.
  static std::uint32_t new_id() noexcept;

 private:
  // Opcode, encapsulation, layout, payload: what decides all but the start's bytes.
  using Key = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t, std::size_t, std::size_t,
                         std::size_t, std::size_t, const void*, const void*>;
  std::uint32_t payload_id_of(const FrameShape& shape);

  PatchTables tables_;
  std::map<Key, std::vector<std::unique_ptr<const FrameShape>>> shapes_;
  std::map<std::pair<const void*, std::size_t>, std::uint32_t> payload_ids_;
};

/// 32-bit words in which two starts differ.
std::size_t different_words(const FrameStart& a, const FrameStart& b) noexcept;

}  // namespace lw::gen
