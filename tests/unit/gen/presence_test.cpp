// SPDX-License-Identifier: BSD-3-Clause
// Questions and answers are Linux's: two network namespaces joined by a veth pair,
// 02:00:00:00:0a:01 (192.0.2.1, 2001:db8::1) asks ...:02, seen by `tcpdump -xx`. Standing in for
// the second, we must say what its kernel said.
#include <gtest/gtest.h>

#include "gen/arp/arp_responder.h"
#include "support/hex.h"

namespace lw::gen {
namespace {

using Frame = std::vector<std::byte>;
using test::from_hex;

const wire::MacAddress kAsker = *wire::parse_mac("02:00:00:00:0a:01");
const wire::MacAddress kOwn = *wire::parse_mac("02:00:00:00:0a:02");
const wire::IpAddress kOwn4 = *wire::parse_ip("192.0.2.2"), kOwn6 = *wire::parse_ip("2001:db8::2");

ArpResponder responder() { return ArpResponder({{kOwn, kOwn4}, {kOwn, kOwn6}}); }

std::optional<Frame> answer(const Frame& question) {
  Frame out;
  if (!responder().answer(question, out)) return std::nullopt;
  return out;
}

Frame arp_request() {
  return from_hex(
      "ffff ffff ffff 0200 0000 0a01 0806 0001 0800 0604 0001 0200 0000 0a01 c000 0201"
      "0000 0000 0000 c000 0202");
}
Frame arp_reply() {
  return from_hex(
      "0200 0000 0a01 0200 0000 0a02 0806 0001 0800 0604 0002 0200 0000 0a02 c000 0202"
      "0200 0000 0a01 c000 0201");
}
Frame solicitation() {
  return from_hex(
      "3333 ff00 0002 0200 0000 0a01 86dd 6000 0000 0020 3aff 2001 0db8 0000 0000 0000 0000 0000"
      "0001 ff02 0000 0000 0000 0000 0001 ff00 0002 8700 1227 0000 0000 2001 0db8 0000 0000 0000"
      "0000 0000 0002 0101 0200 0000 0a01");
}
Frame advertisement() {
  return from_hex(
      "0200 0000 0a01 0200 0000 0a02 86dd 6000 0000 0020 3aff 2001 0db8 0000 0000 0000 0000 0000"
      "0002 2001 0db8 0000 0000 0000 0000 0000 0001 8800 8071 6000 0000 2001 0db8 0000 0000 0000"
      "0000 0000 0002 0201 0200 0000 0a02");
}
/// Duplicate address detection: without a source address, with a nonce.
Frame probe() {
  return from_hex(
      "3333 ff00 0001 0200 0000 0a01 86dd 6000 0000 0020 3aff 0000 0000 0000 0000 0000 0000 0000"
      "0000 ff02 0000 0000 0000 0000 0001 ff00 0001 8700 7aae 0000 0000 2001 0db8 0000 0000 0000"
      "0000 0000 0001 0e01 65ed f1c2 6c85");
}
Frame ping4() {
  return from_hex(
      "0200 0000 0a02 0200 0000 0a01 0800 4500 0024 c839 4000 4001 ee9b c000 0201 c000 0202"
      "0800 211f 1234 0007 6c6f 6e67 7769 7265");
}
Frame ping6() {
  return from_hex(
      "0200 0000 0a02 0200 0000 0a01 86dd 6001 1378 0010 3a40 2001 0db8 0000 0000 0000 0000 0000"
      "0001 2001 0db8 0000 0000 0000 0000 0000 0002 8000 4d5f 1234 0007 6c6f 6e67 7769 7265");
}

TEST(ArpResponder, AnswersArpAsLinuxDoes) { EXPECT_EQ(answer(arp_request()), arp_reply()); }

TEST(ArpResponder, AnswersAPaddedArpRequestWithoutThePadding) {
  auto padded = arp_request();
  padded.resize(60, std::byte{0xee});
  EXPECT_EQ(answer(padded), arp_reply());
}

TEST(ArpResponder, AnswersSolicitationsAsLinuxDoes) {
  EXPECT_EQ(answer(solicitation()), advertisement());
}

TEST(ArpResponder, KeepsTheVlanTag) {
  const auto tag = from_hex("8100 2064");
  auto question = arp_request(), expected = arp_reply();
  for (auto* frame : {&question, &expected}) {
    frame->insert(frame->begin() + 12, tag.begin(), tag.end());
  }
  EXPECT_EQ(answer(question), expected);
  EXPECT_EQ(neighbor_request({kAsker, *wire::parse_ip("192.0.2.1")},
                             std::vector<wire::VlanFields>{{.priority = 1, .id = 100}}, kOwn4),
            question);
}

TEST(ArpResponder, DefendsItsAddressBeforeAll) {
  const ArpResponder one({{kOwn, *wire::parse_ip("2001:db8::1")}});
  Frame out;
  ASSERT_TRUE(one.answer(probe(), out));
  // To all nodes, override and not solicited (RFC 4861, 7.2.4); the checksum is scapy's:
  // raw(IPv6(src='2001:db8::1',dst='ff02::1',hlim=255)/ICMPv6ND_NA(tgt='2001:db8::1',R=0,S=0,O=1)
  //     /ICMPv6NDOptDstLLAddr(lladdr='02:00:00:00:0a:02'))
  EXPECT_EQ(out, from_hex("3333 0000 0001 0200 0000 0a02 86dd 6000 0000 0020 3aff"
                          "2001 0db8 0000 0000 0000 0000 0000 0001"
                          "ff02 0000 0000 0000 0000 0000 0000 0001 8800 ef29 2000 0000"
                          "2001 0db8 0000 0000 0000 0000 0000 0001 0201 0200 0000 0a02"));
}

TEST(ArpResponder, AnswersPings) {
  // The kernel's reply but for what it chose itself: IPv4's identification (ours is the
  // question's) and IPv6's flow label.
  EXPECT_EQ(answer(ping4()),
            from_hex("0200 0000 0a01 0200 0000 0a02 0800 4500 0024 c839 4000 4001 ee9b c000 0202"
                     "c000 0201 0000 291f 1234 0007 6c6f 6e67 7769 7265"));
  EXPECT_EQ(answer(ping6()), from_hex("0200 0000 0a01 0200 0000 0a02 86dd 6001 1378 0010 3a40"
                                      "2001 0db8 0000 0000 0000 0000 0000 0002"
                                      "2001 0db8 0000 0000 0000 0000 0000 0001"
                                      "8100 4c5f 1234 0007 6c6f 6e67 7769 7265"));
}

TEST(ArpResponder, IsSilentToWhatIsNotForIt) {
  for (auto question : {arp_request(), solicitation(), ping4(), ping6()}) {
    const ArpResponder other({{kOwn, *wire::parse_ip("192.0.2.9")}});
    Frame out;
    EXPECT_FALSE(other.answer(question, out));
    std::copy(kOwn.bytes.begin(), kOwn.bytes.end(), question.begin() + 6);  // our own, come back
    if (question[0] == std::byte{0x02}) continue;
    EXPECT_FALSE(answer(question));
  }
  EXPECT_FALSE(answer(arp_reply()));
  EXPECT_FALSE(answer(advertisement()));
  EXPECT_FALSE(answer(probe()));  // of another address
}

TEST(ArpResponder, IsSilentToDamagedQuestions) {
  for (const auto& question : {arp_request(), solicitation(), ping4(), ping6()}) {
    for (std::size_t size = 0; size < question.size(); ++size) {
      EXPECT_FALSE(answer(Frame(question.begin(), question.begin() + static_cast<long>(size))));
    }
  }
  for (std::size_t at = 54; at < solicitation().size(); ++at) {  // its checksum covers all of it
    auto damaged = solicitation();
    damaged[at] ^= std::byte{0x10};
    EXPECT_FALSE(answer(damaged)) << at;
  }
  auto from_afar = solicitation();
  from_afar[21] = std::byte{254};  // a hop limit that no neighbour has
  EXPECT_FALSE(answer(from_afar));
}

TEST(ArpResponder, AsksAsLinuxDoes) {
  EXPECT_EQ(neighbor_request({kAsker, *wire::parse_ip("192.0.2.1")}, {}, kOwn4), arp_request());
  EXPECT_EQ(neighbor_request({kAsker, *wire::parse_ip("2001:db8::1")}, {}, kOwn6), solicitation());
}

TEST(ArpResponder, UnderstandsLinuxsAnswers) {
  EXPECT_EQ(neighbor_entry_in(arp_reply()), (NeighborEntry{kOwn4, kOwn}));
  EXPECT_EQ(neighbor_entry_in(arp_request()),
            (NeighborEntry{*wire::parse_ip("192.0.2.1"), kAsker}));
  EXPECT_EQ(neighbor_entry_in(advertisement()), (NeighborEntry{kOwn6, kOwn}));
  for (const auto& frame : {ping4(), ping6(), solicitation(), probe(), Frame{}}) {
    EXPECT_EQ(neighbor_entry_in(frame), std::nullopt);
  }
}

}  // namespace
}  // namespace lw::gen
