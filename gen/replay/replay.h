// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture/writer.h"
#include "core/figure.h"
#include "core/question.h"
#include "core/time.h"
#include "gen/replay/replay_source.h"
#include "gen/tx/ports.h"
#include "report/run_rows.h"

namespace lw::gen {

/// Largest frame that can be replayed through a port, in bytes.
inline constexpr std::size_t kLongestReplayed = nic::PoolConfig{}.frame_size;

/// Result of a replay.
struct ReplayReport {
  std::uint64_t frames = 0, bytes = 0;  // sent; bytes as a capture shows them, without FCS
  std::uint64_t wire_bytes = 0;         // with preamble, FCS and gap
  std::uint64_t not_sent = 0;           // dropped, because the port accepted no more
  Duration elapsed{0};  // to the last frame's due time in a file, to the end in real time
  // largest delay from a frame's due time to its hand-over to the port; 0 in a file
  Duration latest{0};
  Duration behind{0};                   // delay of the last frame; 0 in a file
  bool paced = false;                   // it was to keep to a speed
  EndedBy ended_by = EndedBy::flows;    // flows: the end of the capture
  std::optional<Machine> machine = {};  // none in a file
  ReplayCounters source;
  std::optional<PortLosses> port;  // none in a file

  void count(std::size_t size) noexcept;
  static const FigureTable& figures();
};
inline constexpr JsonOutput kReplayOutput{.name = "send_replay",
                                          .title = "roce-gen replay --json",
                                          .figures = &ReplayReport::figures,
                                          .judged = true,
                                          .version = 2};

class ReplayView;

/// Adds what a replay observed of kReplayQuestions.
void observe_replay(Judge& judge, const ReplayReport& report, const ReplayOptions& options);
/// The rows of a replay's page.
report::RunRows page_rows(const ReplayReport& report);
/// Text lines.
std::string to_text(const ReplayReport& report);

/// Writes the frames into a capture without waiting. Virtual time starts at the first frame's time
/// stamp. Errors: those of the files.
Result<ReplayReport> replay_into_capture(ReplaySource& source, capture::Writer& writer,
                                         const Limits& limits, ReplayView& view);

/// Sends the frames through the first port in real time: each frame when it is due, or as soon
/// afterwards as the port accepts it (see TxBurst::send()). `copy` may be null; otherwise it gets
/// the frames that the port accepted, with the wall clock's time just before. Errors: those of the
/// files.
Result<ReplayReport> replay_through_port(ReplaySource& source, Ports& ports, capture::Writer* copy,
                                         const Limits& limits, ReplayView& view);

}  // namespace lw::gen
