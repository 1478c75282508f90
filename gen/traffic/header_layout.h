// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "gen/traffic/patch_tables.h"
#include "roce/compose.h"
#include "wire/view.h"

namespace lw::gen {

/// A field that moves from frame to frame: where it stands, in bytes from the payload's start, and
/// what its value does to the ICRC. Without tables the frame has no such field.
struct PatchedField {
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
struct HeaderLayout {
  /// 32-bit words in which a QP's start may differ from its shape's.
  static constexpr std::size_t kMostOwn = 6;

  // What every frame needs stands first.
  std::uint32_t id = 0;          // of the start's bytes but for the moving and own ones; not 0
  std::uint32_t payload_id = 0;  // the same wherever `rest`, its place and pad are the same; not 0
  bool has_icrc = true;
  bool moves_rare = false;     // there is a length, MSN or immediate
  std::uint8_t reserved7 = 0;  // the bits beside AckReq
  std::uint8_t own_words = 0;
  std::uint16_t headers = 0, icrc_at = 0;  // bytes before the payload, and from it to the ICRC
  // Where, in bytes from the payload's start; those behind own_words repeat the first.
  std::array<std::int16_t, kMostOwn> own{};
  PatchedField acknowledge;  // AckReq and PSN, one field of four bytes
  PatchedField va, length, msn, immediate, sequence, send_time;
  roce::FrameLayout layout;
  std::size_t payload_length = 0;

  FrameStart start;  // of the QP that came first; its moving fields are 0
  wire::Bytes rest;  // the payload behind `start`
};

/// What a buffer still holds of the last frame that was made in it. Nothing at first, and again
/// whenever somebody else has written there.
struct BufferTag {
  std::uint32_t shape = 0, payload = 0;  // HeaderLayout's ids; 0: nothing known
};

/// Writes the payload behind the frame's start, and its pad.
void write_rest(const HeaderLayout& shape, std::byte* payload) noexcept;

/// Writes what of a shape's frame doesn't move and isn't the QP's own, unless `held` says that the
/// buffer has it already. Bytes around the frame are spoilt.
void lay_out(const HeaderLayout& shape, std::byte* payload, BufferTag& held) noexcept;

/// The shapes and patch tables of a run. References stay valid as long as this lives. Not thread
/// safe while it grows.
class LayoutCache {
 public:
  [[nodiscard]] PatchTables& tables() noexcept { return tables_; }

  /// The shape to use for a frame that would have this one if it were alone. Its own words are
  /// those in which any of its frames so far differs from its start. `fields` are those that the
  /// frame was composed from.
  const HeaderLayout& get(const roce::FrameFields& fields, HeaderLayout wanted);

 private:
  // Opcode, encapsulation, layout, payload: what decides all but the start's bytes.
  using Key = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t, std::size_t, std::size_t,
                         std::size_t, std::size_t, const void*, const void*>;
  std::uint32_t payload_id_of(const HeaderLayout& shape);

  PatchTables tables_;
  std::map<Key, std::vector<std::unique_ptr<HeaderLayout>>> shapes_;
  std::map<std::pair<const void*, std::size_t>, std::uint32_t> payload_ids_;
};

}  // namespace lw::gen
