// SPDX-License-Identifier: BSD-3-Clause
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/output.h"
#include "core/quantity.h"
#include "dissect/commands/analysis_input.h"
#include "dissect/sessions/result_figures.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::dissect {
namespace {

struct MessagesOptions {
  CaptureInput input;
  unsigned jobs = 1;
  Grouping by = Grouping::none;
  bool json = false, csv = false;
};

std::string groups_text(Grouping by, const MessageGroups& groups) {
  using report::Align;
  report::TextTable table({{"operation"},
                           {"size", Align::right},
                           {"messages", Align::right},
                           {"retransmitted", Align::right},
                           {"no completion", Align::right},
                           {"min", Align::right},
                           {"p50", Align::right},
                           {"p90", Align::right},
                           {"p99", Align::right},
                           {"max", Align::right}});
  for (const auto& [key, group] : groups) {
    const auto time = [&](std::int64_t ns) {
      return group.latency.count() == 0 ? std::string() : format_duration(Duration{ns});
    };
    table.add_row({std::string(std::get<0>(key)),
                   by == Grouping::operation ? "" : fmt::format("{}", std::get<1>(key)),
                   fmt::format("{}", group.messages), fmt::format("{}", group.resent),
                   fmt::format("{}", group.incomplete), time(group.latency.minimum()),
                   time(group.latency.quantile(0.5)), time(group.latency.quantile(0.9)),
                   time(group.latency.quantile(0.99)), time(group.latency.maximum())});
  }
  return table.empty() ? "no message\n" : table.to_string();
}

void print_groups(const MessagesOptions& options, const MessageGroups& groups) {
  if (!options.json && !options.csv) return print_out(groups_text(options.by, groups));
  report::RowFormat format(options.csv ? report::RowStyle::csv : report::RowStyle::json,
                           kGroupOutput);
  for (const auto& entry : groups) print_out(format.line(group_row(options.by, entry)));
}

/// Puts messages in the order of their first frames, as connections end them in any order. Only the
/// last hundred thousand wait: in a capture of many connections, later ones come as they end.
class ByFirstFrame {
 public:
  using OnMessage = std::function<void(const analysis::Message&)>;
  explicit ByFirstFrame(OnMessage on_message) : on_message_(std::move(on_message)) {}

  void add(const analysis::Message& message) {
    waiting_.push(message);
    if (waiting_.size() > kMost) pop();
  }
  void finish() {
    while (!waiting_.empty()) pop();
  }

 private:
  static constexpr std::size_t kMost = 100'000;  // messages, of about 120 B
  static bool is_later(const analysis::Message& one, const analysis::Message& other) noexcept {
    return one.first_frame > other.first_frame;
  }
  void pop() {
    on_message_(waiting_.top());
    waiting_.pop();
  }

  OnMessage on_message_;
  std::priority_queue<analysis::Message, std::vector<analysis::Message>, decltype(&is_later)>
      waiting_{&is_later};
};

ExitCode run_messages(const MessagesOptions& options) {
  CollectedResults results;
  AnalysedCaptures captures;
  MessageGroups groups;
  std::optional<RowTimes> times;
  report::RowFormat format(options.csv ? report::RowStyle::csv : report::RowStyle::json,
                           kMessageOutput);
  analysis::Analyst analyst(results);
  ByFirstFrame in_order([&](const analysis::Message& message) {
    const std::string where = places_of(captures.joined.get(), message);
    if (options.json || options.csv)
      return print_out(format.line(message_row(message, analyst, captures.points, where)));
    if (!times) times.emplace(options.input.time.value_or(TimeStyle::relative), captures.begin);
    print_out(
        message_text(message, where, options.input.time ? times->text(message.first_stamp) : ""));
  });
  results.on_message = [&](const analysis::Message& message) {
    if (options.by != Grouping::none) return add_to(groups, options.by, message);
    in_order.add(message);
  };
  if (auto done = analyse_input(options.input, options.jobs, analyst, results, captures); !done)
    return print_error(done.error());
  in_order.finish();
  if (options.by != Grouping::none) print_groups(options, groups);
  return captures.damage ? print_error(*captures.damage) : ExitCode::done;
}

app::OptionValue grouping_value(Grouping& by) {
  const auto parse = [](std::string_view text) -> Parsed<Grouping> {
    if (text == "operation") return Grouping::operation;
    if (text == "size") return Grouping::size;
    if (text == "operation,size" || text == "size,operation") return Grouping::operation_and_size;
    return std::unexpected(
        fmt::format("expected operation, size or operation,size, found \"{}\"", text));
  };
  return app::parsed(parse, by);
}

}  // namespace

app::Command messages_command() {
  auto options = std::make_shared<MessagesOptions>();
  app::Command command{
      .name = "messages",
      .help = "List SENDs, WRITEs, READs and atomics with size, completion and latency",
      .examples = R"(roce-dissect messages capture.pcapng
roce-dissect messages capture.pcapng --by operation,size)",
      .run = [options] { return run_messages(*options); },
  };
  add_capture_options(command.options, options->input);
  add_points_option(command.options, options->input.points);
  add_apart_option(command.options, options->input.apart);
  add_time_option(command.options, options->input.time);
  add_jobs_option(command.options, options->jobs);
  command.options.add("--by", grouping_value(options->by), "KEYS",
                      "percentiles of the latency by operation, size or operation,size");
  command.options.add_flag("--json", options->json, "one JSON object per message or group");
  command.options.add_flag("--csv", options->csv, "CSV with a header line").excludes("--json");
  return command;
}

}  // namespace lw::dissect
