// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "core/machine_questions.h"
#include "core/question.h"

/// The questions of the commands of roce-gen and roce-endpoint, but those of flows, which are in
/// config/flow/questions.h.
namespace lw::gen {

/// Of a run that moves messages: of `roce-gen perf`, and the first of roce-endpoint.
inline constexpr Question kPerfQuestions[] = {
    {.name = "goodput",
     .meaning = "mean rate of payload",
     .unit = Expectation::Unit::rate,
     .asked = "payload arrives",
     .limit = ">= 1b/s",
     .where = "requester"},
    {.name = "failed",
     .meaning = "work requests that failed",
     .asked = "no work request fails",
     .limit = "== 0",
     .where = "requester"},
    {.name = "wrong",
     .meaning = "messages that arrived with other bytes than were sent",
     .asked = "every message that is compared has the bytes that were sent",
     .limit = "== 0",
     .where = "both sides"},
    {.name = "loss",
     .meaning = "share of the messages that did not arrive, of UC and UD",
     .unit = Expectation::Unit::share,
     .asked = "every message arrives",
     .limit = "== 0",
     .where = "responder"},
    {.name = "reached",
     .meaning = "share of the duration or number of messages",
     .unit = Expectation::Unit::share,
     .asked = "the run is not cut short",
     .limit = ">= 100%",
     .where = "requester"},
    kMachineQuestions[1],
    kFileQuestion,
    {.name = "stuck",
     .meaning = "QPs that wait for ever",
     .asked = "no QP waits for ever",
     .limit = "== 0",
     .where = "requester"},
    {.name = "resent",
     .meaning = "share of the packets that were retransmitted",
     .unit = Expectation::Unit::share,
     .asked = "no packet is retransmitted through a port",
     .limit = "== 0",
     .where = "requester",
     .noted = true},
    {.name = "deadlock",
     .meaning = "PFC deadlocks of a network",
     .asked = "no ports of a network wait for each other for ever",
     .limit = "== 0",
     .where = "switches"},
    {.name = "jobs",
     .meaning = "jobs of a network that did not end",
     .asked = "all jobs of a network end within the run",
     .limit = "== 0",
     .where = "ranks"},
    {.name = "ranks",
     .meaning = "ranks of a common run that failed or started late",
     .asked = "all ranks of a common run start together and deliver their results",
     .limit = "== 0",
     .where = "ranks"},
    kMachineQuestions[0],
};
inline constexpr std::span<const Question> kEndpointQuestions =
    std::span<const Question>(kPerfQuestions).first(7);

/// Of `search`.
inline constexpr Question kSearchQuestions[] = {
    {.name = "passes",
     .meaning = "highest rate that passes, on the wire",
     .unit = Expectation::Unit::rate,
     .asked = "a rate passes, and this machine sends and receives the rates above it",
     .limit = ">= 1b/s",
     .where = "sender and receiver"},
    kFileQuestion,
};

/// Of `plan`.
inline constexpr Question kPlanQuestions[] = {
    {.name = "unknown",
     .meaning = "whether a rate is neither computed nor simulated: 1 or 0",
     .asked = "every rate is computed or simulated",
     .limit = "== 0",
     .where = "plan",
     .noted = true},
    {.name = "breaks",
     .meaning = "whether QPs break in a simulated run: 1 or 0",
     .asked = "the QPs do not break",
     .limit = "== 0",
     .where = "simulated run",
     .noted = true},
};

/// Of `experiment` and of sweeps.
inline constexpr Question kExperimentQuestions[] = {
    {.name = "failed",
     .meaning = "runs that failed",
     .asked = "no run fails",
     .limit = "== 0",
     .where = "runs"},
    {.name = "published",
     .meaning = "figures further from the published ones than the experiment permits",
     .asked = "the figures are as near to published ones as the experiment wants",
     .limit = "== 0",
     .where = "comparison"},
    {.name = "reached",
     .meaning = "share of the cells that are finished",
     .unit = Expectation::Unit::share,
     .asked = "all cells are finished",
     .limit = ">= 100%",
     .where = "runs"},
    kFileQuestion,
};

/// Of `replay`.
inline constexpr Question kReplayQuestions[] = {
    {.name = "rate",
     .meaning = "share of the capture's speed, or of --rate, that was reached",
     .unit = Expectation::Unit::share,
     .asked = "the frames leave at the speed of the capture, or at --rate, within 1 %",
     .limit = ">= 99%",
     .where = "sender"},
    {.name = "reached",
     .meaning = "share of the frames or of the duration asked for",
     .unit = Expectation::Unit::share,
     .asked = "the capture is sent to its end, or as far as asked",
     .limit = ">= 100%",
     .where = "sender"},
    {.name = "sendable",
     .meaning = "frames that are too long for the port, or cut in the capture",
     .asked = "every frame of the capture can be sent",
     .limit = "== 0",
     .where = "capture"},
    kMachineQuestions[0],
    kMachineQuestions[1],
    kFileQuestion,
};

/// Of `respond`, for each session, and the first of `roce-endpoint serve`.
inline constexpr Question kRespondQuestions[] = {
    {.name = "wrong",
     .meaning = "messages that arrived with other bytes than were sent",
     .asked = "every message that is compared has the bytes that were sent",
     .limit = "== 0",
     .where = "responder"},
    {.name = "broken",
     .meaning = "connections that failed",
     .asked = "no connection fails",
     .limit = "== 0",
     .where = "responder"},
    kMachineQuestions[0],
    kFileQuestion,
    kMachineQuestions[1],
};
inline constexpr std::span<const Question> kServeQuestions =
    std::span<const Question>(kRespondQuestions).first(4);

/// Of `telemetry`.
inline constexpr Question kTelemetryQuestions[] = {
    {.name = "records",
     .meaning = "packets that have no record, as they came too fast",
     .asked = "every packet has its record",
     .limit = "== 0",
     .where = "source"},
    {.name = "failed",
     .meaning = "records that failed, or were not acknowledged",
     .asked = "the peer acknowledges every record",
     .limit = "== 0",
     .where = "requester"},
    kMachineQuestions[0],
    kMachineQuestions[1],
    kFileQuestion,
};

}  // namespace lw::gen
