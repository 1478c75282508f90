// SPDX-License-Identifier: BSD-3-Clause
#include "capture/erf.h"

#include <algorithm>

namespace lw::capture {
namespace {

// | stamp 64 | type 8 | flags 8 | record length 16 | lost or colour 16 | wire length 16 | then
// extension headers of 8 bytes, and before an Ethernet frame its offset 8 and a pad 8.
// (EDM11-01, Endace; pcap-linktype 197)
constexpr std::size_t kHeader = 16, kType = 8, kWireLength = 14, kExtension = 8, kPad = 2;
constexpr std::size_t kFcs = 4;
constexpr unsigned kMore = 0x80;  // of a type: an extension header follows

bool is_ethernet(unsigned type) noexcept {
  // TYPE_ETH, _COLOR_ETH, _DSM_COLOR_ETH, _COLOR_HASH_ETH
  return type == 2 || type == 11 || type == 16 || type == 20;
}

}  // namespace

void unwrap_erf(Record& record) noexcept {
  record.inner_link_type = kLinkTypeErf;
  const Bytes bytes = record.bytes;
  if (bytes.size() < kHeader) return;
  const auto byte = [bytes](std::size_t at) { return std::to_integer<unsigned>(bytes[at]); };
  if (!is_ethernet(byte(kType) & ~kMore)) return;
  std::size_t begin = kHeader;
  for (bool more = (byte(kType) & kMore) != 0; more; begin += kExtension) {
    if (bytes.size() < begin + kExtension) return;
    more = (byte(begin) & kMore) != 0;
  }
  begin += kPad;
  if (bytes.size() < begin) return;
  const std::size_t with_fcs = byte(kWireLength) << 8 | byte(kWireLength + 1);
  const std::size_t length = with_fcs > kFcs ? with_fcs - kFcs : 0;
  record.bytes = bytes.subspan(begin, std::min(length, bytes.size() - begin));
  record.wire_length = static_cast<std::uint32_t>(length);
  record.inner_link_type = kLinkTypeEthernet;
}

}  // namespace lw::capture
