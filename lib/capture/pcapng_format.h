// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "capture/record.h"
#include "capture/source.h"
#include "core/error.h"

namespace lw::capture {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;

struct PcapngBlock;

/// Unit of a pcapng interface's time stamps.
struct StampUnit {
  std::uint8_t resolution = 6;      // if_tsresol: 10^-n s, or 2^-n s with the top bit set
  std::int64_t offset_seconds = 0;  // if_tsoffset
};

/// A stamp in ns since 1970, rounded down. Stamps out of range wrap.
std::int64_t stamp_to_ns(std::uint64_t stamp, StampUnit unit) noexcept;

/// Reads pcapng files: sections of either byte order, each with its own interfaces.
/// (draft-ietf-opsawg-pcapng)
class PcapngFormat {
 public:
  /// Returns true if these first four bytes are those of a pcapng file.
  static bool recognises(Bytes start) noexcept;
  /// Reads the first section header.
  static Result<PcapngFormat> open(Source& source);
  /// Like Reader::read(). Appends new interfaces to `interfaces`.
  Result<bool> read(Source& source, std::vector<Interface>& interfaces, Record& record) {
    if (read_usual(source, interfaces, record)) return true;
    return read_next(source, interfaces, record);
  }

 private:
  struct PacketHeader;

  Result<bool> read_next(Source& source, std::vector<Interface>& interfaces, Record& record);
  bool read_usual(Source& source, const std::vector<Interface>& interfaces, Record& record) const;
  Result<void> begin_section(Source& source, const PcapngBlock& block);
  void add_interface(const PcapngBlock& block, std::vector<Interface>& interfaces);
  Result<PacketHeader> packet_header(Source& source, const PcapngBlock& block,
                                     const std::vector<Interface>& interfaces) const;
  void add_statistics(const PcapngBlock& block, std::vector<Interface>& interfaces) const;
  Result<bool> read_packet(Source& source, const PcapngBlock& block,
                           std::vector<Interface>& interfaces, Record& record) const;

  bool swap_ = false;
  // number of earlier sections' interfaces: index of the section's first one
  std::size_t section_base_ = 0;
  std::vector<StampUnit> units_;  // one per interface of all sections
};

}  // namespace lw::capture
