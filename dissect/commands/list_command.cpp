// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/stop_signal.h"
#include "core/output.h"
#include "dissect/commands/commands.h"
#include "dissect/fields/condition.h"
#include "dissect/fields/psn_gaps.h"
#include "dissect/list/list_format.h"

namespace lw::dissect {
namespace {

struct ListOptions {
  CaptureInput input;
  bool json = false, csv = false;
  std::string output;  // "text", "fields" or "json", as tshark's -T; empty: not given
  std::vector<const Field*> fields;
  std::optional<Condition> where;
  std::optional<std::uint64_t> count;
};

ListStyle style_of(const ListOptions& options) {
  if (options.json || options.output == "json") return ListStyle::json;
  return options.csv ? ListStyle::csv : ListStyle::text;
}

/// Writes lines to standard output in large pieces; for a live capture, each line at once.
class Output {
 public:
  std::string& buffer() { return buffer_; }
  void flush_if_large() {
    constexpr std::size_t kLarge = 1 << 16;
    if (buffer_.size() >= kLarge) flush();
  }
  void flush() {
    print_out(buffer_);
    standard_output().flush();
    buffer_.clear();
  }

 private:
  std::string buffer_;
};

bool is_live(const CaptureInput& input) {
  return input.follow || std::ranges::find(input.files, "-") != input.files.end();
}

bool reads_psn_gaps(const ListOptions& options) {
  return (options.where && options.where->reads(kPsnGapName)) ||
         std::ranges::find(options.fields, kPsnGapName, &Field::name) != options.fields.end();
}

/// Sets the frame's PSN gap. Gaps are relative to all frames that are read, listed or not.
void find_psn_gap(PsnGaps& gaps, Dissection& dissection) {
  if (dissection.frame && dissection.icrc() != roce::IcrcVerdict::bad)
    dissection.psn_gap = gaps.next(*dissection.frame);
}

ExitCode run_list(const ListOptions& options) {
  auto source = open_input(options.input);
  if (!source) return print_error(source.error());
  const auto format = make_list_format(
      {style_of(options), options.input.time.value_or(TimeStyle::relative), options.fields});
  const bool live = is_live(options.input);
  Output output;
  format->begin(output.buffer());
  std::optional<PsnGaps> gaps;
  if (reads_psn_gaps(options)) gaps.emplace();
  std::uint64_t listed = 0;
  std::optional<Instant> first_stamp, stamp_before;
  while (!options.count || listed < *options.count) {
    const auto captured = source->next();
    if (!captured || !*captured) {
      output.flush();
      return captured ? ExitCode::done : print_error(captured.error());
    }
    Dissection dissection(**captured);
    const Instant stamp = dissection.captured.record.stamp;
    if (!first_stamp) first_stamp = stamp;
    dissection.first_stamp = first_stamp;
    dissection.stamp_before = std::exchange(stamp_before, stamp).value_or(stamp);
    if (gaps) find_psn_gap(*gaps, dissection);
    if (options.where && !options.where->matches(dissection)) continue;
    format->frame(output.buffer(), dissection);
    ++listed;
    live ? output.flush() : output.flush_if_large();
    if (standard_output().failed()) return ExitCode::environment;
  }
  output.flush();
  return ExitCode::done;
}

using Fields = std::vector<const Field*>;

/// "a,b,c".
Parsed<Fields> read_fields(std::string_view text) {
  Fields fields;
  for (;;) {
    const auto comma = text.find(',');
    const auto field = find_field(text.substr(0, comma));
    if (!field) return std::unexpected(field.error());
    fields.push_back(*field);
    if (comma == std::string_view::npos) return fields;
    text.remove_prefix(comma + 1);
  }
}

/// Adds the options that select frames and their format.
void add_list_options(app::Options& list, ListOptions& options) {
  list.add("-Y,--where", app::parsed(Condition::parse, options.where), "CONDITION",
           "only frames whose fields satisfy this: bth.opcode == 10 && udp.srcport in {1, 5..9}");
  list.add("-c,--count", app::number(options.count), "N", "end after N listed frames");
  const auto append = [&options](const Fields& more) {
    options.fields.insert(options.fields.end(), more.begin(), more.end());
  };
  list.add("--fields", app::each(read_fields, append), "FIELD,FIELD",
           "only these fields: between tabs, or with --csv or --json");
  list.add("-e", app::each(find_field, [append](const Field* field) { append({field}); }), "FIELD",
           "one more field, behind those of --fields");
  add_time_option(list, options.input.time);
  list.add_flag("--json", options.json, "one JSON object per line, with every field");
  list.add_flag("--csv", options.csv, "CSV with a header line").excludes("--json");
  list.add("-r", app::repeated(options.input.files), "FILE", "as FILE, as tshark has it");
  list.add("-T", app::choice(options.output, {"text", "fields", "json"}), "STYLE",
           "as tshark: text, one line a frame; fields, those of -e between tabs; json, as --json");
}

/// Checks what -r, -T and the options of the same meaning leave open.
Result<void> check_list(const app::Given& given, const ListOptions& options) {
  if (options.input.files.empty()) return fail("FILE: expected a capture, or -r FILE");
  if (options.output == "fields" && options.fields.empty())
    return fail("-T: fields goes with -e FIELD");
  if (options.output == "text" && !options.fields.empty())
    return fail("-T: text goes without -e and --fields, which print fields between tabs");
  for (const char* name : {"--json", "--csv"})
    if (given.has("-T") && given.has(name)) return fail(fmt::format("-T goes without {}", name));
  return {};
}

}  // namespace

void add_tunnel_option(app::Options& options, bool& no_tunnels) {
  options.add_flag("--no-tunnels", no_tunnels,
                   "frames as captured, not those within VXLAN, GRE and other tunnels");
}

namespace {

Parsed<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0)
    return std::unexpected(fmt::format("expected a UDP port from 1 to 65535, found \"{}\"", text));
  return port;
}

}  // namespace

