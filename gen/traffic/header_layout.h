// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "roce/compose.h"
#include "wire/icrc_patch.h"
#include "wire/psn.h"
#include "wire/view.h"

namespace lw::gen {

/// Values of the fields that differ between frames of one template. Fields that the template's
/// opcode doesn't have are ignored.
struct VariableFields {
  wire::Psn psn;
  bool ack_req = false;
  std::uint64_t va = 0;                          // RETH or AtomicETH
  std::uint32_t msn = 0;                         // AETH
  std::uint32_t immediate = 0;                   // ImmDt
  std::uint64_t sequence = 0, send_time_ns = 0;  // signature
  std::uint32_t dma_length = 0;                  // RETH, where message sizes vary
  std::uint32_t payload = 0;                     // bytes, where the payload length varies
};

/// Position of a variable field and the ICRC patch table for its position. A null `patch` means
/// that the frame has no such field.
struct PatchedField {
  const wire::IcrcFieldPatch* patch = nullptr;
  std::int32_t offset = 0;  // bytes from the payload's start
};

/// The part of a frame that many QPs share: layout, payload, positions of the variable fields. One
/// layout of a quarter KiB serves a whole range of QPs, so that 10,000 QPs fit the cache.
struct HeaderLayout {
  /// Most 32-bit words in which the first bytes of a QP's frames may differ from `prefix`.
  static constexpr std::size_t kMaxOwnWords = 6;
  /// The payload starts at this offset in `prefix`, whatever the header size. (The longest headers,
  /// RD over two VLAN tags and IPv6, have 122 bytes.)
  static constexpr std::size_t kPrefixHeaders = 128;
  /// Bytes of the payload in `prefix`: room for a signature.
  static constexpr std::size_t kPrefixPayload = 32;
  using Prefix = std::array<std::byte, kPrefixHeaders + kPrefixPayload>;

  // The fields that every frame needs are first.
  std::uint32_t id = 0;          // identifies the prefix without variable and own words; not 0
  std::uint32_t payload_id = 0;  // identifies `rest`, its position and pad; not 0
  bool has_icrc = true;
  bool has_rare_fields = false;  // a DMA length, MSN or immediate
  std::uint8_t reserved7 = 0;    // the bits beside AckReq
  std::uint8_t own_words = 0;
  std::uint16_t headers = 0, icrc_at = 0;  // bytes before the payload; from the payload to the ICRC
  // Offsets from the payload's start; entries from own_words on repeat the first.
  std::array<std::int16_t, kMaxOwnWords> own{};
  PatchedField ack_psn;  // AckReq and PSN as one field of four bytes
  PatchedField va, length, msn, immediate, sequence, send_time;
  roce::FrameLayout layout;
  std::size_t payload_length = 0;

  // First bytes of the first QP's frame, variable fields 0: headers and the payload's start, so
  // that one copy of constant size writes them.
  alignas(64) Prefix prefix{};
  wire::Bytes rest;  // the payload after `prefix`
};

/// Buffer cache tag: which constant bytes a send buffer holds since the last frame that was encoded
/// in it. Reset it whenever anything else writes to the buffer.
struct BufferTag {
  std::uint32_t layout = 0, payload = 0;  // ids of the HeaderLayout; 0: unknown
};

/// Writes the payload after the prefix, and its pad.
void write_rest(const HeaderLayout& layout, std::byte* payload) noexcept;

/// Writes the bytes that all frames of a layout share, unless `tag` says that the buffer holds
/// them. Overwrites bytes before and after the frame.
void write_layout(const HeaderLayout& layout, std::byte* payload, BufferTag& tag) noexcept;

/// The layouts and ICRC patch tables of a run. References stay valid for the cache's lifetime. Not
/// thread-safe while it grows.
class LayoutCache {
 public:
  /// Patch table for a field of `width` bytes (1 to 8) with `distance` covered bytes behind it.
  /// Flows whose packets have a field at the same distance from the end share it.
  const wire::IcrcFieldPatch& patch_table(std::size_t width, std::size_t distance) {
    return tables_.try_emplace({width, distance}, width, distance).first->second;
  }

  /// Returns a layout for a frame that has layout `wanted` by itself: a known one, with an own word
  /// for each word in which this frame differs, or a new one. `fields`: the frame's fields.
  const HeaderLayout& get(const roce::FrameFields& fields, HeaderLayout wanted);

 private:
  // Opcode, encapsulation, layout, payload: everything but the bytes of the prefix.
  using Key = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t, std::size_t, std::size_t,
                         std::size_t, std::size_t, const void*, const void*>;
  std::uint32_t payload_id_of(const HeaderLayout& layout);

  std::map<std::pair<std::size_t, std::size_t>, wire::IcrcFieldPatch> tables_;
  std::map<Key, std::vector<std::unique_ptr<HeaderLayout>>> layouts_;
  std::map<std::pair<const void*, std::size_t>, std::uint32_t> payload_ids_;
};

}  // namespace lw::gen
