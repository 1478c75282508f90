// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/ledger.h"

namespace lw::impair {

/// Rule names by direction. The rule of a record is an index into the names of its direction.
using RuleNames = std::array<std::vector<std::string>, 2>;

/// The compact form of a ledger. Everything is little-endian; docs/reference/ledger.md has the
/// table.
///
///   "LWLEDGER"  u16 version 3  u16 record size 44  u32 0
///   blocks:     u32 kind  u32 length in bytes  and as many bytes:
///     1 names    both directions' names of rules as JSON, [["a"],["b"]]; until the next such block
///     2 records  each of 44 bytes; of 40 in version 1, with the low half of the rule only
///     3 end      u64 records in the file, u64 records skipped
///     4 change   of the profile or a link, as JSON: the line of the other form; since version 3
namespace binary_ledger {

inline constexpr std::string_view kMagic = "LWLEDGER";
inline constexpr std::size_t kRecordSize = 44;

/// Appends the header of the file.
void put_header(std::string& out);
/// Appends a block of names. It applies to the records that follow.
void put_names(std::string& out, const RuleNames& names);
/// Appends a block of records, at most 2^26. Adds `clock_offset_ns` to all times.
void put_records(std::string& out, std::span<const emulator::LedgerRecord> records,
                 std::int64_t clock_offset_ns);
/// Appends a change; `json`: see change_line().
void put_change(std::string& out, std::string_view json);
/// Appends the end block.
void put_end(std::string& out, std::uint64_t records, std::uint64_t skipped);

struct End {
  std::uint64_t records = 0, skipped = 0;
};

/// Reads a ledger. Calls `on_record` for each record and `on_change` for each change, in order.
/// Returns nothing if the file has no end block, because its writer was stopped. The error says
/// what is wrong, and at which byte.
std::expected<std::optional<End>, std::string> read(
    std::span<const std::byte> file,
    const std::function<void(const emulator::LedgerRecord&, const RuleNames&)>& on_record,
    const std::function<void(std::string_view json)>& on_change = {});

}  // namespace binary_ledger
}  // namespace lw::impair
