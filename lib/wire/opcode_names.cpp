// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "wire/opcode.h"

namespace lw::wire {

std::string_view extension_name(int bit) noexcept {
  constexpr std::array<std::string_view, kExtensions> kExtensionNames = {
      "RDETH",     "DETH", "XRCETH",       "FETH",  "RETH",
      "AtomicETH", "AETH", "AtomicAckETH", "ImmDt", "IETH"};
  return kExtensionNames[static_cast<std::size_t>(bit)];
}

std::string_view name_of(Transport transport) noexcept {
  constexpr std::array<std::string_view, 6> kText = {"RC", "UC", "RD", "UD", "CNP", "XRC"};
  return kText[static_cast<std::size_t>(transport)];
}

std::string_view name_of(Operation operation) noexcept {
  constexpr std::array<std::string_view, 12> kText = {
      "SEND",     "WRITE",     "READ REQUEST", "READ RESPONSE", "ACK",          "ATOMIC ACK",
      "CMP SWAP", "FETCH ADD", "RESYNC",       "FLUSH",         "ATOMIC WRITE", "CNP"};
  return kText[static_cast<std::size_t>(operation)];
}

std::string_view name_of(Position position) noexcept {
  constexpr std::array<std::string_view, 4> kText = {"FIRST", "MIDDLE", "LAST", "ONLY"};
  return kText[static_cast<std::size_t>(position)];
}

std::string_view name_of(Role role) noexcept {
  constexpr std::array<std::string_view, 3> kText = {"request", "response", "notification"};
  return kText[static_cast<std::size_t>(role)];
}

}  // namespace lw::wire
