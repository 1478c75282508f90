// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "core/figure.h"
#include "core/question.h"

namespace lw::gen {

// Tables of results that only their command knows.

const FigureTable& opcode_figures();
inline constexpr JsonOutput kOpcodeOutput{
    .name = "opcode", .title = "roce-gen opcodes --json", .figures = &opcode_figures};
const FigureTable& finding_figures();
inline constexpr JsonOutput kFindingOutput{
    .name = "finding", .title = "roce-gen doctor --json", .figures = &finding_figures};
const FigureTable& otg_fields_figures();
inline constexpr JsonOutput kOtgFieldsOutput{
    .name = "otg_field", .title = "roce-gen otg --fields --json", .figures = &otg_fields_figures};
const FigureTable& telemetry_figures();
inline constexpr JsonOutput kTelemetryOutput{.name = "telemetry",
                                             .title = "roce-gen telemetry --json",
                                             .figures = &telemetry_figures,
                                             .judged = true,
                                             .version = 2};
const FigureTable& respond_figures();
inline constexpr JsonOutput kRespondOutput{.name = "respond_session",
                                           .title = "roce-gen respond --json",
                                           .figures = &respond_figures,
                                           .judged = true,
                                           .version = 2};
const FigureTable& send_device_figures();
inline constexpr JsonOutput kSendDeviceOutput{.name = "send_device",
                                              .title = "roce-gen run --peer --json, second line",
                                              .figures = &send_device_figures};

/// All outputs of JSON.
std::span<const JsonOutput> outputs();

/// All commands, with what they ask of their results.
std::span<const CommandQuestions> questions();

}  // namespace lw::gen
