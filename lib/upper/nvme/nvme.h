// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "upper/bytes.h"

namespace lw::upper::nvme {

/// Bytes of a submission queue entry and of a completion queue entry. (NVM Express base
/// specification 2.0, 3.3.3)
inline constexpr std::size_t kCommandBytes = 64, kCompletionBytes = 16;
inline constexpr std::uint8_t kFabrics = 0x7f;  // opcode of fabrics commands

enum class QueueKind : std::uint8_t { unknown, admin, io };

/// A submission queue entry, as far as commands are matched by it.
struct Capsule {
  std::uint8_t opcode = 0;
  std::uint8_t fabrics_type = 0;
  std::uint16_t id = 0;  // CID
  /// The data of its SGL: keyed memory of the host, or an offset into the capsule.
  bool keyed = false;
  std::uint64_t address = 0;
  std::uint32_t length = 0, r_key = 0;
  std::uint32_t dword10 = 0, dword11 = 0, dword12 = 0;

  [[nodiscard]] bool is_connect() const noexcept {
    return opcode == kFabrics && fabrics_type == 0x01;
  }
  // Of Connect:
  [[nodiscard]] std::uint16_t queue_id() const noexcept {
    return static_cast<std::uint16_t>(dword10 >> 16);
  }
  [[nodiscard]] std::uint16_t queue_size() const noexcept {  // one less than its entries
    return static_cast<std::uint16_t>(dword11);
  }
  [[nodiscard]] std::uint32_t keep_alive_ms() const noexcept { return dword12; }
};

/// Reads a capsule of a SEND of `length` bytes, of which `bytes` were captured. Nothing: it is
/// none, or the capture cut it.
std::optional<Capsule> read_capsule(Bytes bytes, std::uint64_t length) noexcept;

struct CompletionEntry {
  std::uint16_t sq_head = 0, queue_id = 0, id = 0;
  std::uint16_t status = 0;  // code, type, more, do not retry; without the phase
};
std::optional<CompletionEntry> read_completion(Bytes bytes, std::uint64_t length) noexcept;

/// "read", "identify", "fabrics connect".
std::string_view operation_name(const Capsule& capsule, QueueKind queue) noexcept;
/// The status code and type in the specification's words; empty: it has none.
std::string_view status_words(std::uint16_t status) noexcept;

}  // namespace lw::upper::nvme
