// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "dissect/command.h"
#include "dissect/fields/fields.h"
#include "dissect/list/list_format.h"

namespace lw::dissect {
namespace {

struct ListOptions {
  std::string file, filter;
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
    std::fwrite(buffer_.data(), 1, buffer_.size(), stdout);
    std::fflush(stdout);
    buffer_.clear();
  }

 private:
  fmt::memory_buffer buffer_;
};

int run_list(const ListOptions& options) {
  auto source = FrameSource::open(options.file, options.filter);
  if (!source) return report_error(source.error());
  const auto format = make_list_format(style_of(options));
  const bool live = options.file == "-";
  Output output;
  format->begin(output.buffer());
  for (;;) {
    const auto captured = source->next();
    if (!captured || !*captured) {
      output.flush();
      return captured ? 0 : report_error(captured.error());
    }
    format->frame(output.buffer(), dissect_frame(**captured));
    live ? output.flush() : output.flush_if_large();
  }
}

}  // namespace

void add_list(CLI::App& app, int& exit) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* list = app.add_subcommand("list", "One line a frame, fields named as in Wireshark");
  list->add_option("FILE", options->file, "pcap or pcapng; - is standard input")->required();
  CLI::Option* json = list->add_flag("--json", options->json, "a JSON object a line, every field");
  list->add_flag("--csv", options->csv, "a header line and columns")->excludes(json);
  list->add_option("--filter", options->filter,
                   "only frames that match, in libpcap's (tcpdump's) syntax");
  list->footer(
      "Examples:\n"
      "  roce-dissect list capture.pcap\n"
      "  roce-dissect list capture.pcap --filter \"udp port 4791 and host 10.0.0.1\"\n"
      "  roce-dissect list capture.pcap --json | jq 'select(.\"infiniband.bth.opcode\" == 17)'\n");
  list->callback([options, &exit] { exit = run_list(*options); });
}

}  // namespace lw::dissect
