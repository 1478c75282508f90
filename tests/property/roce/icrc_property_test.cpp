// SPDX-License-Identifier: BSD-3-Clause
#include "roce/envelope.h"
#include "support/property.h"
#include "support/random_frame.h"
#include "wire/icrc.h"

namespace lw {
namespace {

using roce::IcrcVerdict;

/// CRC-32 a bit at a time, straight from its definition: shares nothing with the tables and the
/// folding of the two implementations that it judges.
std::uint32_t crc32_by_definition(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int i = 0; i < 8; ++i) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  return ~crc;
}

/// The ICRC from REFERENCE 1's words: eight bytes of ones, then the packet with its variant
/// fields set to ones.
std::uint32_t icrc_by_definition(const roce::FrameFields& fields, std::vector<std::byte> frame,
                                 const roce::FrameLayout& layout) {
  const auto ones = [&](std::size_t offset) { frame[offset] = std::byte{0xff}; };
  if (fields.encapsulation == wire::Encapsulation::ipv4) {
    for (const std::size_t i : {1, 8, 10, 11}) ones(layout.network + i);
  } else {
    frame[layout.network] |= std::byte{0x0f};
    for (const std::size_t i : {1, 2, 3, 7}) ones(layout.network + i);
  }
  if (fields.encapsulation != wire::Encapsulation::grh) {
    ones(layout.udp + 6);
    ones(layout.udp + 7);
  }
  ones(layout.bth + 4);
  std::vector<std::byte> covered(8, std::byte{0xff});
  covered.insert(covered.end(), frame.begin() + static_cast<std::ptrdiff_t>(layout.network),
                 frame.begin() + static_cast<std::ptrdiff_t>(layout.icrc));
  return crc32_by_definition(covered);
}

RC_GTEST_PROP(Icrc, ComposedFramesCarryTheIcrcOfTheDefinition, ()) {
  const auto fields = test::random_frame();
  const auto payload = test::random_payload(2048);
  const auto frame = roce::compose(fields, payload);
  const auto layout = roce::layout_of(fields, payload.size());
  const auto stored = wire::load_icrc(std::span{frame}.last(wire::kIcrcSize));
  RC_ASSERT(stored == icrc_by_definition(fields, frame, layout));
  RC_ASSERT(roce::check_icrc(roce::open_envelope(frame)) == IcrcVerdict::ok);
}

RC_GTEST_PROP(Icrc, PatchEqualsWholeForAnyFieldAnywhere, ()) {
  const auto fields = test::random_frame();
  const auto payload = test::random_payload(4096);
  auto frame = roce::compose(fields, payload);
  const auto layout = roce::layout_of(fields, payload.size());

  // Any run of 1..8 bytes from the BTH's PSN on: all of it is covered and none is masked.
  const auto width = *rc::gen::inRange<std::size_t>(1, 9);
  const std::size_t first = layout.bth + 9;
  RC_PRE(first + width <= layout.icrc);
  const auto at = *rc::gen::inRange<std::size_t>(first, layout.icrc - width + 1);
  const auto change = test::wide<std::uint64_t>(~std::uint64_t{0} >> (64 - 8 * width));

  const std::uint32_t before = wire::load_icrc(std::span{frame}.last(wire::kIcrcSize));
  const std::size_t distance = layout.icrc - at - width;
  const wire::IcrcFieldPatch patch(width, distance);
  const std::uint32_t patched = before ^ patch(change);
  RC_ASSERT(patch.of_step(change) == patch(change));
  RC_ASSERT(patch.of_step(change & 0xffff) == patch(change & 0xffff));

  const auto value = test::wide<std::uint64_t>(~std::uint64_t{0} >> (64 - 8 * width));
  const auto stepped = (value ^ (value + 1)) & ~std::uint64_t{0} >> (64 - 8 * width);
  RC_ASSERT(patch.of_increment(stepped) == patch(stepped));

  std::uint32_t one_by_one = before;
  for (std::size_t i = 0; i < width; ++i) {
    const auto byte = static_cast<std::uint8_t>(change >> 8 * (width - 1 - i));
    frame[at + i] ^= std::byte{byte};
    one_by_one ^= wire::icrc_change(byte, layout.icrc - at - i - 1);
  }
  const auto place = roce::expected_icrc(roce::open_envelope(frame));
  RC_ASSERT(place.has_value());
  RC_ASSERT(place->expected == patched);
  RC_ASSERT(place->expected == one_by_one);
}

RC_GTEST_PROP(Icrc, WhatRoutersChangeLeavesItValid, ()) {
  auto fields = test::random_frame();
  const auto payload = test::random_payload(512);
  const auto before = roce::compose(fields, payload);
  fields.ipv4.dscp ^= 1;
  fields.ipv4.ecn = 3;
  --fields.ipv4.ttl;
  fields.ipv6.traffic_class ^= 0x83;
  fields.ipv6.flow_label ^= 0x12345;
  --fields.ipv6.hop_limit;
  fields.bth.fecn = !fields.bth.fecn;
  fields.vlans.push_back({.id = 7});
  const auto after = roce::compose(fields, payload);
  RC_ASSERT(wire::load_icrc(std::span{before}.last(4)) ==
            wire::load_icrc(std::span{after}.last(4)));
}

}  // namespace
}  // namespace lw