void add_port_option(app::Options& options, std::vector<std::uint16_t>& ports) {
  options.add("--roce-port",
              app::each(parse_port, [&ports](std::uint16_t port) { ports.push_back(port); }),
              "PORT", "UDP port that carries RoCEv2 too, from or to it, beside 4791");
}

void add_follow_option(app::Options& options, bool& follow) {
  options.add_flag("--follow", follow,
                   "wait for more at the end of the file, as it grows, until Ctrl-C");
}

Result<void> check_follow(bool follow, const std::vector<std::string>& files) {
  if (!follow || files.size() == 1) return {};
  return fail(fmt::format("--follow goes with one file, found {}", files.size()));
}

namespace {

app::Option& add_capture_files(app::Options& options, CaptureInput& input) {
  return options.add(
      "FILE", app::texts(input.files), "",
      "pcap or pcapng, FILE@INTERFACE: one of its interfaces, by name or number; - for "
      "standard input; several files are one capture in the order of their time stamps");
}

}  // namespace

void add_reading_options(app::Options& options, CaptureInput& input) {
  options.add("--filter", app::text(input.filter), "FILTER",
              "only matching frames, in libpcap's (tcpdump's) syntax, with numbers and addresses");
  options.add_flag("--filter-names", input.filter_names,
                   "look up names of hosts, networks, ports and protocols in --filter");
  add_window_options(options, input.window);
  add_tunnel_option(options, input.no_tunnels);
  add_port_option(options, input.roce_ports);
}

void add_where_option(app::Options& options, TimeWindow& window) {
  const auto parse = [](std::string_view text) -> Parsed<std::shared_ptr<const Condition>> {
    auto condition = Condition::parse(text);
    if (!condition) return std::unexpected(condition.error());
    if (condition->reads(kPsnGapName))
      return std::unexpected(fmt::format("{} is known to `list` only", kPsnGapName));
    return std::make_shared<const Condition>(std::move(*condition));
  };
  options.add("-Y,--where", app::parsed(parse, window.where), "CONDITION",
              "only frames whose fields satisfy this, as `list` has it: "
              "frame.time_relative >= 9.9 && frame.time_relative <= 10.2");
}

void add_window_options(app::Options& options, TimeWindow& window) {
  options.add("--from", app::parsed(parse_window_end, window.from), "TIME",
              "only frames from this time on: since the first frame (9.95s), or in UTC "
              "(2026-11-23T14:31:50.5Z)");
  options.add("--to", app::parsed(parse_window_end, window.to), "TIME",
              "only frames up to this time, as --from has it");
}

