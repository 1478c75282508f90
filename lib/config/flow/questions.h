// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "core/machine_questions.h"
#include "core/question.h"

namespace lw::config {

/// The questions of a run of flows: those that only the sender can answer, then those of the
/// machine of either side, then those of the receiver. Figures without a limit are asked for by
/// name only, for every flow.
inline constexpr Question kFlowQuestions[] = {
    {.name = "rate",
     .meaning = "share of the rate asked for that was sent, over the run",
     .unit = Expectation::Unit::share,
     .asked = "the frames leave at the rate asked for, within 1 %, over the run",
     .limit = ">= 99%",
     .where = "sender"},
    {.name = "reached",
     .meaning = "share of the duration or number of frames asked for",
     .unit = Expectation::Unit::share,
     .asked = "the run lasts as long, or sends as many frames, as asked",
     .limit = ">= 100%",
     .where = "sender"},
    {.name = "sent_icrc",
     .meaning = "outgoing ICRCs that were computed anew and differ",
     .asked = "each outgoing ICRC that is computed anew is right",
     .limit = "== 0",
     .where = "sender"},
    {.name = "not_sent",
     .meaning = "share of the frames that the port did not take",
     .unit = Expectation::Unit::share,
     .where = "sender"},
    {.name = "rate_error",
     .meaning = "deviation of a flow's rate from the rate asked for",
     .unit = Expectation::Unit::share,
     .where = "sender"},
    {.name = "pacing_p50",
     .meaning = "median of the delay of bursts after their due time",
     .unit = Expectation::Unit::time,
     .where = "sender"},
    {.name = "pacing_p99",
     .meaning = "99th percentile of that",
     .unit = Expectation::Unit::time,
     .where = "sender"},
    {.name = "pacing_max",
     .meaning = "largest of these",
     .unit = Expectation::Unit::time,
     .where = "sender"},
    {.name = "ranks",
     .meaning = "ranks of a common run that failed or started late",
     .asked = "all ranks of a common run start together and deliver their results",
     .limit = "== 0",
     .where = "ranks"},
    {.name = "device",
     .meaning = "failures and wrong messages at the RDMA device of --peer",
     .asked = "the RDMA device of --peer takes all messages, with the bytes that were sent",
     .limit = "== 0",
     .where = "roce-endpoint"},
    kMachineQuestions[0],
    kMachineQuestions[1],
    kFileQuestion,
    {.name = "ended",
     .meaning = "interfaces that disappeared",
     .asked = "no interface disappears",
     .limit = "== 0",
     .where = "ports"},
    {.name = "loss",
     .meaning = "share of the frames sent that never came",
     .unit = Expectation::Unit::share,
     .asked = "every frame comes, where the receiver knows the sender",
     .limit = "== 0",
     .where = "receiver"},
    {.name = "duplicated",
     .meaning = "share of the frames that came again",
     .unit = Expectation::Unit::share,
     .asked = "no frame comes twice",
     .limit = "== 0",
     .where = "receiver",
     .noted = true},
    {.name = "out_of_order",
     .meaning = "share of the frames that came after a later one",
     .unit = Expectation::Unit::share,
     .asked = "the frames come in order",
     .limit = "== 0",
     .where = "receiver",
     .noted = true},
    {.name = "as_asked",
     .meaning = "share of the frames with another field than the profile fixes",
     .unit = Expectation::Unit::share,
     .asked = "the frames have the addresses, QP, P_Key, opcode, PSN and payload that the profile "
              "fixes",
     .limit = "== 0",
     .where = "receiver"},
    {.name = "bad_icrc",
     .meaning = "share of the frames whose ICRC was wrong",
     .unit = Expectation::Unit::share,
     .asked = "no frame comes with a wrong ICRC",
     .limit = "== 0",
     .where = "receiver",
     .noted = true},
    {.name = "clock",
     .meaning = "flows with unknown latencies",
     .asked = "the clocks of the two ends can be compared",
     .limit = "== 0",
     .where = "receiver",
     .noted = true},
    {.name = "ce_marks",
     .meaning = "share of the frames marked CE",
     .unit = Expectation::Unit::share,
     .where = "receiver"},
    {.name = "latency_mean",
     .meaning = "mean one-way latency",
     .unit = Expectation::Unit::time,
     .where = "receiver"},
    {.name = "p50",
     .meaning = "median of the latency",
     .unit = Expectation::Unit::time,
     .where = "receiver"},
    {.name = "p90",
     .meaning = "90th percentile of the latency",
     .unit = Expectation::Unit::time,
     .where = "receiver"},
    {.name = "p99",
     .meaning = "99th percentile of the latency",
     .unit = Expectation::Unit::time,
     .where = "receiver"},
    {.name = "p99_9",
     .meaning = "99.9th percentile of the latency",
     .unit = Expectation::Unit::time,
     .where = "receiver"},
    {.name = "p99_99",
     .meaning = "99.99th percentile of the latency",
     .unit = Expectation::Unit::time,
     .where = "receiver"},
    {.name = "latency_max",
     .meaning = "largest latency",
     .unit = Expectation::Unit::time,
     .where = "receiver"},
    {.name = "jitter",
     .meaning = "mean variation of the latency (RFC 3550)",
     .unit = Expectation::Unit::time,
     .where = "receiver"},
};

namespace flow_questions {
constexpr std::size_t place_of(std::string_view name) {
  std::size_t place = 0;
  while (kFlowQuestions[place].name != name) ++place;
  return place;
}
}  // namespace flow_questions

/// The questions of `roce-gen run`: all.
inline constexpr std::span<const Question> kRunQuestions = kFlowQuestions;
/// Those that only a sender answers.
inline constexpr std::span<const Question> kSenderQuestions =
    kRunQuestions.first(flow_questions::place_of("machine"));
/// Those that only a receiver answers.
inline constexpr std::span<const Question> kReceiverQuestions =
    kRunQuestions.subspan(flow_questions::place_of("loss"));
/// The questions of `roce-gen receive`.
inline constexpr std::span<const Question> kReceiveQuestions =
    kRunQuestions.subspan(flow_questions::place_of("machine"));

}  // namespace lw::config
