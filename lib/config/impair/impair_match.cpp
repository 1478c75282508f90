// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/impair_match.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "capture/filter.h"
#include "config/flow/opcode_name.h"
#include "config/toml/number_ranges.h"
#include "wire/opcode.h"

namespace lw::config {
namespace {

using emulator::Match;
using emulator::MatchConfig;
using emulator::PacketKind;
using wire::Operation;
using wire::Position;
using wire::Transport;

constexpr std::uint32_t kMax24 = 0xffffff;

constexpr Choice<Match> kFrames[] = {{"rocev2", Match::rocev2}, {"all", Match::everything}};
constexpr Choice<Transport> kTransports[] = {{"rc", Transport::rc},
                                             {"uc", Transport::uc},
                                             {"rd", Transport::rd},
                                             {"ud", Transport::ud},
                                             {"xrc", Transport::xrc}};
constexpr Choice<Operation> kOperations[] = {{"send", Operation::send},
                                             {"write", Operation::write},
                                             {"read_request", Operation::read_request},
                                             {"read_response", Operation::read_response},
                                             {"ack", Operation::ack},
                                             {"atomic_ack", Operation::atomic_ack},
                                             {"cmp_swap", Operation::cmp_swap},
                                             {"fetch_add", Operation::fetch_add},
                                             {"resync", Operation::resync},
                                             {"flush", Operation::flush},
                                             {"atomic_write", Operation::atomic_write},
                                             {"cnp", Operation::cnp}};
constexpr Choice<Position> kPositions[] = {{"first", Position::first},
                                           {"middle", Position::middle},
                                           {"last", Position::last},
                                           {"only", Position::only}};

Parsed<emulator::AddressPrefix> read_prefix(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  const auto slash = text ? text->find('/') : std::string::npos;
  const auto address =
      slash == std::string::npos ? read_ip(value) : read_ip({value.at, text->substr(0, slash)});
  if (!address) return std::unexpected(address.error() + " (or a prefix such as \"10.0.0.0/8\")");
  const std::uint64_t bits = std::holds_alternative<wire::Ipv4Address>(*address) ? 32 : 128;
  if (slash == std::string::npos)
    return emulator::AddressPrefix{*address, static_cast<std::uint8_t>(bits)};
  const auto length = read_unsigned({value.at, text->substr(slash + 1)}, 0, bits);
  if (!length)
    return std::unexpected(
        fmt::format("expected a prefix length from 0 to {}, found {}", bits, describe(value)));
  return emulator::AddressPrefix{*address, static_cast<std::uint8_t>(*length)};
}

/// Compiled for Ethernet, which is what the ports carry.
Parsed<emulator::Expression> read_filter(const Value& value) {
  const auto text = read_text(value);
  if (!text) return std::unexpected(text.error());
  const auto filter = capture::Filter::compile(*text, capture::kLinkTypeEthernet);
  if (!filter) return std::unexpected(filter.error().message);
  auto program = BpfProgram::create(filter->instructions());
  if (!program) return std::unexpected(fmt::format("\"{}\" is beyond our filter machine", *text));
  return emulator::Expression{*text, std::move(*program)};
}

/// Leaves those of the opcodes for which `holds`.
template <class Holds>
void narrow(MatchConfig& match, Holds holds) {
  std::bitset<256> allowed;
  for (const wire::OpcodeInfo& info : wire::all_opcodes())
    if (holds(info)) allowed.set(info.opcode);
  match.opcodes = match.opcodes ? *match.opcodes & allowed : allowed;
}

template <class T>
void narrow_by(const Table& table, std::string_view key, std::span<const Choice<T>> names,
               T wire::OpcodeInfo::* member, MatchConfig& match) {
  const auto wanted = table.get(key, some_of(choice(names)));
  if (!wanted) return;
  narrow(match, [&](const wire::OpcodeInfo& info) {
    return std::ranges::find(*wanted, info.*member) != wanted->end();
  });
}

/// A name, a number, or a range of numbers.
Parsed<emulator::NumberRange> read_opcode_range(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  const bool is_number = text && !text->empty() && text->front() >= '0' && text->front() <= '9';
  if (is_number && text->find('-') != std::string::npos) {
    const auto range = read_ranges(value, 255, false);
    if (!range) return std::unexpected(range.error());
    return range->front();
  }
  const auto opcode = read_opcode(value);
  if (!opcode) return std::unexpected(opcode.error());
  return emulator::NumberRange{*opcode, *opcode};
}

void read_opcodes(const Table& table, MatchConfig& match) {
  if (const auto ranges = table.get("opcode", some_of(read_opcode_range))) {
    match.opcodes.emplace();
    for (const emulator::NumberRange& range : *ranges)
      for (std::uint32_t opcode = range.first; opcode <= range.last; ++opcode)
        match.opcodes->set(opcode);
  }
  narrow_by<Transport>(table, "transport", kTransports, &wire::OpcodeInfo::transport, match);
  narrow_by<Operation>(table, "operation", kOperations, &wire::OpcodeInfo::operation, match);
  narrow_by<Position>(table, "position", kPositions, &wire::OpcodeInfo::position, match);
  if (match.opcodes && match.opcodes->none())
    table.refuse("match: expected parts that some opcode has together, found none that has them");
}

MatchConfig read_table(const Table& table) {
  MatchConfig match;
  match.source = table.get_or("source", some_of(read_prefix), {});
  match.destination = table.get_or("destination", some_of(read_prefix), {});
  match.vlan = table.get_or("vlan", ranges(4095), {});
  match.dscp = table.get_or("dscp", ranges(63), {});
  read_opcodes(table, match);
  match.dest_qp = table.get_or("dst_qp", ranges(kMax24), {});
  match.psn = table.get_or("psn", ranges(kMax24, true), {});
  if (const auto kinds = table.get("kind", some_of(read_packet_kind))) {
    match.kinds.emplace();
    for (const PacketKind kind : *kinds) match.kinds->set(static_cast<std::size_t>(kind));
  }
  match.expression = table.get("filter", read_filter);
  // An expression says itself what it is about.
  match.frames = table.get_or("frames", choice(kFrames),
                              table.has("filter") ? Match::everything : Match::rocev2);
  table.finish();
  return match;
}

Parsed<bool> is_table(const Value& value) { return std::holds_alternative<Entries>(value.data); }

}  // namespace

emulator::MatchConfig read_match(const Table& rule) {
  if (!rule.get("match", is_table).value_or(false))
    return rule.get_or("match", choice(kFrames), Match::rocev2);
  return read_table(*rule.table("match"));
}

Parsed<PacketKind> read_packet_kind(const Value& value) {
  std::array<std::string_view, emulator::kPacketKinds> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<PacketKind>(i));
  const auto index = read_choice(value, names);
  if (!index) return std::unexpected(index.error());
  return static_cast<PacketKind>(*index);
}

}  // namespace lw::config