void add_time_option(app::Options& options, std::optional<TimeStyle>& time) {
  app::OptionValue value = app::choice(time, {{"relative", std::optional(TimeStyle::relative)},
                                              {"utc", std::optional(TimeStyle::utc)},
                                              {"absolute", std::optional(TimeStyle::utc)},
                                              {"delta", std::optional(TimeStyle::delta)}});
  value.default_text = "";
  options.add("--time", value, "STYLE",
              "time of each row of text: since the first frame, in UTC (absolute: the same), or "
              "since the row before");
}

void add_moment_option(app::Options& options, TimeStyle& time) {
  options.add("--time",
              app::choice(time, {{"relative", TimeStyle::relative}, {"utc", TimeStyle::utc}}),
              "STYLE", "times in the text: since the first frame, or in UTC");
}

void add_capture_options(app::Options& options, CaptureInput& input) {
  add_capture_files(options, input).required();
  add_reading_options(options, input);
  add_where_option(options, input.window);
  add_follow_option(options, input.follow);
}

void add_optional_capture(app::Options& options, CaptureInput& input) {
  add_capture_files(options, input);
  add_reading_options(options, input);
  add_where_option(options, input.window);
  add_follow_option(options, input.follow);
}

void add_link_rate_option(app::Options& options, std::optional<double>& rate) {
  options.add("--link-rate", app::parsed(parse_bit_rate, rate), "RATE",
              "rate of the slowest link that the packets pass, 100Gb/s, to judge congestion "
              "(default: what the capture's interfaces state, or the highest that was seen)");
}

void add_jobs_option(app::Options& options, unsigned& jobs) {
  options
      .add("--jobs", app::number(jobs, 1U, 256U), "N",
           "2 or more: a second core reads the frames while one follows the connections")
      .excludes("--follow");
}

Result<FrameSource> open_input(const CaptureInput& input) {
  if (auto one = check_follow(input.follow, input.files); !one) return std::unexpected(one.error());
  const FrameReading reading{.follow_until = input.follow ? &stop_on_signals() : nullptr,
                             .tunnels = !input.no_tunnels,
                             .roce_ports = input.roce_ports,
                             .filter_names = input.filter_names ? capture::FilterNames::looked_up
                                                                : capture::FilterNames::refused,
                             .window = input.window};
  return FrameSource::open(input.files, input.filter, reading);
}

void add_points_option(app::Options& options, std::string& points) {
  options.add(
      "--points", app::text(points), "POINTS",
      "capture points, eth0+eth1,eth2: the interfaces (name, number or file) of each; each: "
      "an interface is a point, and frames may repeat (default: decided from the frames)");
}

Result<CapturePoints> decide_points(FrameSource& source, const CaptureInput& input) {
  auto points = CapturePoints::decide(source, input.points);
  if (!points) return points;
  for (const std::string& sentence : points->sentences()) print_report(sentence + "\n", true);
  return points;
}

std::string names_of(const std::vector<std::string>& files) {
  return fmt::format("{}", fmt::join(files, ", "));
}

void add_flow_limit(app::Options& options, std::size_t& most_flows) {
  options.add("--max-flows", app::number(most_flows, std::size_t{1}), "N",
              "number of flows to keep; of more, the least recently seen are counted together");
}

app::Command list_command() {
  auto options = std::make_shared<ListOptions>();
  app::Command command{
      .name = "list",
      .help = "Print one line per frame, with Wireshark's field names",
      .examples = R"(roce-dissect list capture.pcap
roce-dissect list capture.pcap --filter "udp port 4791 and host 10.0.0.1"
roce-dissect list ring.pcap0 ring.pcap1.gz ring.pcap2.zst
roce-dissect list capture.pcap --where "bth.opcode == 17 && aeth.syndrome & 0x60 != 0"
roce-dissect list capture.pcap -c 10 -e frame.number -e bth.psn --csv
roce-dissect list -r capture.pcap -Y "bth.opcode == 17" -T fields -e frame.number -e bth.psn
roce-dissect list --follow growing.pcapng
roce-dissect list capture.pcap --json | jq 'select(."infiniband.bth.opcode" == 17)')",
      .check = [options](const app::Given& given) { return check_list(given, *options); },
      .run = [options] { return run_list(*options); },
  };
  add_capture_files(command.options, options->input);
  add_reading_options(command.options, options->input);
  add_follow_option(command.options, options->input.follow);
  add_list_options(command.options, *options);
  return command;
}

}  // namespace lw::dissect
