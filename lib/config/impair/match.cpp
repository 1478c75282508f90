// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/match.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "capture/filter.h"
#include "config/limits.h"
#include "config/toml/document.h"
#include "core/names.h"
#include "wire/opcode.h"
#include "wire/psn.h"

namespace lw::config {
namespace {

using emulator::MatchConfig;
using emulator::MatchedFrames;
using emulator::NumberRange;
using emulator::PacketKind;
using wire::Operation;
using wire::Transport;

constexpr Choice<MatchedFrames> kFrames[] = {{"rocev2", MatchedFrames::rocev2},
                                             {"all", MatchedFrames::everything}};
constexpr Choice<Transport> kMatchTransports[] = {{"rc", Transport::rc},
                                                  {"uc", Transport::uc},
                                                  {"rd", Transport::rd},
                                                  {"ud", Transport::ud},
                                                  {"xrc", Transport::xrc}};
constexpr Choice<Operation> kMatchOperations[] = {{"send", Operation::send},
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
constexpr Choice<wire::Position> kPositions[] = {{"first", wire::Position::first},
                                                 {"middle", wire::Position::middle},
                                                 {"last", wire::Position::last},
                                                 {"only", wire::Position::only}};

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

/// Filters that were compiled before. libpcap may take a second for one, and a run reads its whole
/// profile again for each change. Any thread.
class CompiledFilters {
 public:
  std::optional<emulator::Expression> find(const std::string& text) {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(text);
    return known == known_.end() ? std::nullopt : std::optional(known->second);
  }
  void add(const emulator::Expression& filter, std::size_t instructions) {
    constexpr std::size_t kMostBytes = std::size_t{8} << 20;
    const std::lock_guard lock(mutex_);
    bytes_ += filter.text.size() + instructions * sizeof(BpfInstruction);
    if (bytes_ > kMostBytes) {
      known_.clear();
      bytes_ = 0;
    }
    known_.emplace(filter.text, filter);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, emulator::Expression> known_;
  std::size_t bytes_ = 0;  // of known_
};

/// Compiles a pcap filter for Ethernet frames.
Parsed<emulator::Expression> read_filter(const Value& value) {
  static CompiledFilters compiled;
  const auto text = read_text(value);
  if (!text) return std::unexpected(text.error());
  if (auto known = compiled.find(*text)) return std::move(*known);
  const auto filter = capture::Filter::compile(*text, capture::kLinkTypeEthernet);
  if (!filter) return std::unexpected(filter.error().message);
  const auto instructions = filter->instructions();
  auto program = BpfProgram::create(instructions);
  if (!program)
    return std::unexpected(
        fmt::format("expected a filter without unsupported instructions, found \"{}\"", *text));
  emulator::Expression expression{*text, std::move(*program)};
  compiled.add(expression, instructions.size());
  return expression;
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
std::string canonical_name(std::string text) {
  for (char& c : text)
    c = c == '_' || c == '-' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// Reads an opcode: a number from 0 to 255, or a name such as "RC SEND FIRST" (case, dashes and
/// underscores don't matter).
Parsed<std::uint8_t> read_opcode(const Value& value) {
  if (const auto number = integer<std::uint8_t>()(value)) return *number;
  const auto* text = std::get_if<std::string>(&value.data);
  const std::string name = text ? canonical_name(*text) : std::string();
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
  narrow_by<Transport>(table, "transport", kMatchTransports, &wire::OpcodeInfo::transport, match);
  narrow_by<Operation>(table, "operation", kMatchOperations, &wire::OpcodeInfo::operation, match);
  narrow_by<wire::Position>(table, "position", kPositions, &wire::OpcodeInfo::position, match);
  if (match.opcodes && match.opcodes->none())
    table.refuse(
        "match: expected opcode, transport, operation and position that fit together, found no "
        "such opcode");
}

constexpr Choice<emulator::Tunnel> kTunnelNames[] = {{"vxlan", emulator::Tunnel::vxlan},
                                                     {"geneve", emulator::Tunnel::geneve},
                                                     {"srv6", emulator::Tunnel::srv6}};

void read_tunnel(const Table& table, MatchConfig& match) {
  const auto kinds = table.get("tunnel", some_of(choice(kTunnelNames)));
  const auto vni = table.get("vni", ranges(kMax24));
  if (!table.has("tunnel")) {
    if (vni) table.refuse("vni", "expected tunnel = \"vxlan\" or \"geneve\" beside it");
    return;
  }
  emulator::TunnelMatch& tunnel = match.tunnel.emplace();
  for (const emulator::Tunnel kind : kinds.value_or(std::vector<emulator::Tunnel>{}))
    tunnel.kinds.set(static_cast<std::size_t>(kind));
  tunnel.vni = vni.value_or(std::vector<NumberRange>{});
  if (vni && tunnel.kinds.test(static_cast<std::size_t>(emulator::Tunnel::srv6)))
    table.refuse("vni", "expected no vni beside the tunnel \"srv6\", which has none");
  if (table.has("filter"))
    table.refuse("filter", "expected no filter beside a tunnel: it would see the outer headers");
  if (match.frames != MatchedFrames::rocev2)
    table.refuse("frames", "expected \"rocev2\" beside a tunnel, found \"all\"");
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
  match.frames =
      table.get_or("frames", choice(kFrames),
                   table.has("filter") ? MatchedFrames::everything : MatchedFrames::rocev2);
  read_tunnel(table, match);
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
    return rule.get_or("match", choice(kFrames), MatchedFrames::rocev2);
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

namespace {

using emulator::EventAction;
using emulator::EventConfig;
using emulator::PsnFrom;

constexpr std::uint32_t kMostOccurrences = 1'000'000'000;

constexpr Choice<EventAction> kActions[] = {{"drop", EventAction::drop},
                                            {"mark", EventAction::mark},
                                            {"corrupt", EventAction::corrupt},
                                            {"delay", EventAction::delay},
                                            {"duplicate", EventAction::duplicate}};

bool has_psn(PacketKind kind) noexcept {
  return kind != PacketKind::cnp && kind != PacketKind::cm && kind != PacketKind::reserved;
}

std::uint64_t count_of(const std::vector<NumberRange>& ranges, std::uint32_t mask) noexcept {
  std::uint64_t count = 0;
  for (const NumberRange& range : ranges)
    count += std::uint64_t{(range.last - range.first) & mask} + 1;
  return count;
}

void read_qp(const Table& table, EventConfig& event) {
  event.qp = table.get("qp", integer<std::uint32_t>(1, kMax24));
  event.qpn = table.get("qpn", integer<std::uint32_t>(0, kMax24));
  if (event.qp && event.qpn)
    table.refuse(
        "qpn", "expected either `qp` (order of appearance, from 1) or `qpn` (QP number), not both");
}

std::vector<NumberRange> read_psns(const Table& table, EventConfig& event) {
  const auto absolute = table.get("psn", ranges(kMax24, true));
  const auto offset = table.get("psn_offset", ranges(kMax24));
  if (absolute && offset)
    table.refuse("psn_offset", "expected either psn or psn_offset, found both");
  if (!absolute && !offset) return {{0, 0}};
  if (!has_psn(event.on))
    table.refuse(absolute ? "psn" : "psn_offset",
                 fmt::format("expected no PSN with on = \"{}\": such packets have no PSN sequence",
                             name_of(event.on)));
  event.psn_from = absolute ? PsnFrom::absolute : PsnFrom::start;
  return absolute ? *absolute : *offset;
}

void read_action(const Table& table, EventConfig& event) {
  event.action =
      table.require("action", choice(kActions), "drop, mark, corrupt, delay or duplicate")
          .value_or(EventAction::drop);
  const auto delay = table.get("delay", parse_duration);
  if (delay && event.action != EventAction::delay)
    table.refuse("delay", "expected only with action = \"delay\", found with another");
  if (!table.has("delay") && event.action == EventAction::delay)
    table.refuse("action", "expected a delay such as delay = \"1ms\", found none");
  event.delay = delay.value_or(Duration{});
}

/// Adds an event for each PSN and each occurrence.
void expand(EventConfig event, const std::vector<NumberRange>& psns,
            const std::vector<NumberRange>& occurrences, std::vector<EventConfig>& events) {
  const auto add_all_occurrences = [&] {
    for (const NumberRange& range : occurrences)
      for (event.occurrence = range.first; event.occurrence <= range.last; ++event.occurrence)
        events.push_back(event);
  };
  for (const NumberRange& range : psns) {
    event.psn = range.first;
    for (auto left = count_of({range}, kMax24); left > 0; --left) {
      add_all_occurrences();
      event.psn = (event.psn + 1) & kMax24;
    }
  }
}

std::vector<NumberRange> read_occurrences(const Table& table) {
  const auto occurrences = table.get_or("occurrence", ranges(kMostOccurrences), {{1, 1}});
  for (const NumberRange& range : occurrences)
    if (range.first == 0) table.refuse("occurrence", "expected a number from 1, found 0");
  return occurrences;
}

void read_event(const Table& table, std::size_t index, ProfileEvents& events) {
  EventConfig event;
  event.name = table.get_or("name", read_text, unnamed("event", index));
  event.ways = read_direction(table);
  read_qp(table, event);
  event.on = table.get_or("on", read_packet_kind, PacketKind::request);
  const auto psns = read_psns(table, event);
  const auto occurrences = read_occurrences(table);
  read_action(table, event);
  static constexpr Choice<bool> kCounted[] = {{"from-start", false}, {"from-now", true}};
  event.from_now = table.get_or("counted", choice(kCounted), false);
  const bool on_command = table.get_or("on_command", read_boolean, false);
  if (on_command && !table.has("name"))
    table.refuse("on_command", "expected a name for the command, found none");
  table.finish();
  const auto psn_count = count_of(psns, kMax24), occurrence_count = count_of(occurrences, ~0u);
  if (psn_count > kMostOfAnEvent / std::max<std::uint64_t>(1, occurrence_count))
    return table.refuse(fmt::format(
        "expected at most {} pairs of PSN and occurrence, found {} PSNs with {} occurrences each",
        kMostOfAnEvent, psn_count, occurrence_count));
  if (events.armed.size() + psn_count * occurrence_count > kMostEvents)
    return table.refuse(
        fmt::format("expected at most {} pairs of PSN and occurrence in all [[event]]s, found more",
                    kMostEvents));
  std::vector<EventConfig> all;
  expand(event, psns, occurrences, all);
  if (on_command) {
    events.on_command.insert(events.on_command.end(), all.begin(), all.begin() + !all.empty());
  } else {
    events.armed.insert(events.armed.end(), all.begin(), all.end());
  }
}

}  // namespace

ProfileEvents read_events(const Table& root) {
  ProfileEvents events;
  std::size_t index = 0;
  for (const Table& table : root.tables("event")) read_event(table, index++, events);
  return events;
}

}  // namespace lw::config
