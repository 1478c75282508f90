// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/match.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "capture/filter.h"
#include "core/names.h"
#include "wire/opcode.h"

namespace lw::config {
namespace {

using emulator::Match;
using emulator::MatchConfig;
using emulator::NumberRange;
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

/// Compiles a pcap filter for Ethernet frames.
Parsed<emulator::Expression> read_filter(const Value& value) {
  const auto text = read_text(value);
  if (!text) return std::unexpected(text.error());
  const auto filter = capture::Filter::compile(*text, capture::kLinkTypeEthernet);
  if (!filter) return std::unexpected(filter.error().message);
  auto program = BpfProgram::create(filter->instructions());
  if (!program)
    return std::unexpected(
        fmt::format("expected a filter without unsupported instructions, found \"{}\"", *text));
  return emulator::Expression{*text, std::move(*program)};
}

/// Removes the opcodes for which `holds` is false.
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

/// Spelling of the opcode table: upper case, spaces.
std::string canonical(std::string text) {
  for (char& c : text)
    c = c == '_' || c == '-' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// Reads an opcode: a number from 0 to 255, or a name such as "RC SEND FIRST" (case, dashes and
/// underscores don't matter).
Parsed<std::uint8_t> read_opcode(const Value& value) {
  if (const auto number = integer<std::uint8_t>()(value)) return *number;
  const auto* text = std::get_if<std::string>(&value.data);
  const std::string name = text ? canonical(*text) : std::string();
  std::vector<std::string_view> names;
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    if (info.name == name) return info.opcode;
    names.push_back(info.name);
  }
  std::string sentence =
      fmt::format("expected a number from 0 to 255 or a name such as \"RC SEND FIRST\", found {}",
                  describe(value));
  if (const auto near = nearest(name, names); text && !near.empty())
    sentence += fmt::format(": did you mean \"{}\"?", near);
  return std::unexpected(std::move(sentence));
}

/// Reads a name, a number, or a range of numbers.
Parsed<NumberRange> read_opcode_range(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  const bool is_number = text && !text->empty() && text->front() >= '0' && text->front() <= '9';
  if (is_number && text->find('-') != std::string::npos) {
    const auto range = read_ranges(value, 255, false);
    if (!range) return std::unexpected(range.error());
    return range->front();
  }
  const auto opcode = read_opcode(value);
  if (!opcode) return std::unexpected(opcode.error());
  return NumberRange{*opcode, *opcode};
}

void read_opcodes(const Table& table, MatchConfig& match) {
  if (const auto ranges = table.get("opcode", some_of(read_opcode_range))) {
    match.opcodes.emplace();
    for (const NumberRange& range : *ranges)
      for (std::uint32_t opcode = range.first; opcode <= range.last; ++opcode)
        match.opcodes->set(opcode);
  }
  narrow_by<Transport>(table, "transport", kTransports, &wire::OpcodeInfo::transport, match);
  narrow_by<Operation>(table, "operation", kOperations, &wire::OpcodeInfo::operation, match);
  narrow_by<Position>(table, "position", kPositions, &wire::OpcodeInfo::position, match);
  if (match.opcodes && match.opcodes->none())
    table.refuse(
        "match: expected opcode, transport, operation and position that fit together, found no "
        "such opcode");
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
  // A filter alone may match any frame.
  match.frames = table.get_or("frames", choice(kFrames),
                              table.has("filter") ? Match::everything : Match::rocev2);
  table.finish();
  return match;
}

Parsed<NumberRange> read_range(const Value& value, std::uint32_t maximum, bool wraps) {
  const auto* text = std::get_if<std::string>(&value.data);
  const auto dash = text ? text->find('-') : std::string::npos;
  if (dash == std::string::npos || dash == 0) {
    const auto one = read_unsigned(value, 0, maximum);
    if (!one) return std::unexpected(one.error() + " (or a range such as \"5-9\")");
    return NumberRange{static_cast<std::uint32_t>(*one), static_cast<std::uint32_t>(*one)};
  }
  const auto end = [&](std::string part) {
    return read_unsigned(Value{value.at, std::move(part)}, 0, maximum);
  };
  const auto first = end(text->substr(0, dash)), last = end(text->substr(dash + 1));
  if (!first || !last || (*first > *last && !wraps))
    return std::unexpected(
        fmt::format("expected a range in 0-{} such as \"5-9\", found \"{}\"", maximum, *text));
  return NumberRange{static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last)};
}

}  // namespace

emulator::MatchConfig read_match(const Table& rule) {
  if (!rule.get("match", is_table).value_or(false))
    return rule.get_or("match", choice(kFrames), Match::rocev2);
  return read_table(*rule.table("match"));
}

emulator::Ways read_direction(const Table& table) {
  static constexpr Choice<emulator::Ways> kWays[] = {
      {"both", emulator::Ways::both},
      {"west-to-east", emulator::Ways::west_to_east},
      {"east-to-west", emulator::Ways::east_to_west}};
  return table.get_or("direction", choice(kWays), emulator::Ways::both);
}

Parsed<PacketKind> read_packet_kind(const Value& value) {
  std::array<std::string_view, emulator::kPacketKinds> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<PacketKind>(i));
  const auto index = read_choice(value, names);
  if (!index) return std::unexpected(index.error());
  return static_cast<PacketKind>(*index);
}

Parsed<std::vector<NumberRange>> read_ranges(const Value& value, std::uint32_t maximum,
                                             bool wraps) {
  return some_of([=](const Value& v) { return read_range(v, maximum, wraps); })(value);
}

}  // namespace lw::config
