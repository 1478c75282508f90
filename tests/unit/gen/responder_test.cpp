// SPDX-License-Identifier: BSD-3-Clause
// What a peer may ask of roce-gen respond: numbers at their extremes, requests that nobody
// confirms, accesses outside its memory. Each is refused and costs what is stated, and other
// clients go on.
#include <random>

#include <gtest/gtest.h>

#include "gen/limits.h"
#include "support/responder_lab.h"

namespace lw::test {
namespace {

using gen::SessionParams;
using wire::CmMessage, wire::Operation;

constexpr std::uint64_t kMemory = 64u << 20;

SessionParams sends(std::uint32_t size, std::uint32_t slots, std::uint32_t depth) {
  return {.operation = Operation::send, .size = size, .slots = slots, .depth = depth};
}

/// A session of one message of `size` bytes that the responder stores.
SessionParams stored(std::uint32_t size) {
  SessionParams params = sends(size, 1, 1);
  params.echo = true;
  return params;
}

roce::FrameFields request_frame(ResponderLab& lab, std::uint8_t opcode, std::uint32_t number = 0) {
  roce::FrameFields fields = ResponderLab::fields_from(1, opcode, lab.reply.qp.qpn);
  fields.bth.psn = lab.reply.qp.first_psn + number;
  fields.bth.ack_req = true;
  return fields;
}

constexpr std::uint8_t kSendOnly = 0x04, kWriteOnly = 0x0a, kReadRequest = 0x0c, kFetchAdd = 0x14;

TEST(Responder, refuses_a_region_whose_size_wraps_around) {
  ResponderLab lab(kMemory);
  // 2 x 3037000501 x 3037000500 is 2^64 + 8192, rounded to pages.
  for (const auto& [size, slots] : {std::pair{3037000501u, 3037000500u},
                                    {0x80000000u, 0x80000000u},
                                    {0xffffffffu, 0xffffffffu},
                                    {0x80000000u, 0xffffffffu},
                                    {4096u, 0xfffffff1u}}) {
    EXPECT_FALSE(lab.ask(1, sends(size, slots, 3))) << size << " " << slots;
    EXPECT_NE(lab.refusal, "");
  }
  EXPECT_EQ(lab.side.half_open(), 0u);
  EXPECT_TRUE(lab.ask(2, sends(64, 2, 2)));
}

TEST(Responder, needs_no_memory_for_messages_that_it_does_not_store) {
  ResponderLab lab(kMemory);
  EXPECT_FALSE(lab.ask(1, stored(40u << 20)));
  ASSERT_TRUE(lab.ask(2, sends(40u << 20, 1, 1)));
  lab.confirm(2);
  EXPECT_LT(lab.side.memory(), 1u << 20);
}

TEST(Responder, counts_receives_echoes_and_kept_packets_as_memory) {
  ResponderLab lab(kMemory);
  EXPECT_FALSE(lab.ask(1, sends(64, 1, 0xffffffff)));
  EXPECT_EQ(lab.refusal, "depth: expected 1 to 1048576, found 4294967295");
  EXPECT_FALSE(lab.ask(1, sends(1, 1, 1u << 20)));
  EXPECT_EQ(lab.refusal, "--memory 67.11 MB doesn't hold another 100.7 MB");
  SessionParams echoes = sends(1, 1, 1u << 18);
  echoes.echo = true;
  EXPECT_FALSE(lab.ask(1, echoes));
  SessionParams kept = sends(64, 1, 1u << 16);
  EXPECT_TRUE(lab.ask(1, kept));
  kept.selective_repeat = true;
  EXPECT_FALSE(lab.ask(2, kept));
}

/// Any numbers: what is accepted fits in the memory, and its receives hold.
TEST(Responder, accepts_only_what_fits) {
  std::mt19937_64 random(1);
  const std::uint32_t extremes[] = {0,          1,           7,           8,          1023,
                                    1024,       4096,        1u << 20,    1u << 30,   1u << 31,
                                    0x80000001, 3037000500u, 0xfffffff0u, 0xffffffffu};
  const auto any = [&] {
    const std::uint64_t bits = random();
    return bits % 3 == 0 ? static_cast<std::uint32_t>(bits >> 32 >> (bits >> 8) % 32)
                         : extremes[(bits >> 8) % std::size(extremes)];
  };
  ResponderLab lab(kMemory);
  int accepted = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    SessionParams params = sends(any(), any(), any());
    params.transport = static_cast<wire::Transport>(random() % 6);
    params.operation = static_cast<Operation>(random() % 12);
    params.echo = random() % 4 == 0;
    params.selective_repeat = random() % 4 == 0;
    if (!lab.ask(i, params)) continue;
    ++accepted;
    lab.confirm(i);
    const std::vector<std::byte> message(std::min(params.size, ResponderLab::kMtu));
    lab.channel.give(request_frame(lab, kSendOnly), message);
    lab.poll();
    EXPECT_LE(lab.side.memory(), kMemory);
    lab.give_mad(
        gen::disconnect_mad(1, {.local = i, .remote = lab.reply.ids.local}, lab.reply.qp.qpn));
    lab.poll();
  }
  EXPECT_GT(accepted, 100);
  EXPECT_EQ(lab.side.open(), 0u);
  EXPECT_EQ(lab.side.memory(), 0u);
}

TEST(Responder, is_not_kept_busy_by_requests_that_nobody_confirms) {
  ResponderLab lab(kMemory);
  for (std::uint32_t i = 0; i < 5000; ++i)
    ASSERT_TRUE(lab.ask(i, stored(16u << 20), static_cast<std::uint8_t>(3 + i % 200)));
  EXPECT_LE(lab.side.half_open(), kMemory / gen::kConnectionCost);
  EXPECT_EQ(lab.side.memory(), 0u);
  ASSERT_TRUE(lab.ask(1, stored(16u << 20)));
  const auto own = lab.reply;
  for (std::uint32_t i = 0; i < 500; ++i) ASSERT_TRUE(lab.ask(10'000 + i, stored(1u << 20), 3));
  lab.reply = own;
  lab.confirm(1);
  EXPECT_EQ(lab.side.open(), 1u);
  EXPECT_GT(lab.side.memory(), 32u << 20);
}

TEST(Responder, forgets_requests_that_nobody_confirms) {
  ResponderLab lab(kMemory);
  ASSERT_TRUE(lab.ask(1, sends(64, 1, 1)));
  lab.now += gen::kConfirmWithin / 2;
  ASSERT_TRUE(lab.ask(1, sends(64, 1, 1)));  // repeated
  ASSERT_TRUE(lab.ask(2, sends(64, 1, 1)));
  lab.now += gen::kConfirmWithin;
  lab.side.sweep(lab.now);
  EXPECT_EQ(lab.side.half_open(), 2u);
  lab.now += std::chrono::seconds(2);
  lab.side.sweep(lab.now);
  EXPECT_EQ(lab.side.half_open(), 0u);
  EXPECT_TRUE(lab.side.sessions.empty());
}

TEST(Responder, takes_the_first_packet_as_the_confirmation) {
  ResponderLab lab(kMemory);
  ASSERT_TRUE(lab.ask(1, sends(64, 1, 1)));
  roce::FrameFields strange = request_frame(lab, kSendOnly);
  strange.ipv4.source = std::get<wire::Ipv4Address>(test_host(9).ip);
  lab.channel.give(strange, {});
  lab.poll();
  EXPECT_EQ(lab.side.open(), 0u);
  lab.channel.give(request_frame(lab, kSendOnly), std::vector<std::byte>(64));
  lab.poll();
  EXPECT_EQ(lab.side.open(), 1u);
  ASSERT_EQ(lab.channel.sent.size(), 1u);  // the ACK
}

TEST(Responder, refuses_a_confirmation_when_others_have_the_memory) {
  ResponderLab lab(kMemory);
  ASSERT_TRUE(lab.ask(1, stored(20u << 20)));
  const auto first = lab.reply;
  ASSERT_TRUE(lab.ask(2, stored(20u << 20)));
  lab.confirm(2);
  lab.reply = first;
  lab.confirm(1);
  EXPECT_EQ(lab.take_answers(), std::vector{CmMessage::rej});
  EXPECT_NE(lab.refusal.find("doesn't hold another"), std::string::npos);
  EXPECT_EQ(lab.side.open(), 1u);
}

TEST(Responder, is_not_closed_by_who_does_not_know_the_connection) {
  ResponderLab lab(kMemory);
  ASSERT_TRUE(lab.ask(1, sends(64, 1, 1)));
  lab.confirm(1);
  lab.give_mad(gen::disconnect_mad(1, {.local = 1, .remote = lab.reply.ids.local + 1}, 0));
  lab.poll();
  EXPECT_EQ(lab.side.open(), 1u);
  EXPECT_TRUE(lab.take_answers().empty());
}

TEST(Responder, has_no_access_outside_the_region) {
  struct Access {
    std::uint8_t opcode;
    std::uint64_t offset;
    std::uint32_t length;
  };
  constexpr std::uint64_t kSize = 8192;
  for (const auto& [opcode, offset, length] : {Access{kWriteOnly, kSize, 8},
                                               {kWriteOnly, kSize - 4, 8},
                                               {kWriteOnly, ~0ull - 3, 8},
                                               {kWriteOnly, 1ull << 40, 8},
                                               {kReadRequest, 0, kSize + 1},
                                               {kReadRequest, 4, 0xffffffff},
                                               {kReadRequest, ~0ull, 2},
                                               {kFetchAdd, kSize, 8},
                                               {kFetchAdd, ~0ull - 7, 8},
                                               {kFetchAdd, 4, 8}}) {
    ResponderLab lab(kMemory);
    ASSERT_TRUE(lab.ask(1, {.operation = Operation::write, .size = 64, .slots = 1}));
    lab.confirm(1);
    lab.take_answers();
    roce::FrameFields fields = request_frame(lab, opcode);
    const std::uint64_t va = gen::MemoryLayout::va_of(lab.reply.qp.qpn) + offset;
    const std::uint32_t key = gen::MemoryLayout::r_key_of(lab.reply.qp.qpn);
    fields.reth = {.va = va, .r_key = key, .dma_length = length};
    fields.atomiceth = {.va = va, .r_key = key, .swap_or_add = 1, .compare = 0};
    lab.channel.give(fields, std::vector<std::byte>(opcode == kWriteOnly ? 8 : 0));
    lab.poll();
    ASSERT_EQ(lab.channel.sent.size(), 1u);
    const std::uint8_t syndrome = lab.channel.sent[0].fields.aeth.syndrome;
    EXPECT_TRUE(syndrome == 0x61 || syndrome == 0x62) << +syndrome;
  }
}

/// READs without end: the responses that wait are bounded, and other connections get theirs.
TEST(Responder, keeps_a_bounded_number_of_responses) {
  ResponderLab lab(kMemory);
  ASSERT_TRUE(lab.ask(1, {.operation = Operation::read_request, .size = 1u << 20, .slots = 1}));
  lab.confirm(1);
  roce::FrameFields fields = request_frame(lab, kReadRequest);
  fields.reth = {.va = gen::MemoryLayout::va_of(lab.reply.qp.qpn),
                 .r_key = gen::MemoryLayout::r_key_of(lab.reply.qp.qpn),
                 .dma_length = 1u << 20};
  const gen::Connection& connection = *lab.endpoint.find(lab.reply.qp.qpn);
  for (int i = 0; i < 3000; ++i) {
    lab.channel.give(fields, {});  // executed once, then repeated
    lab.poll();
    lab.channel.sent.clear();
  }
  // Each poll sends 64 packets of a response of 1024.
  EXPECT_LE(connection.pair().responder_counters().duplicates,
            transport::ResponseQueue::kMost + 3000 * 64 / 1024 + 1);
}

TEST(Responder, uses_qp_numbers_again_after_the_last_but_none_twice) {
  ResponderLab lab(kMemory);
  ASSERT_TRUE(lab.ask(1, sends(64, 1, 1)));
  lab.confirm(1);
  const std::uint32_t used = lab.reply.qp.qpn;
  for (std::uint32_t i = 0; i < 1u << 24; ++i) {
    const std::uint32_t qpn = lab.endpoint.reserve_qpn();
    ASSERT_TRUE(qpn >= 0x11 && qpn <= 0xffffff && qpn != used) << qpn;
  }
}

}  // namespace
}  // namespace lw::test
