// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "capture/reader.h"
#include "core/output.h"
#include "core/quantity.h"
#include "dissect/commands/commands.h"
#include "dissect/compare/compare_format.h"
#include "dissect/fields/frame_source.h"

namespace lw::dissect {
namespace {

struct CompareOptions {
  std::string near, far, filter;
  Asked asked;
  std::size_t most_flows = kMostFlows;
  bool json = false, across_flows = false;
};

ExitCode damage_exit(const CapturePoint& point) {
  return point.damage ? print_error(*point.damage) : ExitCode::done;
}

struct Compared {
  CapturePoint near, far;
  Comparison comparison;
};

Result<Compared> compare_captures(const CompareOptions& options) {
  FlowNames flows(options.most_flows);
  auto near = read_point(options.near, options.filter, flows);
  if (!near) return std::unexpected(near.error());
  auto far = read_point(options.far, options.filter, flows);
  if (!far) return std::unexpected(far.error());
  Compared compared{std::move(*near), std::move(*far), {}};
  compared.comparison =
      compare_points(compared.near, compared.far, flows, {.across_flows = options.across_flows});
  return compared;
}

/// Errors: the file has not the interfaces of a recording of roce-impair.
Result<void> check_recording(const std::string& file) {
  const std::string needs = "compare needs FAR too: only ";
  if (file == "-") return fail(needs + "a file can hold both ends, as it is read several times");
  if (!place_of(file).interfaces.empty())
    return fail(needs + "a whole recording of roce-impair's holds both ends");
  auto reader = capture::Reader::open(file);
  if (!reader) return std::unexpected(reader.error());
  (void)reader->next();
  const auto& found = reader->interfaces();
  for (const std::string_view name : capture::kRecordingInterfaces)
    if (std::ranges::find(found, name, &capture::Interface::name) == found.end())
      return fail(
          fmt::format("{}a recording of roce-impair's (--capture) holds both ends, and {} "
                      "has no interface \"{}\"",
                      needs, file, name));
  return {};
}

void add_frames(CapturePoint& end, const CapturePoint& point) {
  end.frames += point.frames;
  end.roce += point.roce;
  end.unidentified += point.unidentified;
  if (point.damage) end.damage = point.damage;
}

/// One direction, from the interface where its frames came in to that where they went out.
Result<DirectionResult> compare_direction(const CompareOptions& options, std::size_t in,
                                          CapturePoint& sender, CapturePoint& receiver) {
  FlowNames flows(options.most_flows);
  const auto point = [&](std::size_t interface) {
    return read_point(fmt::format("{}@{}", options.near, capture::kRecordingInterfaces[interface]),
                      options.filter, flows);
  };
  const auto came = point(in);
  if (!came) return std::unexpected(came.error());
  const auto went = point(in + 1);
  if (!went) return std::unexpected(went.error());
  add_frames(sender, *came);
  add_frames(receiver, *went);
  return compare_points(*came, *went, flows,
                        {.senders = Senders::near, .across_flows = options.across_flows})
      .near_to_far;
}

/// The west end of a recording is near, the east end far; each interface tells its direction.
Result<Compared> compare_recording(const CompareOptions& options) {
  if (auto holds = check_recording(options.near); !holds) return std::unexpected(holds.error());
  Compared compared;
  compared.near.file = options.near + " west";
  compared.far.file = options.near + " east";
  auto there = compare_direction(options, 0, compared.near, compared.far);
  if (!there) return std::unexpected(there.error());
  auto back = compare_direction(options, 2, compared.far, compared.near);
  if (!back) return std::unexpected(back.error());
  compared.comparison.near_to_far = std::move(*there);
  compared.comparison.far_to_near = std::move(*back);
  compared.far.damage.reset();  // it is near's: both are the same file
  return compared;
}

ExitCode run_compare(const CompareOptions& options) {
  const auto compared =
      options.far.empty() ? compare_recording(options) : compare_captures(options);
  if (!compared) return print_error(compared.error());
  const auto& [near, far, comparison] = *compared;
  print_out(options.json ? comparison_json(near, far, comparison, options.asked)
                         : comparison_text(near, far, comparison, options.asked));
  return std::max(damage_exit(near), damage_exit(far));
}

}  // namespace

app::Command compare_command() {
  auto options = std::make_shared<CompareOptions>();
  app::Command command{
      .name = "compare",
      .help = "Compare two capture points of a path: loss, order, one-way delay",
      .examples = R"(roce-dissect compare near.pcapng far.pcapng --delay 1903.5us --loss 0.1%
roce-dissect compare recording.pcapng    (of roce-impair run --capture: west end and east end)
roce-dissect compare both.pcapng@eth1 both.pcapng@eth2)",
      .run = [options] { return run_compare(*options); },
  };
  app::Options& list = command.options;
  list.add("NEAR", app::text(options->near), "",
           "capture of one end, FILE or FILE@INTERFACE; - for standard input")
      .required();
  list.add("FAR", app::text(options->far), "",
           "capture of the other end, by a synchronized clock; not needed with a recording of "
           "roce-impair");
  list.add_flag("--json", options->json, "one line of JSON");
  list.add("--delay", app::parsed(parse_duration, options->asked.delay), "TIME",
           "configured one-way delay: 1903.5us");
  list.add("--loss", app::parsed(parse_probability, options->asked.loss), "SHARE",
           "configured loss: 0.1%");
  list.add_flag("--across-flows", options->across_flows,
                "judge order over all frames of a direction, not of each flow");
  add_flow_limit(list, options->most_flows);
  list.add("--filter", app::text(options->filter), "FILTER",
           "only matching frames, in libpcap's (tcpdump's) syntax");
  return command;
}

}  // namespace lw::dissect
