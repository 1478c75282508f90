// SPDX-License-Identifier: BSD-3-Clause
#include "gen/replay/replay.h"

namespace lw::gen {

Result<ReplayReport> replay_into_capture(ReplaySource& source, capture::Writer& writer,
                                         const Limits& limits) {
  ReplayReport report;
  while (report.frames < limits.count && !limits.stopped()) {
    const auto frame = source.next();
    if (!frame) return std::unexpected(frame.error());
    if (!*frame || (limits.duration && (*frame)->due >= *limits.duration)) break;
    const wire::Bytes bytes = (*frame)->bytes;
    const auto written = writer.write(source.first_stamp() + (*frame)->due, bytes,
                                      static_cast<std::uint32_t>(bytes.size()));
    if (!written) return std::unexpected(written.error());
    report.count(bytes.size());
    report.elapsed = (*frame)->due;
  }
  report.source = source.tally();
  return report;
}

}  // namespace lw::gen
