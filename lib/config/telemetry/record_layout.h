// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "roce/class_settings.h"

namespace lw::config {

/// Source of a record field's bytes: a header of the packet, or the record's number.
enum class RecordSource : std::uint8_t { ethernet, ip, transport, counter };

struct RecordField {
  std::string name;
  RecordSource source{};
  std::size_t offset = 0;  // in its header, in bytes
  std::size_t bytes = 0;   // for a counter, 1 to 8: big-endian, modulo 2^(8 bytes)
};

/// Layout of a telemetry record, one per packet: consecutive fields without gaps.
struct RecordLayout {
  static constexpr std::size_t kLongest = 1024;  // bytes of a record

  std::string name;
  std::optional<std::uint8_t> ip_version;  // 4 or 6: packets of this version only
  std::optional<std::uint8_t> protocol;    // packets of this IP protocol only
  std::vector<RecordField> fields;         // with exactly one counter
  roce::ClassOfTraffic traffic;            // of the packets that carry the records

  /// Size of a record in bytes.
  [[nodiscard]] std::size_t size() const noexcept;
};

/// Reads a layout from a file, or a shipped layout by its name.
/// docs/reference/roce-gen-telemetry.md lists the keys. Errors (usage): a line per error, with
/// file, line and column.
Result<RecordLayout> load_record_layout(const std::string& file);
Result<RecordLayout> parse_record_layout(std::string_view text, std::string name);

}  // namespace lw::config
