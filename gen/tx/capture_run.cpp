// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/capture_run.h"

#include <array>

#include "gen/tx/tx_group.h"

namespace lw::gen {
namespace {

constexpr std::size_t kLongestFrame = 4400;      // 4096 bytes and all headers
constexpr std::uint64_t kStopCheckEvery = 1024;  // frames

}  // namespace

Result<RunReport> run_into_capture(const config::FlowProfile& profile, TxScheduler& scheduler,
                                   capture::Writer& writer, const Limits& limits) {
  RunReport report;
  report.flows.resize(profile.flows.size());
  std::array<std::byte, kLongestFrame> buffer;
  for (std::uint64_t sent = 0; sent < limits.count; ++sent) {
    if (sent % kStopCheckEvery == 0 && (limits.stopped() || writer.failed())) {
      report.ended_by = limits.stopped() ? EndedBy::signal : EndedBy::failure;
      break;
    }
    auto due = scheduler.next();
    if (!due) break;
    if (limits.duration && due->at >= *limits.duration) {
      report.ended_by = EndedBy::duration;
      break;
    }
    const Instant stamp = kVirtualStart + due->at;
    due->fields.send_time_ns = static_cast<std::uint64_t>(to_ns(stamp));
    due->frame->write(due->fields, buffer);
    const auto frame = wire::Bytes(buffer).first(due->size());
    const auto written = writer.write(stamp, frame, static_cast<std::uint32_t>(frame.size()));
    if (!written) return std::unexpected(written.error());
    FlowCounters& counters = report.flows[due->flow];
    if (counters.frames == 0) counters.begin = due->at;
    count_sent(counters, frame_info(scheduler.cursor(due->flow)), 1);
    scheduler.advance();
    counters.span = scheduler.cursor(due->flow).pacer().span();
    counters.shared = shared_part(counters.span - due->at, profile.flows[due->flow].qps);
  }
  report.elapsed = report.total().span;
  report.duration = limits.duration;
  report.count = limits.count;
  if (report.total().frames == limits.count) report.ended_by = EndedBy::count;
  return report;
}

}  // namespace lw::gen
