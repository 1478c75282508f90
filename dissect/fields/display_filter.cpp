// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "dissect/frame_source.h"

namespace lw::dissect {
namespace {

/// What people type who think in Wireshark's display filters, and what says the same to libpcap.
/// Behind an untagged UDP header the BTH begins at udp[8].
struct Translation {
  std::string_view word;
  std::string_view libpcap;
};

constexpr std::array kTranslations = {
    Translation{"bth.opcode", "udp port 4791 and udp[8] = 4"},
    Translation{"bth.destqp", "udp port 4791 and udp[12:4] & 0xffffff = 0x1a"},
    Translation{"bth.dstqp", "udp port 4791 and udp[12:4] & 0xffffff = 0x1a"},
    Translation{"bth.psn", "udp port 4791 and udp[16:4] & 0xffffff = 77"},
    Translation{"infiniband", "udp port 4791 or ether proto 0x8915"},
    Translation{"roce", "udp port 4791 or ether proto 0x8915"},
    Translation{"rocev2", "udp port 4791"},
    Translation{"ib.", "udp port 4791"},
    Translation{"udp.port", "udp port 4791"},
    Translation{"udp.dstport", "udp dst port 4791"},
    Translation{"udp.srcport", "udp src port 49152"},
    Translation{"ip.addr", "host 10.0.0.1"},
    Translation{"ipv6.addr", "host 2001:db8::1"},
    Translation{"ip.src", "src host 10.0.0.1"},
    Translation{"ip.dst", "dst host 10.0.0.1"},
    Translation{"ipv6.src", "src host 2001:db8::1"},
    Translation{"ipv6.dst", "dst host 2001:db8::1"},
    Translation{"eth.addr", "ether host 02:00:00:00:00:01"},
    Translation{"vlan.id", "vlan 100"},
    Translation{"frame.len", "greater 1000"},
};

}  // namespace

std::string display_filter_hint(const std::string& expression) {
  for (const Translation& t : kTranslations) {
    if (expression.find(t.word) == std::string::npos) continue;
    return fmt::format(
        "; this looks like a Wireshark display filter, but --filter takes libpcap's syntax, as "
        "tcpdump does: \"{}\", say",
        t.libpcap);
  }
  return {};
}

}  // namespace lw::dissect
