// SPDX-License-Identifier: BSD-3-Clause
#include "gen/replay/replay_report.h"

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/traffic/flow_cursor.h"
#include "report/json_line.h"

namespace lw::gen {
namespace {

std::string line(std::uint64_t count, std::string_view what) {
  return count > 0 ? fmt::format("{} frames {}\n", count, what) : std::string{};
}

}  // namespace

void ReplayReport::count(std::size_t size) noexcept {
  ++frames;
  bytes += size;
  wire_bytes += gen::wire_bytes(size);
}

std::string to_text(const ReplayReport& r) {
  std::string text =
      fmt::format("{} frames, {} in {}", r.frames, format_bytes(static_cast<double>(r.bytes)),
                  format_duration(r.elapsed));
  if (r.elapsed.count() > 0) {
    const double seconds = static_cast<double>(r.elapsed.count()) * 1e-9;
    text += fmt::format(": {} on the wire",
                        format_bit_rate(8.0 * static_cast<double>(r.wire_bytes) / seconds));
  }
  text += fmt::format(", {} not sent\n", r.not_sent);
  if (r.latest.count() > 0) {
    text += fmt::format("the latest left {} after it was due\n", format_duration(r.latest));
  }
  text += line(r.source.not_roce, "are no RoCE: sent as they are");
  text += line(r.source.no_icrc, "are RoCE whose ICRC can't be found: sent as they are");
  text += line(r.source.left_out, "are no RoCE: left out");
  text += line(r.source.cut, "were cut by the capture: left out");
  text += line(r.source.too_long, "are too long for the port: left out");
  return text;
}

std::string to_json(const ReplayReport& r) {
  const report::Json json = {{"frames", r.frames},
                             {"bytes", r.bytes},
                             {"not_sent", r.not_sent},
                             {"elapsed_ns", r.elapsed.count()},
                             {"latest_ns", r.latest.count()},
                             {"read", r.source.read},
                             {"not_roce", r.source.not_roce},
                             {"no_icrc", r.source.no_icrc},
                             {"left_out", r.source.left_out},
                             {"cut", r.source.cut},
                             {"too_long", r.source.too_long}};
  return report::json_line(json);
}

}  // namespace lw::gen
