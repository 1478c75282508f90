// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <deque>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "core/output.h"
#include "dissect/commands/commands.h"
#include "dissect/extract/extract_rows.h"
#include "dissect/extract/row_figures.h"
#include "dissect/extract/sparse_folder.h"
#include "dissect/sessions/capture_analysis.h"
#include "report/json_line.h"

namespace lw::dissect {
namespace {

struct ExtractOptions {
  CaptureInput input;
  std::string out;
  analysis::DataChoice choice;
  std::set<std::uint32_t> sessions;  // empty: all
  std::size_t most_files = 10'000;
  bool force = false, json = false, csv = false;
};

/// Keeps the data of packets until the analysis knows their session, then passes it to an
/// extractor.
class ExtractResults final : public analysis::Results, public analysis::PacketObserver {
 public:
  ExtractResults(const ExtractOptions& options, analysis::Extractor& extractor)
      : options_(options), extractor_(extractor) {}
  void bind(const analysis::QpFlows& flows) { flows_ = &flows; }

  void keep(const CapturedFrame& captured, const roce::Frame& frame);
  /// Whether the data that are kept take more than kMostKept: then the analysis must follow the
  /// oldest packets.
  [[nodiscard]] bool keeps_too_much() const noexcept { return kept_bytes_ > kMostKept; }
  void found(const analysis::Anomaly& /*anomaly*/) override {}
  void completed(const analysis::Message& /*message*/) override {}
  void followed(const analysis::Session& session, std::uint8_t direction,
                const analysis::CapturedPacket& packet, bool taken) override;

 private:
  static constexpr std::size_t kMostKept = std::size_t{96} << 20;
  struct Kept {
    std::uint64_t number = 0;
    std::array<std::uint64_t, 2> operands{};
    std::vector<std::byte> bytes;
  };

  void forget_oldest();

