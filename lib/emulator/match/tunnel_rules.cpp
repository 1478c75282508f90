// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/match/tunnel_rules.h"

#include <algorithm>
#include <string_view>

#include "roce/tunnel.h"
#include "wire/ipv4.h"

namespace lw::emulator {
namespace {

/// The kind of a tunnel; nothing if no rule can ask for it.
std::optional<Tunnel> kind_of(const roce::TunnelLayer& layer,
                              const roce::Envelope& outer) noexcept {
  const std::string_view name = layer.name;
  if (name == "VXLAN") return Tunnel::vxlan;
  if (name == "Geneve") return Tunnel::geneve;
  // With or without a segment routing header: with one segment, it may be left out (RFC 8986, 5.2).
  if (outer.ipv6 && name.ends_with(" in IP")) return Tunnel::srv6;
  return std::nullopt;
}

bool holds(const std::vector<NumberRange>& ranges, std::uint32_t number) noexcept {
  return ranges.empty() || std::ranges::any_of(ranges, [&](const NumberRange& range) {
           return number >= range.first && number <= range.last;
         });
}

/// The bytes of the outer UDP datagram that were captured.
template <class Bytes>
Bytes datagram(Bytes frame, const roce::Envelope& outer) noexcept {
  const std::size_t begin = std::min(outer.transport_offset, frame.size());
  const std::size_t length = outer.udp ? outer.udp->length.get() : 0;
  return frame.subspan(begin, std::min(length, frame.size() - begin));
}

}  // namespace

std::optional<Inside> open_inside(const roce::Envelope& outer) noexcept {
  Inside inside{.envelope = outer};
  roce::TunnelStack stack;
  roce::open_tunnels(inside.envelope, stack);
  if (stack.layers().size() != 1 || !bth_of(inside.envelope)) return std::nullopt;
  const auto kind = kind_of(stack.layers()[0], outer);
  if (!kind) return std::nullopt;
  inside.offset = static_cast<std::size_t>(inside.envelope.bytes.data() - outer.bytes.data());
  inside.tunnel = *kind;
  inside.number = stack.layers()[0].number;
  return inside;
}

TunnelRules::TunnelRules(std::span<const MatchConfig> matches) {
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (!matches[i].tunnel) continue;
    MatchConfig inside = matches[i];
    inside.tunnel.reset();
    rules_.push_back({static_cast<RuleIndex>(i), *matches[i].tunnel,
                      Classifier(std::span<const MatchConfig>(&inside, 1))});
  }
}

RuleIndex TunnelRules::classify(const roce::Envelope& outer, RuleIndex end) const noexcept {
  if (rules_.empty() || rules_.front().place >= end) return end;
  const auto inside = open_inside(outer);
  if (!inside) return end;
  const wire::Bth* const bth = bth_of(inside->envelope);
  for (const One& rule : rules_) {
    if (rule.place >= end) break;
    if (rule.tunnel.kinds.test(static_cast<std::size_t>(inside->tunnel)) &&
        holds(rule.tunnel.vni, inside->number) &&
        rule.inside.classify(inside->envelope, bth) != kUntouched)
      return rule.place;
  }
  return end;
}

std::uint16_t udp_words(wire::Bytes frame, const roce::Envelope& outer) noexcept {
  std::uint32_t sum = 0;
  const wire::Bytes bytes = datagram(frame, outer);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

void refit_udp_checksum(wire::MutableBytes frame, const roce::Envelope& outer,
                        std::uint16_t before) noexcept {
  const wire::MutableBytes bytes = datagram(frame, outer);
  if (bytes.size() < sizeof(wire::Udp)) return;
  auto& header = *reinterpret_cast<wire::Udp*>(bytes.data());
  if (header.checksum.get() == 0) return;  // none
  const std::uint16_t right =
      wire::ipv4_checksum_update(header.checksum.get(), before, udp_words(frame, outer));
  header.checksum.set(right == 0 ? 0xffff : right);
}

}  // namespace lw::emulator
