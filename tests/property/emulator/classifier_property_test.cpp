// SPDX-License-Identifier: BSD-3-Clause
// The compiled classifier against the plain reading of every rule, one after the other.
#include <algorithm>

#include "emulator/match/classifier.h"
#include "support/property.h"
#include "support/random_frame.h"
#include "wire/opcode.h"

namespace lw::emulator {
namespace {

/// Values near the frame's own, so that rules are hit, and missed by one.
std::uint32_t near(std::uint32_t value, std::uint32_t mask) {
  return (value + *rc::gen::element<std::uint32_t>(0, 0, 0, 1, mask, 255, 256, 1 + mask / 2)) &
         mask;
}

std::vector<NumberRange> random_ranges(std::uint32_t value, std::uint32_t mask, bool wraps) {
  std::vector<NumberRange> ranges;
  for (int n = *rc::gen::element(0, 0, 0, 1, 2); n > 0; --n) {
    NumberRange range{near(value, mask), near(value, mask)};
    if (!wraps && range.first > range.last) std::swap(range.first, range.last);
    ranges.push_back(range);
  }
  return ranges;
}

template <class Address>
AddressPrefix random_prefix(Address address) {
  const auto bits = 8 * address.bytes.size();
  const auto length = *rc::gen::inRange<std::size_t>(0, bits + 1);
  const auto flipped = *rc::gen::inRange<std::size_t>(0, 2 * bits);
  if (flipped < bits) address.bytes[flipped / 8] ^= std::byte{0x80} >> (flipped % 8);
  return {address, static_cast<std::uint8_t>(length)};
}

std::vector<AddressPrefix> random_prefixes(const wire::Ipv4Address& v4,
                                           const wire::Ipv6Address& v6) {
  std::vector<AddressPrefix> prefixes;
  for (int n = *rc::gen::element(0, 0, 0, 1, 2); n > 0; --n)
    prefixes.push_back(*rc::gen::arbitrary<bool>() ? random_prefix(v4) : random_prefix(v6));
  return prefixes;
}

/// A = one byte of the frame; accepts when it is at least k.
Expression random_expression() {
  return {"", *BpfProgram::create({{0x30, 0, 0, test::wide<std::uint32_t>(63)},
                                   {0x35, 0, 1, test::wide<std::uint32_t>(255)},
                                   {0x06, 0, 0, 1},
                                   {0x06, 0, 0, 0}})};
}

MatchConfig random_match(const roce::FrameFields& f) {
  MatchConfig config = *rc::gen::element(MatchedFrames::rocev2, MatchedFrames::everything);
  config.source = random_prefixes(f.ipv4.source, f.ipv6.source);
  config.destination = random_prefixes(f.ipv4.destination, f.ipv6.destination);
  config.vlan = random_ranges(f.vlans.empty() ? 5 : f.vlans[0].id, 0xfff, false);
  config.dscp = random_ranges(f.ipv4.dscp, 63, false);
  config.dest_qp = random_ranges(f.bth.dest_qp, 0xffffff, false);
  config.psn = random_ranges(f.bth.psn.value(), 0xffffff, true);
  if (*rc::gen::inRange(0, 4) == 0) {
    config.opcodes.emplace().set(f.bth.opcode, *rc::gen::arbitrary<bool>());
    config.opcodes->set(test::random_opcode());
  }
  if (*rc::gen::inRange(0, 4) == 0) config.kinds.emplace(test::wide<std::uint32_t>());
  if (*rc::gen::inRange(0, 6) == 0) config.expression = random_expression();
  return config;
}

bool in_any(const std::vector<NumberRange>& ranges, std::uint32_t value) {
  const auto holds = [value](const NumberRange& r) {
    if (r.first <= r.last) return r.first <= value && value <= r.last;
    return value >= r.first || value <= r.last;
  };
  return ranges.empty() || std::ranges::any_of(ranges, holds);
}

template <class Address>
bool under_any(const std::vector<AddressPrefix>& prefixes, const Address& address) {
  const auto holds = [&](const AddressPrefix& prefix) {
    const auto* other = std::get_if<Address>(&prefix.address);
    if (!other) return false;
    for (std::size_t bit = 0; bit < prefix.length; ++bit)
      if (((address.bytes[bit / 8] ^ other->bytes[bit / 8]) & std::byte{0x80} >> (bit % 8)) !=
          std::byte{0})
        return false;
    return true;
  };
  return prefixes.empty() || std::ranges::any_of(prefixes, holds);
}

bool addresses_hold(const MatchConfig& config, const roce::Envelope& e) {
  if (e.ipv4)
    return under_any(config.source, e.ipv4->source) &&
           under_any(config.destination, e.ipv4->destination);
  if (const auto* v6 = e.ipv6 ? e.ipv6 : e.grh)
    return under_any(config.source, v6->source) && under_any(config.destination, v6->destination);
  return config.source.empty() && config.destination.empty();
}

/// What MatchConfig's comments say, read aloud.
bool holds(const MatchConfig& config, const roce::Envelope& e, const wire::Bth* bth) {
  if (config.needs_bth() && !bth) return false;
  if (!addresses_hold(config, e)) return false;
  if (!config.vlan.empty() && (!e.vlan_count || !in_any(config.vlan, e.vlans[0]->id())))
    return false;
  const bool has_ip = e.ipv4 || e.ipv6 || e.grh;
  if (!config.dscp.empty() && (!has_ip || !in_any(config.dscp, e.dscp()))) return false;
  if (config.opcodes && !config.opcodes->test(bth->opcode.get())) return false;
  if (config.kinds && !config.kinds->test(static_cast<std::size_t>(kind_of(e, *bth)))) return false;
  if (!config.dest_qp.empty() && !in_any(config.dest_qp, bth->dest_qp.get())) return false;
  if (!config.psn.empty() && !in_any(config.psn, bth->psn().value())) return false;
  return !config.expression ||
         config.expression->program.matches(e.bytes, static_cast<std::uint32_t>(e.wire_length));
}

RuleIndex first_by_reading(std::span<const MatchConfig> rules, const roce::Envelope& e,
                           const wire::Bth* bth) {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (holds(rules[i], e, bth)) return static_cast<RuleIndex>(i);
  return kUntouched;
}

std::vector<std::byte> random_bytes_of(const roce::FrameFields& fields) {
  auto frame = roce::compose(fields, test::random_payload(40));
  switch (*rc::gen::inRange(0, 6)) {
    case 0:  // cut anywhere
      frame.resize(*rc::gen::inRange<std::size_t>(0, frame.size() + 1));
      break;
    case 1:  // another ethertype
      frame[12] = std::byte{0x08};
      frame[13] = std::byte{0x06};
      break;
    default:
      break;
  }
  return frame;
}

RC_GTEST_PROP(ClassifierProperty, IsTheFirstRuleThatHoldsReadOneByOne, ()) {
  const auto fields = test::random_frame();
  std::vector<MatchConfig> rules;
  for (int n = *rc::gen::element(1, 2, 5, 20, 70); n > 0; --n)
    rules.push_back(random_match(fields));
  const Classifier classifier(rules);
  for (int variant = 0; variant < 4; ++variant) {
    auto other = fields;
    other.bth.psn = wire::Psn(near(fields.bth.psn.value(), 0xffffff));
    other.bth.dest_qp = near(fields.bth.dest_qp, 0xffffff);
    const auto frame = random_bytes_of(other);
    const auto envelope = roce::open_envelope(frame);
    const auto* bth = bth_of(envelope);
    const auto expected = first_by_reading(rules, envelope, bth);
    RC_CLASSIFY(expected != kUntouched, "matched");
    RC_ASSERT(classifier.classify(envelope, bth) == expected);
  }
}

}  // namespace
}  // namespace lw::emulator
