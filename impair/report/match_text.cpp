// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/match_text.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity.h"
#include "wire/opcode.h"

namespace lw::impair {
namespace {

using emulator::EventConfig;
using emulator::MatchConfig;
using Texts = std::vector<std::string>;

void add(Texts& parts, std::string_view key, const Texts& values) {
  if (!values.empty()) parts.push_back(fmt::format("{} {}", key, fmt::join(values, " or ")));
}

Texts texts_of(const std::vector<emulator::NumberRange>& ranges) {
  Texts texts;
  for (const auto& range : ranges)
    texts.push_back(range.first == range.last ? fmt::format("{}", range.first)
                                              : fmt::format("{}-{}", range.first, range.last));
  return texts;
}

Texts texts_of(const std::vector<emulator::AddressPrefix>& prefixes) {
  Texts texts;
  for (const auto& prefix : prefixes)
    texts.push_back(fmt::format("{}/{}", to_string(prefix.address), prefix.length));
  return texts;
}

Texts opcodes_of(const MatchConfig& match) {
  Texts texts;
  for (unsigned opcode = 0; match.opcodes && opcode < 256; ++opcode) {
    if (!match.opcodes->test(opcode)) continue;
    const auto* info = wire::find_opcode(static_cast<std::uint8_t>(opcode));
    texts.push_back(info ? std::string(info->name) : fmt::format("{:#04x}", opcode));
  }
  return texts;
}

Texts kinds_of(const MatchConfig& match) {
  Texts texts;
  for (std::size_t kind = 0; match.kinds && kind < emulator::kPacketKinds; ++kind)
    if (match.kinds->test(kind))
      texts.emplace_back(name_of(static_cast<emulator::PacketKind>(kind)));
  return texts;
}

std::string psn_of(const EventConfig& event) {
  switch (event.psn_from) {
    case emulator::PsnFrom::absolute:
      return fmt::format(" with psn {}", event.psn);
    case emulator::PsnFrom::start:
      return fmt::format(" with psn_offset {}", event.psn);
    case emulator::PsnFrom::any:
      break;
  }
  return "";
}

std::string qp_of(const EventConfig& event) {
  if (event.qp) return fmt::format(" to qp {}", *event.qp);
  return event.qpn ? fmt::format(" to qpn {}", *event.qpn) : "";
}

}  // namespace

std::string to_text(const MatchConfig& match) {
  Texts parts = {match.frames == emulator::Match::rocev2 ? "rocev2" : "all"};
  add(parts, "source", texts_of(match.source));
  add(parts, "destination", texts_of(match.destination));
  add(parts, "vlan", texts_of(match.vlan));
  add(parts, "dscp", texts_of(match.dscp));
  add(parts, "opcode", opcodes_of(match));
  add(parts, "kind", kinds_of(match));
  add(parts, "dst_qp", texts_of(match.dest_qp));
  add(parts, "psn", texts_of(match.psn));
  if (match.expression) parts.push_back(fmt::format("filter \"{}\"", match.expression->text));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string to_text(const EventConfig& event) {
  std::string text = fmt::format("{} {}{}{}: {}", name_of(event.on), event.occurrence,
                                 psn_of(event), qp_of(event), name_of(event.action));
  if (event.action == emulator::EventAction::delay)
    text += fmt::format(" {}", format_duration(event.delay));
  return text;
}

}  // namespace lw::impair
