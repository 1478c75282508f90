// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <string_view>

#include "nic/port_spec.h"

/// Whatever is typed for a port is understood or refused with a message; what is understood keeps
/// the promises of port_spec.h.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto spec = lw::nic::parse_port_spec(text);
  if (!spec) {
    if (spec.error().message.empty()) __builtin_trap();
    return 0;
  }
  if (spec->text != text) __builtin_trap();
  (void)lw::nic::needs_eal_memory(*spec);
  if (const auto* memif = spec->as<lw::nic::MemifSpec>(); memif && memif->socket.empty())
    __builtin_trap();
  if (const auto* pcap = spec->as<lw::nic::PcapSpec>(); pcap && (pcap->in + pcap->out).empty())
    __builtin_trap();
  if (const auto* interface = spec->as<lw::nic::InterfaceSpec>();
      interface && (interface->interface.empty() || interface->interface.size() > 15))
    __builtin_trap();
  return 0;
}
