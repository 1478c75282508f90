// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace lw::roce {

/// What a capture's frames begin with.
enum class LinkType : std::uint8_t { ethernet, raw_ip, linux_sll, linux_sll2 };

/// The link of a capture file's link type; nothing for one that we can't open. The numbers are
/// those of tcpdump.org's registry (LINKTYPE_ETHERNET, _RAW, _LINUX_SLL, _IPV4, _IPV6, _SLL2).
constexpr std::optional<LinkType> link_of(int link_type) noexcept {
  switch (link_type) {
    case 1:
      return LinkType::ethernet;
    case 101:
    case 228:
    case 229:
      return LinkType::raw_ip;
    case 113:
      return LinkType::linux_sll;
    case 276:
      return LinkType::linux_sll2;
    default:
      return std::nullopt;
  }
}

}  // namespace lw::roce
