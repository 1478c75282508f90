// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "app/stop_signal.h"
#include "core/output.h"
#include "dissect/commands/commands.h"
#include "dissect/fields/fields.h"
#include "dissect/list/list_format.h"

namespace lw::dissect {
namespace {

struct ListOptions {
  CaptureInput input;
  bool json = false, csv = false;
};

ListStyle style_of(const ListOptions& options) {
  if (options.json) return ListStyle::json;
  return options.csv ? ListStyle::csv : ListStyle::text;
}

/// Writes lines to standard output in large pieces; for a live capture, each line at once.
class Output {
 public:
  fmt::memory_buffer& buffer() { return buffer_; }
  void flush_if_large() {
    constexpr std::size_t kLarge = 1 << 16;
    if (buffer_.size() >= kLarge) flush();
  }
  void flush() {
    print_out({buffer_.data(), buffer_.size()});
    standard_output().flush();
    buffer_.clear();
  }

 private:
  fmt::memory_buffer buffer_;
};

ExitCode run_list(const ListOptions& options) {
  auto source = open_input(options.input);
  if (!source) return print_error(source.error());
  const auto format = make_list_format(style_of(options));
  const auto& files = options.input.files;
  const bool live = options.input.follow || std::ranges::find(files, "-") != files.end();
  Output output;
  format->begin(output.buffer());
  for (;;) {
    const auto captured = source->next();
    if (!captured || !*captured) {
      output.flush();
      return captured ? ExitCode::done : print_error(captured.error());
    }
    format->frame(output.buffer(), dissect_frame(**captured));
    live ? output.flush() : output.flush_if_large();
    if (standard_output().failed()) return ExitCode::environment;
  }
}

}  // namespace

void add_capture_options(app::Options& options, std::vector<std::string>& files,
                         std::string& filter) {
  options
      .add("FILE", app::texts(files), "",
           "pcap or pcapng, FILE@INTERFACE: one of its interfaces, by name or number; - for "
           "standard input; several files are one capture in the order of their time stamps")
      .required();
  options.add("--filter", app::text(filter), "FILTER",
              "only matching frames, in libpcap's (tcpdump's) syntax");
}

void add_capture_options(app::Options& options, CaptureInput& input) {
  add_capture_options(options, input.files, input.filter);
  options.add_flag("--follow", input.follow,
                   "wait for more at the end of the file, as it grows, until Ctrl-C");
}

Result<FrameSource> open_input(const CaptureInput& input) {
  if (input.follow && input.files.size() > 1)
    return fail(fmt::format("--follow goes with one file, found {}", input.files.size()));
  const FrameReading reading{.follow_until = input.follow ? &stop_on_signals() : nullptr};
  return FrameSource::open(input.files, input.filter, reading);
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
roce-dissect list --follow growing.pcapng
roce-dissect list capture.pcap --json | jq 'select(."infiniband.bth.opcode" == 17)')",
      .run = [options] { return run_list(*options); },
  };
  add_capture_options(command.options, options->input);
  command.options.add_flag("--json", options->json, "one JSON object per line, with every field");
  command.options.add_flag("--csv", options->csv, "CSV with a header line").excludes("--json");
  return command;
}

}  // namespace lw::dissect
