// SPDX-License-Identifier: BSD-3-Clause
#include "roce/envelope.h"
#include "roce/frame.h"
#include "roce/plain_rocev2.h"
#include "support/property.h"
#include "support/random_frame.h"

namespace lw::roce {
namespace {

/// Reads every byte that a parse result points at, so that a sanitizer sees a pointer too far.
std::size_t touch(const Frame& frame) {
  std::size_t sum = frame.bth->fields().dest_qp + frame.payload.size() + frame.icrc.size();
  for (const std::byte b : frame.payload) sum += std::to_integer<std::size_t>(b);
  for (const std::byte b : frame.icrc) sum += std::to_integer<std::size_t>(b);
  wire::for_each_extension(
      [&]<class Header>(wire::Extension, const Header* header) {
        if (!header) return;
        const auto* bytes = reinterpret_cast<const std::byte*>(header);
        for (std::size_t i = 0; i < sizeof(Header); ++i) sum += std::to_integer<unsigned>(bytes[i]);
      },
      frame);
  if (frame.mad) sum += frame.mad->fields().attribute_id;
  return sum;
}

RC_GTEST_PROP(Parse, GivesBackWhatWasComposed, ()) {
  const FrameFields f = test::random_frame();
  const auto payload = test::random_payload(1500);
  const auto bytes = compose(f, payload);
  const auto frame = parse(bytes);
  RC_ASSERT(frame.has_value());
  RC_ASSERT(!frame->defect.has_value());
  RC_ASSERT(frame->payload_length == payload.size());
  RC_ASSERT(std::ranges::equal(frame->payload, payload));
  RC_ASSERT(frame->bth->fields().psn == f.bth.psn);
  RC_ASSERT(frame->bth->fields().dest_qp == f.bth.dest_qp);
  RC_ASSERT(frame->bth->pad_count() == ((4 - payload.size() % 4) & 3));
  wire::for_each_extension(
      [&]<class Header>(wire::Extension extension, const Header* header, const auto& values) {
        RC_ASSERT((header != nullptr) == frame->info->extensions.has(extension));
        if (header) RC_ASSERT(header->fields() == values);
      },
      *frame, f);
}

RC_GTEST_PROP(Parse, EveryTruncationIsCutOrNoRoceAndNeverVerifies, ()) {
  const auto payload = test::random_payload(64);
  const auto bytes = compose(test::random_frame(), payload);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    // A copy of just this length, so that reading on would leave the allocation.
    const std::vector<std::byte> cut(bytes.begin(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(length));
    const auto frame = parse(cut, bytes.size());
    if (frame) {
      touch(*frame);
      RC_ASSERT(frame->defect.has_value());
      RC_ASSERT(frame->payload_length == payload.size());
    }
    const auto verdict = check_icrc(open_envelope(cut, bytes.size()));
    RC_ASSERT(verdict == IcrcVerdict::unverifiable || verdict == IcrcVerdict::not_roce);
  }
}

RC_GTEST_PROP(Parse, RandomDamageNeverReadsOutside, ()) {
  auto bytes = compose(test::random_frame(), test::random_payload(128));
  const auto damages = *rc::gen::inRange(1, 8);
  for (int i = 0; i < damages; ++i) {
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] =
        static_cast<std::byte>(test::wide<std::uint8_t>());
  }
  const auto frame = parse(bytes);
  if (frame) touch(*frame);
  check_icrc(open_envelope(bytes));
}

// Most frames are opened by a short cut, which is for Ethernet alone: without it a packet must be
// the same.
RC_GTEST_PROP(OpenEnvelope, FindsTheSameByTheShortCut, ()) {
  constexpr std::size_t kLink = sizeof(wire::Ethernet);
  auto bytes = compose(test::random_frame(), test::random_payload(200));
  if (*rc::gen::arbitrary<bool>())
    bytes[kLink + *rc::gen::inRange<std::size_t>(0, 40)] ^=
        static_cast<std::byte>(1U << *rc::gen::inRange(0, 8));
  constexpr std::size_t kIpLength = kLink + 2, kUdpLength = kLink + sizeof(wire::Ipv4) + 4;
  if (*rc::gen::inRange(0, 3) == 0) {
    const std::size_t length = *rc::gen::element(kIpLength, kUdpLength);
    bytes[length] = std::byte{0};
    bytes[length + 1] = static_cast<std::byte>(*rc::gen::inRange(0, 60));
  }
  if (*rc::gen::inRange(0, 4) == 0) bytes.resize(*rc::gen::inRange(kLink + 1, bytes.size()));
  const Envelope whole = open_envelope(bytes);
  RC_PRE(whole.ether_type == wire::kEtherTypeIpv4 && whole.vlan_count == 0);
  RC_PRE(std::to_integer<int>(bytes[kLink]) >> 4 == 4);
  const auto packet = std::span<const std::byte>(bytes).subspan(kLink);
  const Envelope bare = open_envelope(packet, packet.size(), LinkType::raw_ip);
  RC_ASSERT(whole.ipv4 == bare.ipv4);
  RC_ASSERT(whole.ipv6 == bare.ipv6);
  RC_ASSERT(whole.udp == bare.udp);
  RC_ASSERT(whole.protocol == bare.protocol);
  RC_ASSERT(whole.fragment == bare.fragment);
  RC_ASSERT(whole.first_fragment == bare.first_fragment);
  RC_ASSERT(whole.fragment_id == bare.fragment_id);
  RC_ASSERT(whole.wire_length == bare.wire_length + kLink);
  if (!whole.ipv4) return;
  RC_ASSERT(whole.network_end == bare.network_end + kLink);
  RC_ASSERT(whole.transport_offset == bare.transport_offset + kLink);
  RC_ASSERT(whole.network_offset == kLink);
  RC_ASSERT(whole.ethernet != nullptr);
  const bool plain = bare.is_roce() && !bare.fragment && bare.ipv4->header_length() == 20 &&
                     packet.size() >= 20 + 8 + 12 && bare.network_end >= 20 + 8 + 12 + 4 &&
                     bare.udp->length.get() >= 8 + 12 + 4;
  RC_CLASSIFY(plain, "plain");
  RC_ASSERT(is_plain_rocev2(bytes) == plain);
  RC_ASSERT(whole.plain == plain);
  RC_ASSERT(check_icrc(whole) == check_icrc(bare));
}

}  // namespace
}  // namespace lw::roce
