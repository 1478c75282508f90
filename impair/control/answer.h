// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figure.h"
#include "core/verdict.h"
#include "impair/datapath/more_room.h"
#include "impair/report/report.h"
#include "impair/report/rule_report.h"

namespace lw::impair {

/// The answer to a request to a run. What the request does not ask for is absent.
struct Answer {
  bool ok = true;
  std::string error = {};                    // of a refusal
  std::optional<unsigned> exit = {};         // of a refusal
  std::optional<std::uint64_t> change = {};  // see InForce
  std::optional<std::vector<RuleRow>> rules = {};
  std::optional<RoomReport> room = {};
  std::optional<std::vector<EventRow>> events = {}, events_on_command = {};
  std::optional<std::vector<ActRow>> scenario = {};
  std::optional<Report> report = {};
  std::optional<Verdict> verdict = {};
  std::optional<std::vector<JsonText>> records = {};
  std::optional<CaptureReport> capture = {};
  std::optional<std::string> text = {};

  static const FigureTable& figures();
  /// Those that every answer has, and its text: what a client reads of it.
  static const FigureTable& head();
};

inline constexpr JsonOutput kControlOutput{.name = "control",
                                           .title = "roce-impair ctl --json",
                                           .figures = &Answer::figures,
                                           .version = 3};

/// The answer that a request is refused.
Answer refusal(const Error& error);

}  // namespace lw::impair