  const ExtractOptions& options_;
  analysis::Extractor& extractor_;
  const analysis::QpFlows* flows_ = nullptr;
  std::deque<Kept> kept_;  // of frames that have data
  std::size_t kept_bytes_ = 0;
};

void ExtractResults::forget_oldest() {
  kept_bytes_ -= kept_.front().bytes.size();
  kept_.pop_front();
}

void ExtractResults::keep(const CapturedFrame& captured, const roce::Frame& frame) {
  Kept kept{.number = captured.number, .bytes = {frame.payload.begin(), frame.payload.end()}};
  if (frame.atomiceth != nullptr)
    kept.operands = {frame.atomiceth->compare.get(), frame.atomiceth->swap_or_add.get()};
  if (frame.atomicacketh != nullptr) kept.operands[0] = frame.atomicacketh->original.get();
  kept_bytes_ += kept.bytes.size();
  if (!kept.bytes.empty() || frame.atomiceth != nullptr || frame.atomicacketh != nullptr)
    kept_.push_back(std::move(kept));
  // The analysis is at most kLookAhead packets behind, of which some have no data or no session.
  if (kept_.size() > analysis::Analyst::kLookAhead + 1) forget_oldest();
}

void ExtractResults::followed(const analysis::Session& session, std::uint8_t direction,
                              const analysis::CapturedPacket& packet, bool taken) {
  while (!kept_.empty() && kept_.front().number < packet.number) forget_oldest();
  const bool has_data = !kept_.empty() && kept_.front().number == packet.number;
  const bool wanted = options_.sessions.empty() || options_.sessions.contains(session.number);
  const analysis::QpFlowKey& key = (*flows_)[packet.flow].key;
  if (!wanted || packet.info == nullptr || analysis::is_management(packet, key)) return;
  const bool reads = packet.info->operation == wire::Operation::read_request;
  extractor_.add({.packet = packet,
                  .bytes = has_data ? std::span<const std::byte>(kept_.front().bytes)
                                    : std::span<const std::byte>(),
                  .operands = has_data ? kept_.front().operands : std::array<std::uint64_t, 2>{},
                  .session = session.number,
                  .direction = direction,
                  .bad = !taken,
                  .mtu = reads ? flows_->mtu_of(packet.flow).value_or(0) : 0,
                  .first_psn = (*flows_)[packet.flow].first_psn,
                  .point = key.point,
                  .host = key.destination});
}

/// Writes the whole report to a file of JSON lines.
Result<void> write_map(const std::string& path, const ExtractReport& report) {
  auto file = OutputFile::open(path, OutputFile::Mode::whole);
  if (!file) return std::unexpected(file.error());
  const auto writer = [&](const JsonOutput& output) {
    return [&, format = std::make_shared<report::RowFormat>(report::RowStyle::json, output)](
               const report::Json& row) { file->write(format->line(row)); };
  };
  report.files(writer(kFileOutput));
  report.ranges(writer(kRangeOutput));
  report.gaps(writer(kGapOutput));
  report.unplaced(writer(kUnplacedOutput));
  return file->close();
}

void print_extracted(const ExtractOptions& options, const ExtractReport& report) {
  if (!options.json && !options.csv) return print_out(report.text(options.out));
  const auto writer = [&](const JsonOutput& output) {
    const auto style = options.csv ? report::RowStyle::csv : report::RowStyle::json;
    return [format = std::make_shared<report::RowFormat>(style, output)](const report::Json& row) {
      print_out(format->line(row));
    };
  };
  report.files(writer(kFileOutput));
  if (options.csv) return;
  report.gaps(writer(kGapOutput));
  report.unplaced(writer(kUnplacedOutput));
}

/// Result of extract(), which writes the data of a source to the folder's files. `damage`: that of
/// the capture.
struct Extraction {
  CapturePoints points;
  std::optional<Error> damage = {};
};
Extraction extract(const ExtractOptions& options, FrameSource& source, CapturePoints points,
                   analysis::Extractor& extractor) {
  Extraction done{std::move(points)};
  ExtractResults results(options, extractor);
  analysis::Analyst analyst(results, &results);
  results.bind(analyst.flows());
  const auto keep = [&](const CapturedFrame& captured, const roce::Frame& frame) {
    while (results.keeps_too_much() && analyst.follow_oldest()) {
    }
    results.keep(captured, frame);
  };
  done.damage = analyse(source, analyst, done.points, 1, nullptr, keep);
  extractor.finish();
  return done;
}

ExitCode run_extract(const ExtractOptions& options) {
  auto source = open_input(options.input);
  if (!source) return print_error(source.error());
  auto points = decide_points(*source, options.input);
  if (!points) return print_error(points.error());
  auto folder = SparseFolder::open(options.out, options.force);
  if (!folder) return print_error(folder.error());
  auto index = OutputFile::open(options.out + "/messages.jsonl", OutputFile::Mode::whole);
  if (!index) return print_error(index.error());
  DataFiles files(*folder, options.most_files);
  analysis::Extractor extractor(options.choice, files);
  files.bind(extractor.images());
  report::RowFormat format(report::RowStyle::json, kExtractedMessageOutput);
  files.on_message = [&](const analysis::DataMessage& message) {
    index->write(format.line(extracted_message_row(message, extractor.images()[message.image])));
  };
  const Extraction done = extract(options, *source, std::move(*points), extractor);
  const auto written = files.finish();
  if (const auto result = folder->result(); !result) return print_error(result.error());
  const ExtractReport report(extractor, written, done.points.points());
  report_at_end(write_map(options.out + "/map.jsonl", report));
  report_at_end(index->close());
  print_extracted(options, report);
  return done.damage ? print_error(*done.damage) : ExitCode::done;
}

/// "memory,sends".
Parsed<analysis::DataChoice> read_kinds(std::string_view text) {
  analysis::DataChoice choice{.memory = false, .reads = false, .sends = false};
  for (;;) {
    const auto comma = text.find(',');
    const auto word = text.substr(0, comma);
    if (word == "memory")
      choice.memory = true;
    else if (word == "reads")
      choice.reads = true;
    else if (word == "sends")
      choice.sends = true;
    else
      return std::unexpected(
          fmt::format("expected some of memory,reads,sends, found \"{}\"", word));
    if (comma == std::string_view::npos) return choice;
    text.remove_prefix(comma + 1);
  }
}

app::OptionValue kinds_of_data(analysis::DataChoice& choice) {
  return {.read = [&choice](std::string_view text) -> Parsed<void> {
            const auto kinds = read_kinds(text);
            if (!kinds) return std::unexpected(kinds.error());
            choice.memory = kinds->memory;
            choice.reads = kinds->reads;
            choice.sends = kinds->sends;
            return {};
          },
          .default_text = "memory,reads,sends"};
}

void add_extract_options(app::Options& list, ExtractOptions& options) {
  list.add("-o,--out", app::text(options.out), "DIR", "folder for the files: a new or an empty one")
      .required();
  list.add("--what", kinds_of_data(options.choice), "WHAT",
           "data: memory as WRITEs and atomics left it, what READs read, what SENDs sent");
  const auto read_session = [](std::string_view text) {
    return read_whole(text, 1, analysis::Analyst::kMostSessions);
  };
  list.add("--connection",
           app::each(read_session,
                     [&options](std::uint64_t session) {
                       options.sessions.insert(static_cast<std::uint32_t>(session));
                     }),
           "N", "only this connection, as `connections` numbers them");
  list.add("--max-files", app::number(options.most_files, std::size_t{1}), "N",
           "number of files at most; what is beyond has no place, and is counted");
  list.add_flag("--bad-icrcs", options.choice.bad_icrcs,
                "also the data of packets with a bad ICRC, which receivers drop");
  list.add_flag("--force", options.force,
                "write to a folder that has files, and replace those of the same names");
  list.add_flag("--json", options.json, "one JSON object per file, gap and reason");
  list.add_flag("--csv", options.csv, "CSV of the files, with a header line").excludes("--json");
}

}  // namespace

app::Command extract_command() {
  auto options = std::make_shared<ExtractOptions>();
  app::Command command{
      .name = "extract",
      .help = "Write the data to files: memory as WRITEs left it, READ responses, SENDs",
      .examples = R"(roce-dissect extract capture.pcapng -o data
roce-dissect extract capture.pcapng -o data --what sends --connection 3
tcpdump -c 1000 -i eth1 -w - udp port 4791 | roce-dissect extract - -o data)",
      .notes = R"(The folder's map.jsonl has the files, what is where in them, and the gaps;
messages.jsonl has each message.)",
      .run = [options] { return run_extract(*options); },
  };
  add_capture_options(command.options, options->input);
  add_points_option(command.options, options->input.points);
  add_extract_options(command.options, *options);
  return command;
}

}  // namespace lw::dissect
