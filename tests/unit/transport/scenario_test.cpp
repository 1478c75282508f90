// SPDX-License-Identifier: BSD-3-Clause
// What a reliable connection does when something goes wrong, packet by packet, as golden text:
// tests/golden/transport/NAME.txt. Each was read against IBTA vol. 1, 9.7 before it was kept.
// LONGWIRE_WRITE_GOLDEN=1 writes what happens now, to be read again.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "support/transport_lab.h"

namespace lw::test {
namespace {

using emulator::EventAction, emulator::EventConfig, emulator::PacketKind;
using transport::WorkRequest;
using wire::Operation;
using wire::Psn;

constexpr std::uint32_t kQp = sim::Host::kFirstQpn;

struct Scenario {
  const char* name;
  LabConfig lab = {};
  std::vector<WorkRequest> requests = {};
  int receives = 0;
  int late_receives = 0;  // posted after 100 us
};

/// Go-back-N over 10 us at 10 Gb/s, packets of 1024 B: a gap is seen before the sender is done.
LabConfig lab(std::vector<EventConfig> there = {}, std::vector<EventConfig> back = {}) {
  LabConfig config;
  config.qp.mtu = 1024;
  config.qp.send_psn = Psn{100};
  config.qp.receive_psn = Psn{100};
  config.qp.timeout = 5;  // 131 us
  config.qp.retry_count = 2;
  config.there.events = std::move(there);
  config.back.events = std::move(back);
  return config;
}
EventConfig event(std::uint32_t psn, PacketKind kind, EventAction action, std::uint32_t nth) {
  EventConfig event = packet_event(kQp, psn, kind, action, nth);
  if (action == EventAction::delay) event.delay = Duration{3'000};
  return event;
}
EventConfig request(std::uint32_t psn, EventAction action = EventAction::drop,
                    std::uint32_t nth = 1) {
  return event(psn, PacketKind::request, action, nth);
}
EventConfig response(std::uint32_t psn, PacketKind kind, EventAction action = EventAction::drop) {
  return event(psn, kind, action, 1);
}

WorkRequest of(Operation operation, std::uint32_t length, std::uint64_t id = 1) {
  return {.id = id,
          .operation = operation,
          .length = length,
          .local_va = kLabVa,
          .remote_va = kLabVa + 0x8000,
          .swap_add = 5};
}
WorkRequest immediate(Operation operation, std::uint32_t length, std::uint32_t word) {
  WorkRequest request = of(operation, length);
  request.immediate = true;
  request.word = word;
  return request;
}

LabConfig with(LabConfig config, void (*change)(LabConfig&)) {
  change(config);
  return config;
}

std::vector<Scenario> scenarios() {
  constexpr std::uint32_t kFour = 4096;
  const auto write = of(Operation::write, kFour);
  const auto read = of(Operation::read_request, kFour);
  const auto add = of(Operation::fetch_add, 8);
  return {
      {"write", lab(), {write}},
      {"send_with_immediate", lab(), {immediate(Operation::send, 1500, 77)}, 1},
      {"read", lab(), {read}},
      {"lost_first", lab({request(100)}), {write}},
      {"lost_middle", lab({request(101)}), {write}},
      {"lost_last", lab({request(103)}), {write}},
      {"lost_ack", lab({}, {response(103, PacketKind::ack)}), {write}},
      {"lost_ack_then_newer",
       lab({}, {response(103, PacketKind::ack)}),
       {write, of(Operation::write, 10, 2)}},
      {"lost_nak", lab({request(101)}, {response(101, PacketKind::nak)}), {write}},
      {"lost_read_request", lab({request(100)}), {read}},
      {"lost_read_response", lab({}, {response(101, PacketKind::read_response)}), {read}},
      {"lost_read_last_response", lab({}, {response(103, PacketKind::read_response)}), {read}},
      {"lost_read_behind_write",
       lab({}, {response(101, PacketKind::read_response)}),
       {of(Operation::write, 8), read}},
      {"corrupt", lab({request(101, EventAction::corrupt)}), {write}},
      {"duplicate_write", lab({request(102, EventAction::duplicate)}), {write}},
      {"duplicate_last", lab({request(103, EventAction::duplicate)}), {write}},
      {"duplicate_read",
       lab({request(100, EventAction::duplicate)}),
       {of(Operation::read_request, 2048)}},
      {"reordered_write", lab({request(101, EventAction::delay)}), {write}},
      {"reordered_read_response",
       lab({}, {response(101, PacketKind::read_response, EventAction::delay)}),
       {read}},
      {"two_gaps", lab({request(100), request(102)}), {write}},
      {"lost_atomic_ack",
       lab({}, {response(100, PacketKind::atomic_ack)}),
       {add, of(Operation::fetch_add, 8, 2)}},
      {"duplicate_atomic", lab({request(100, EventAction::duplicate)}), {add}},
      {"rnr", lab(), {of(Operation::send, 2000)}, 0, 1},
      {"rnr_immediate_write", lab(), {immediate(Operation::write, 2000, 9)}, 0, 1},
      {"rnr_exhausted",
       with(lab(), [](LabConfig& c) { c.qp.rnr_retry = 2; }),
       {of(Operation::send, 10), of(Operation::send, 10, 2)}},
      {"retry_exhausted",
       lab({request(100), request(100, EventAction::drop, 2), request(100, EventAction::drop, 3)}),
       {of(Operation::write, 10), of(Operation::write, 10, 2)}},
      {"psn_wrap",
       with(lab({request(0)}),
            [](LabConfig& c) { c.qp.send_psn = c.qp.receive_psn = Psn{0xfffffe}; }),
       {write}},
      {"read_psn_wrap",
       with(lab({}, {response(0, PacketKind::read_response)}),
            [](LabConfig& c) { c.qp.send_psn = c.qp.receive_psn = Psn{0xfffffe}; }),
       {read}},
      {"remote_access_error",
       lab(),
       {[] {
          WorkRequest bad = of(Operation::write, 2048);
          bad.remote_va = 0;
          return bad;
        }(),
        of(Operation::write, 8, 2)}},
      {"marked_burst",
       with(lab({request(100, EventAction::mark), request(101, EventAction::mark),
                 request(103, EventAction::mark)}),
            [](LabConfig& c) {
              c.qp.rate_control = transport::RateControl::dcqcn;
              c.qp.dcqcn.min_time_between_cnps_us = 2;
            }),
       {write}},
      {"selective_repeat_of_a_read",
       with(lab({request(100), request(104)}),
            [](LabConfig& c) { c.qp.recovery = transport::LossRecovery::selective_repeat; }),
       {write, read, of(Operation::write, 10, 2)}},
      {"selective_repeat",
       with(lab({request(101), request(103)}),
            [](LabConfig& c) { c.qp.recovery = transport::LossRecovery::selective_repeat; }),
       {of(Operation::write, 6144)}},
      // Both retransmissions are lost too: only the timer tells, once for both.
      {"selective_repeat_lost_again",
       with(lab({request(101), request(103), request(101, EventAction::drop, 2),
                 request(103, EventAction::drop, 2)}),
            [](LabConfig& c) { c.qp.recovery = transport::LossRecovery::selective_repeat; }),
       {of(Operation::write, 6144)}},
      // No packet follows the lost ones: after the expiry, the newest packet's report shows them
      // all.
      {"selective_repeat_lost_tail",
       with(lab({request(102), request(103), request(104), request(105)}),
            [](LabConfig& c) { c.qp.recovery = transport::LossRecovery::selective_repeat; }),
       {of(Operation::write, 6144)}},
      // The bitmap has three bits, and so has the window: the sender waits for the gap.
      {"selective_repeat_small_bitmap",
       with(lab({request(100)}),
            [](LabConfig& c) {
              c.qp.recovery = transport::LossRecovery::selective_repeat;
              c.qp.reorder_packets = 3;
            }),
       {of(Operation::write, 6144)}},
  };
}

std::string play(const Scenario& scenario) {
  Lab lab(scenario.lab);
  lab.keep_log();
  const auto receive = [&](int i) {
    lab.server->post(
        0, transport::Receive{.id = static_cast<std::uint64_t>(i), .va = kLabVa, .length = 4096});
  };
  for (int i = 0; i < scenario.receives; ++i) receive(i);
  for (const WorkRequest& request : scenario.requests) lab.post(request);
  if (scenario.late_receives > 0) {
    lab.simulation.run_until(instant_from_ns(100'000));
    for (int i = 0; i < scenario.late_receives; ++i) receive(i);
  }
  EXPECT_TRUE(lab.run());
  EXPECT_EQ(lab.simulation.store().in_use(), 0u);
  EXPECT_EQ(lab.completions.size(), scenario.requests.size());
  return lab.text();
}

class ScenarioTest : public testing::TestWithParam<Scenario> {};

TEST_P(ScenarioTest, plays_as_recorded) {
  const std::string file = std::string(std::getenv("LONGWIRE_SOURCE")) +
                           "/tests/golden/transport/" + GetParam().name + ".txt";
  const std::string happened = play(GetParam());
  if (std::getenv("LONGWIRE_WRITE_GOLDEN")) std::ofstream(file) << happened;
  std::ifstream in(file);
  std::stringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(happened, expected.str());
}

INSTANTIATE_TEST_SUITE_P(Rc, ScenarioTest, testing::ValuesIn(scenarios()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace lw::test
