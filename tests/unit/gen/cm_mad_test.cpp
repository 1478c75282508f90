// SPDX-License-Identifier: BSD-3-Clause
// Connection management as Linux' rdma_cm speaks it: real requests and replies are understood, and
// written again they are the same bytes where they say the same.
#include "gen/perf/cm/cm_mad.h"

#include <gtest/gtest.h>

#include "roce/frame.h"
#include "support/captures.h"

namespace lw::test {
namespace {

using gen::MadBytes;
using wire::CmMessage;

struct Heard {
  gen::CmHeading heading;
  std::vector<std::byte> mad;
};

std::vector<Heard> messages_of(const char* file) {
  std::vector<Heard> all;
  for (const CapturedFrame& captured : frames_of(source_root() / "pcaps" / "rxe" / file)) {
    const auto frame = roce::parse(captured.bytes, captured.wire_length);
    if (!frame || frame->mad == nullptr) continue;
    const auto heading = gen::read_heading(frame->payload);
    EXPECT_TRUE(heading);
    all.push_back({*heading, {frame->payload.begin(), frame->payload.end()}});
  }
  return all;
}

class CmMad : public testing::TestWithParam<const char*> {};

TEST_P(CmMad, real_connections_are_understood) {
  std::size_t requests = 0, replies = 0;
  std::optional<gen::ConnectRequest> asked;
  for (const Heard& heard : messages_of(GetParam())) {
    if (heard.heading.message == CmMessage::req) {
      asked = gen::read_request(heard.mad);
      ASSERT_TRUE(asked);
      EXPECT_EQ(asked->mtu, 1024u << (asked->mtu > 1024 ? 2 : 0));
      EXPECT_EQ(asked->comm_id, heard.heading.ids.local);
      EXPECT_GT(asked->qp.qpn, 1u);
      EXPECT_NE(asked->port, 0);
      EXPECT_NE(asked->source, asked->destination);
      ++requests;
    } else if (heard.heading.message == CmMessage::rep) {
      const auto reply = gen::read_reply(heard.mad);
      ASSERT_TRUE(reply && asked);
      EXPECT_EQ(reply->ids.remote, asked->comm_id);
      EXPECT_GT(reply->qp.qpn, 1u);
      ++replies;
    }
  }
  EXPECT_GE(requests, 1u);
  EXPECT_EQ(requests, replies);
}

INSTANTIATE_TEST_SUITE_P(Captures, CmMad,
                         testing::Values("cm_rping.pcap", "cm_perftest_R.pcap",
                                         "ipv6_cm_rping.pcap"));

TEST(CmMadRoundTrip, what_is_written_is_read) {
  const gen::SessionParams params{.transport = wire::Transport::uc,
                                  .operation = wire::Operation::send,
                                  .immediate = true,
                                  .size = 70'000,
                                  .slots = 3,
                                  .depth = 9,
                                  .va = 0x123456789abc,
                                  .r_key = 0xdeadbeef,
                                  .rate_control = transport::RateControl::dcqcn,
                                  .rate_bps = 25'000'000'000,
                                  .selective_repeat = true};
  const gen::ConnectRequest request{.comm_id = 0x89abcdef,
                                    .qp = {.qpn = 0x123456, .first_psn = wire::Psn{0xfedcba}},
                                    .transport = wire::Transport::uc,
                                    .port = 18515,
                                    .mtu = 2048,
                                    .source = *wire::parse_ip("192.0.2.1"),
                                    .destination = *wire::parse_ip("192.0.2.2"),
                                    .data = gen::to_private_data(params)};
  const MadBytes mad = gen::to_mad(7, request);
  const auto read = gen::read_request(mad);
  ASSERT_TRUE(read);
  EXPECT_EQ(gen::read_session_params(read->data), params);
  EXPECT_EQ(read->mtu, 2048u);
  EXPECT_EQ(read->transport, wire::Transport::uc);
  EXPECT_EQ(read->qp.first_psn, request.qp.first_psn);
  EXPECT_EQ(read->source, request.source);
  EXPECT_EQ(gen::to_mad(7, *read), mad);
}

TEST(CmMadRoundTrip, a_refusal_says_why_and_nothing_is_read_from_less) {
  const MadBytes mad = gen::refusal_mad(7, {1, 2}, "no room");
  EXPECT_EQ(gen::read_refusal(mad), "no room");
  for (std::size_t size = 0; size < mad.size(); ++size) {
    const wire::Bytes cut(mad.data(), size);
    EXPECT_FALSE(gen::read_heading(cut));
    EXPECT_FALSE(gen::read_request(cut) && size < 256);
  }
  EXPECT_FALSE(gen::read_session_params(wire::Bytes(mad)));
  EXPECT_FALSE(gen::read_session_params(gen::to_private_data(gen::SessionParams{.size = 0})));
  const gen::SessionParams no_rate{.size = 1, .rate_control = transport::RateControl::fixed};
  EXPECT_FALSE(gen::read_session_params(gen::to_private_data(no_rate)));
  for (const gen::SessionParams& lacks :
       {gen::SessionParams{.transport = wire::Transport::uc, .echo = true, .size = 8},
        gen::SessionParams{.transport = wire::Transport::uc, .size = 7},
        gen::SessionParams{.transport = wire::Transport::ud, .size = 8},
        gen::SessionParams{
            .transport = wire::Transport::rd, .operation = wire::Operation::send, .size = 8},
        gen::SessionParams{.transport = wire::Transport::uc,
                           .operation = wire::Operation::read_request,
                           .size = 8}}) {
    EXPECT_FALSE(gen::read_session_params(gen::to_private_data(lacks)));
  }
}

TEST(CmMadRoundTrip, findings_and_offers) {
  const gen::ServerStats stats{
      .checked = 5, .wrong = 1, .duplicates = 2, .out_of_sequence = 3, .cnps = 4, .dropped = 6};
  EXPECT_EQ(gen::read_server_stats(gen::to_private_data(stats)), stats);
  EXPECT_FALSE(gen::read_remote_memory(gen::to_private_data(stats)));
  const MadBytes drep = gen::to_mad(CmMessage::drep, 1, {1, 2}, gen::to_private_data(stats));
  EXPECT_EQ(gen::read_server_stats(gen::data_of_pair(drep)), stats);
}

}  // namespace
}  // namespace lw::test
