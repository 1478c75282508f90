// SPDX-License-Identifier: BSD-3-Clause
#include "wire/opcode.h"

#include <array>

namespace lw::wire {
namespace {

using enum Extension;

/// A 5-bit operation, as RC has it. Other transports add headers.
/// (IBTA vol. 1, table 38; 28 and 29: annex A19)
struct OperationRow {
  std::uint8_t code;
  std::string_view suffix;
  Operation operation;
  Position position;
  Role role;
  PayloadRule payload;
  ExtensionSet extensions;
};

constexpr auto kRequest = Role::request;
constexpr auto kResponse = Role::response;

constexpr std::array kRows = {
    OperationRow{
        0, "SEND FIRST", Operation::send, Position::first, kRequest, PayloadRule::full, {}},
    OperationRow{
        1, "SEND MIDDLE", Operation::send, Position::middle, kRequest, PayloadRule::full, {}},
    OperationRow{2, "SEND LAST", Operation::send, Position::last, kRequest, PayloadRule::rest, {}},
    OperationRow{
        3, "SEND LAST IMM", Operation::send, Position::last, kRequest, PayloadRule::rest, {immdt}},
    OperationRow{4, "SEND ONLY", Operation::send, Position::only, kRequest, PayloadRule::any, {}},
    OperationRow{
        5, "SEND ONLY IMM", Operation::send, Position::only, kRequest, PayloadRule::any, {immdt}},
    OperationRow{
        6, "WRITE FIRST", Operation::write, Position::first, kRequest, PayloadRule::full, {reth}},
    OperationRow{
        7, "WRITE MIDDLE", Operation::write, Position::middle, kRequest, PayloadRule::full, {}},
    OperationRow{
        8, "WRITE LAST", Operation::write, Position::last, kRequest, PayloadRule::rest, {}},
    OperationRow{9,
                 "WRITE LAST IMM",
                 Operation::write,
                 Position::last,
                 kRequest,
                 PayloadRule::rest,
                 {immdt}},
    OperationRow{
        10, "WRITE ONLY", Operation::write, Position::only, kRequest, PayloadRule::any, {reth}},
    OperationRow{11,
                 "WRITE ONLY IMM",
                 Operation::write,
                 Position::only,
                 kRequest,
                 PayloadRule::any,
                 {reth, immdt}},
    OperationRow{12,
                 "READ REQUEST",
                 Operation::read_request,
                 Position::only,
                 kRequest,
                 PayloadRule::none,
                 {reth}},
    OperationRow{13,
                 "READ RESPONSE FIRST",
                 Operation::read_response,
                 Position::first,
                 kResponse,
                 PayloadRule::full,
                 {aeth}},
    OperationRow{14,
                 "READ RESPONSE MIDDLE",
                 Operation::read_response,
                 Position::middle,
                 kResponse,
                 PayloadRule::full,
                 {}},
    OperationRow{15,
                 "READ RESPONSE LAST",
                 Operation::read_response,
                 Position::last,
                 kResponse,
                 PayloadRule::rest,
                 {aeth}},
    OperationRow{16,
                 "READ RESPONSE ONLY",
                 Operation::read_response,
                 Position::only,
                 kResponse,
                 PayloadRule::any,
                 {aeth}},
    OperationRow{17, "ACK", Operation::ack, Position::only, kResponse, PayloadRule::none, {aeth}},
    OperationRow{18,
                 "ATOMIC ACK",
                 Operation::atomic_ack,
                 Position::only,
                 kResponse,
                 PayloadRule::none,
                 {aeth, atomicacketh}},
    OperationRow{19,
                 "CMP SWAP",
                 Operation::cmp_swap,
                 Position::only,
                 kRequest,
                 PayloadRule::none,
                 {atomiceth}},
    OperationRow{20,
                 "FETCH ADD",
                 Operation::fetch_add,
                 Position::only,
                 kRequest,
                 PayloadRule::none,
                 {atomiceth}},
    OperationRow{21, "RESYNC", Operation::resync, Position::only, kRequest, PayloadRule::none, {}},
    OperationRow{
        22, "SEND LAST INV", Operation::send, Position::last, kRequest, PayloadRule::rest, {ieth}},
    OperationRow{
        23, "SEND ONLY INV", Operation::send, Position::only, kRequest, PayloadRule::any, {ieth}},
    OperationRow{
        28, "FLUSH", Operation::flush, Position::only, kRequest, PayloadRule::none, {feth, reth}},
    OperationRow{29,
                 "ATOMIC WRITE",
                 Operation::atomic_write,
                 Position::only,
                 kRequest,
                 PayloadRule::eight,
                 {reth}},
};

/// Which operations a transport has, as a set of 5-bit codes.
constexpr std::uint32_t range(unsigned first, unsigned last) {
  return static_cast<std::uint32_t>((std::uint64_t{2} << last) - (std::uint64_t{1} << first));
}
constexpr std::uint32_t kConnected = range(0, 20) | range(22, 23) | range(28, 29);

struct TransportRow {
  Transport transport;
  std::string_view name;
  std::uint32_t operations;
};

constexpr std::array kTransports = {
    TransportRow{Transport::rc, "RC", kConnected},
    TransportRow{Transport::uc, "UC", range(0, 11)},
    TransportRow{Transport::rd, "RD", range(0, 21) | range(28, 29)},
    TransportRow{Transport::ud, "UD", range(4, 5)},
    TransportRow{Transport::xrc, "XRC", kConnected},
};

constexpr std::size_t count_opcodes() {
  std::size_t count = 1;  // the CNP
  for (const auto& t : kTransports) {
    for (const auto& row : kRows) count += t.operations >> row.code & 1;
  }
  return count;
}
constexpr std::size_t kOpcodes = count_opcodes();

/// RD has an end-to-end context in all packets and a Q_Key in requests; UD a Q_Key; XRC a receive
/// queue in requests. (IBTA vol. 1, table 38; annex A14)
constexpr ExtensionSet with_transport_headers(ExtensionSet set, Transport transport, Role role) {
  const bool request = role == Role::request;
  if (transport == Transport::rd) set = set.with(rdeth);
  if ((transport == Transport::rd && request) || transport == Transport::ud) set = set.with(deth);
  if (transport == Transport::xrc && request) set = set.with(xrceth);
  return set;
}

struct Name {
  std::array<char, 32> text{};
  std::size_t length = 0;
  constexpr void append(std::string_view part) {
    for (const char c : part) text[length++] = c;
  }
};

constexpr std::uint8_t kCnpOpcode = 0x81;

constexpr std::array<Name, kOpcodes> make_names() {
  std::array<Name, kOpcodes> names{};
  std::size_t i = 0;
  for (const auto& t : kTransports) {
    if (t.transport == Transport::xrc) names[i++].append("CNP");
    for (const auto& row : kRows) {
      if (!(t.operations >> row.code & 1)) continue;
      names[i].append(t.name);
      names[i].append(" ");
      names[i++].append(row.suffix);
    }
  }
  return names;
}
constexpr auto kNames = make_names();

constexpr std::array<OpcodeInfo, kOpcodes> make_table() {
  std::array<OpcodeInfo, kOpcodes> table{};
  std::size_t i = 0;
  const auto name = [&] { return std::string_view{kNames[i].text.data(), kNames[i].length}; };
  for (const auto& t : kTransports) {
    if (t.transport == Transport::xrc) {
      table[i] = {kCnpOpcode,
                  Transport::cnp,
                  Operation::cnp,
                  Position::only,
                  Role::notification,
                  PayloadRule::cnp_zeros,
                  {},
                  name()};
      ++i;
    }
    for (const auto& row : kRows) {
      if (!(t.operations >> row.code & 1)) continue;
      const auto opcode =
          static_cast<std::uint8_t>(static_cast<unsigned>(t.transport) << 5 | row.code);
      table[i] = {opcode,
                  t.transport,
                  row.operation,
                  row.position,
                  row.role,
                  row.payload,
                  with_transport_headers(row.extensions, t.transport, row.role),
                  name()};
      ++i;
    }
  }
  return table;
}
constexpr auto kTable = make_table();

constexpr std::array<std::int16_t, 256> make_index() {
  std::array<std::int16_t, 256> index{};
  index.fill(-1);
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    index[kTable[i].opcode] = static_cast<std::int16_t>(i);
  }
  return index;
}
constexpr auto kIndex = make_index();

}  // namespace

const OpcodeInfo* find_opcode(std::uint8_t opcode) noexcept {
  const std::int16_t i = kIndex[opcode];
  return i < 0 ? nullptr : &kTable[static_cast<std::size_t>(i)];
}

std::optional<std::uint8_t> opcode_of(Transport transport, Operation operation, Position position,
                                      bool immediate, bool invalidate) noexcept {
  for (const OpcodeInfo& info : kTable) {
    if (info.transport == transport && info.operation == operation && info.position == position &&
        info.extensions.has(immdt) == immediate && info.extensions.has(ieth) == invalidate) {
      return info.opcode;
    }
  }
  return std::nullopt;
}

std::span<const OpcodeInfo> all_opcodes() noexcept { return kTable; }

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
