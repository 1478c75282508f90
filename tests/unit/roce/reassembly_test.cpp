// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include <gtest/gtest.h>

#include "roce/frame.h"
#include "roce/message.h"
#include "support/captures.h"
#include "support/reassembler.h"

namespace lw::roce {
namespace {

using test::Reassembler, test::Violation;

struct Totals {
  int messages = 0;
  std::map<Violation, int> violations;
  std::map<std::uint64_t, int> lengths;
};

/// The requests of a capture, each QP by itself.
Totals reassemble_requests(const std::string& file) {
  Totals totals;
  std::map<FlowKey, Reassembler> streams;
  for (const auto& captured : test::frames_of(test::source_root() / "pcaps/rxe" / file)) {
    const auto frame = parse(captured.bytes, captured.wire_length);
    if (!frame || !frame->info || frame->info->role != wire::Role::request) continue;
    const auto outcome = streams[flow_key(*frame)].add(*frame);
    if (outcome.violation != Violation::none) ++totals.violations[outcome.violation];
    if (!outcome.completed) continue;
    ++totals.messages;
    ++totals.lengths[outcome.completed->message.length];
  }
  return totals;
}

// tshark -r uc_send_write.pcap -Y 'infiniband.bth.opcode in {34,40}' counts 10 and 10 LASTs.
TEST(ReassemblyOf, RxesUnreliableMessagesIsWhole) {
  const auto totals = reassemble_requests("uc_send_write.pcap");
  EXPECT_EQ(totals.messages, 20);
  EXPECT_TRUE(totals.violations.empty());
}

// Frames dropped *behind* the capture point: the capture sees go-back-N, PSNs asked again.
TEST(ReassemblyOf, GoBackNShowsRepeatedPsnsAndNoGaps) {
  const auto totals = reassemble_requests("loss_write_sender_side.pcap");
  EXPECT_GT(totals.violations.at(Violation::psn_repeated), 0);
  EXPECT_EQ(totals.violations.count(Violation::psn_gap), 0u);
}

TEST(FlowKeys, TellRolesAndDirectionsApart) {
  const auto frames = test::frames_of(test::source_root() / "pcaps/rxe/atomic.pcap");
  const auto request = flow_key(*parse(frames[0].bytes));
  const auto response = flow_key(*parse(frames[1].bytes));
  EXPECT_EQ(request.role, wire::Role::request);
  EXPECT_EQ(response.role, wire::Role::response);
  EXPECT_EQ(request.source, response.destination);
  EXPECT_NE(FlowKeyHash{}(request), FlowKeyHash{}(response));
  EXPECT_EQ(request, flow_key(*parse(frames[2].bytes)));
}

}  // namespace
}  // namespace lw::roce
