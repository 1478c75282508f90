// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "app/html_report.h"
#include "app/profile_note.h"
#include "app/stop_signal.h"
#include "app/verdicts.h"
#include "config/toml/profile_search.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/measure_options.h"
#include "gen/questions.h"
#include "gen/search/rate_search.h"
#include "gen/search/search_view.h"
#include "gen/search/trial_run.h"
#include "nic/clock.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

constexpr const char* kSearchExamples =
    R"(roce-gen search ipv4-rc-send --port eth1 --receive eth2 --max-rate 10Gb/s --live
roce-gen search profile.toml --port eth1 --receive eth2 --sizes 64,1024,4096 --out results
roce-gen search profile.toml --port net_ring0 --receive net_ring0 --duration 200ms --json)";

constexpr const char* kSearchNotes =
    R"(The highest rate tried is the profile's own, or --max-rate shared by its flows. Ctrl-C reports the
trials so far, and ends with exit code 1.)";

constexpr Duration kSearchLinkTimeout = std::chrono::seconds(30);

struct SearchOptions {
  std::string profile, port, receive, out;
  std::vector<std::uint64_t> sizes = {64, 256, 1024, 4096};
  std::optional<double> max_rate;
  std::optional<Duration> settle;
  SearchConfig search;
  Limits limits;
  app::Verdicts verdicts{kSearchQuestions};
  app::HtmlReport html;
  bool json = false, verbose = false, live = false;
};

Result<std::vector<SizeSearch>> search_sizes(config::FlowProfile profile,
                                             const SearchOptions& options, const TrialEnds& ends,
                                             ProgressDisplay& display) {
  const Duration settle = options.settle.value_or(std::chrono::milliseconds(500));
  SearchView view("roce-gen search " + options.profile, options.search, options.sizes.size());
  display.set_model([&view](const ProgressNow& now) { return view.model(now); });
  std::vector<SizeSearch> searches;
  for (const std::uint64_t size : options.sizes) {
    auto sized = with_message_size(profile, size);
    if (!sized) return std::unexpected(sized.error());
    auto result = search_rate(options.search, [&](double fraction) -> Result<std::optional<Trial>> {
      view.begin_trial(size, fraction);
      auto trial = run_trial(*sized, fraction, ends, options.limits, settle, display);
      if (!trial) return std::unexpected(trial.error());
      if (options.limits.stopped()) return std::nullopt;  // a signal cut this trial short
      view.end_trial(*trial);
      if (options.verbose && !options.live) {
        const std::string words = arrivals_text(trial->arrivals);
        fmt::print(stderr, "{} B at {:.2f} %: {} sent, {} lost{}{}\n", size, 100 * fraction,
                   trial->sent, trial->lost(), words.empty() ? "" : "; ", words);
      }
      return *trial;
    });
    if (!result) return std::unexpected(result.error());
    searches.push_back({size, std::move(*result)});
    for (std::size_t i = 0; i < profile.flows.size(); ++i)
      profile.flows[i].message.first_psn = sized->flows[i].message.first_psn;
    if (!searches.back().result.complete) break;
  }
  display.finish(nic::now(), {}, nullptr);
  return searches;
}

bool is_virtual(const std::string& port) {
  const auto spec = nic::parse_port_spec(port);
  return spec && nic::is_virtual(*spec);
}

Result<std::vector<SizeSearch>> search(config::FlowProfile& profile, const SearchOptions& options) {
  if (options.max_rate) {
    const double share = *options.max_rate / static_cast<double>(profile.flows.size());
    for (config::Flow& flow : profile.flows) {
      flow.rate = {config::Rate::Unit::wire_bits, share};
    }
  }
  auto display = ProgressDisplay::open({.series = {}, .quiet = true, .live = options.live});
  if (!display) return std::unexpected(display.error());
  const bool loop = options.port == options.receive;
  std::vector<std::string> names = {options.port};
  if (!loop) names.push_back(options.receive);
  constexpr std::uint16_t kDeepRing = 4096;  // a slow reader must not look like path loss
  auto ports = Ports::open(names, options.verbose,
                           {.port = {.receive_ring = kDeepRing}, .sends_flows = true, .cores = 1});
  if (!ports) return std::unexpected(ports.error());
  if (auto up = ports->wait_links(kSearchLinkTimeout, *options.limits.stop); !up) {
    return std::unexpected(up.error());
  }
  for (const std::uint64_t size : options.sizes) {
    const auto sized = with_message_size(profile, size);
    if (!sized) return std::unexpected(sized.error());
    if (auto fits = check_mtus(*sized, std::span(ports->all()).first(1)); !fits)
      return std::unexpected(fits.error());
  }
  std::optional<nic::Port> far;
  if (!loop) {
    far.emplace(std::move(ports->all().back()));
    ports->all().pop_back();
  }
  NeighborTable neighbors(profile, ports->all(), ports->pool());
  if (auto found = neighbors.resolve(profile, options.limits); !found) {
    return std::unexpected(found.error());
  }
  // With a loop, every received frame belongs to the trial.
  NeighborTable silent(profile, {}, ports->pool());
  return search_sizes(profile, options,
                      {.senders = *ports,
                       .receiver = loop ? ports->all().front() : *far,
                       .neighbors = loop ? silent : neighbors,
                       .virtual_path = is_virtual(options.port) && is_virtual(options.receive)},
                      *display);
}

std::string csv_of(const SearchOptions& options) { return options.out + "/search.csv"; }
std::string svg_of(const SearchOptions& options) { return options.out + "/search.svg"; }

std::string title_of(const SearchOptions& options, const std::string& profile) {
  return fmt::format("{}: highest rate with at most {} loss", profile,
                     format_share(options.search.loss));
}

void add_to_page(SearchOptions& options, const SearchReport& report, const std::string& profile,
                 const std::string& json) {
  if (!options.html.wanted()) return;
  options.html.add_report(json, kSearchOutput, options.verdicts.last(), page_rows(report));
  options.html.add_plot(rate_plot(report.sizes, title_of(options, profile)));
  options.html.add_plot(trial_plot(report.sizes));
  options.html.add_port("--port", options.port);
  options.html.add_port("--receive", options.receive);
}

Result<void> write_files(const std::vector<SizeSearch>& searches, const SearchOptions& options,
                         const std::string& name) {
  if (auto made = make_folder(options.out); !made) return made;
  const std::string svg = report::to_svg(rate_plot(searches, title_of(options, name)));
  if (auto csv = write_file(csv_of(options), to_csv(searches)); !csv) return csv;
  return write_file(svg_of(options), svg);
}

/// Error: an output is also an input or another output.
Result<void> check_search_files(const SearchOptions& options) {
  std::vector<NamedFile> inputs = {{"PROFILE", options.profile}};
  std::vector<NamedFile> outputs = {options.verdicts.junit(), options.html.file()};
  if (!options.out.empty()) {
    outputs.push_back({"--out", csv_of(options)});
    outputs.push_back({"--out", svg_of(options)});
  }
  nic::add_files(options.port, inputs, outputs);
  if (options.receive != options.port) nic::add_files(options.receive, inputs, outputs);
  return check_outputs(inputs, outputs);
}

ExitCode search_and_report(SearchOptions& options) {
  auto profile = config::load_flow_profile(options.profile);
  if (!profile) return print_error(profile.error());
  app::say_profile(options.profile, {config::kFlowProfiles}, config::words_of(*profile));
  if (auto checked = options.verdicts.check(kSearchOutput); !checked)
    return print_error(checked.error());
  if (const auto apart = check_search_files(options); !apart) return print_error(apart.error());
  const auto searches = search(*profile, options);
  if (!searches) return print_error(searches.error());
  const SearchReport report{*searches, options.search};
  if (!options.out.empty()) report_at_end(write_files(*searches, options, profile->name));
  Judge judge = options.verdicts.judge();
  observe_search(judge, report);
  const std::string json = options.verdicts.judged(
      judge, options.json || options.html.wanted(),
      [&] { return report::json_line(kSearchOutput, report); }, "roce-gen search", &kSearchOutput);
  add_to_page(options, report, profile->name, json);
  print_report(options.json ? json : options.verdicts.text() + to_text(*searches, options.search));
  const ExitCode judged = options.verdicts.finish("roce-gen search");
  if (is_complete(*searches)) return judged;
  return std::max(judged,
                  print_error({fmt::format("interrupted: {} of {} message sizes are finished",
                                           searches->size() - 1, options.sizes.size()),
                               ExitCode::failed}));
}

/// Reads a list of sizes: "64,256,4KiB".
Parsed<std::vector<std::uint64_t>> read_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto size = parse_bytes(text.substr(at, end - at));
    if (!size) return std::unexpected(size.error());
    sizes.push_back(*size);
    at = end + 1;
  }
  return sizes;
}

void add_search_options(app::Options& list, SearchOptions& options) {
  list.add("--loss", app::parsed(parse_probability, options.search.loss), "SHARE",
           "tolerated share of lost frames: 0, 0.1%")
      .defaults_to("0");
  list.add("--sizes", app::parsed(read_sizes, options.sizes), "BYTES",
           "message sizes, one search each: 64,4KiB")
      .defaults_to("64,256,1024,4096");
  list.add("--resolution", app::parsed(parse_probability, options.search.resolution), "SHARE",
           "distance between passing and failing rate at the end, of that rate")
      .defaults_to("1%");
  list.add("--repeat", app::number(options.search.repeat, 1, 1000), "N",
           "number of trials that a rate must pass");
  list.add("--confirm", app::number(options.search.confirm, 0, 1000), "N",
           "number of further trials that the rate found must pass");
  list.add("--max-rate", app::parsed(parse_bit_rate, options.max_rate), "RATE",
           "highest rate to try, on the wire, shared by the flows")
      .defaults_to("the profile's");
  options.limits.duration = std::chrono::seconds(2);
  list.add("--duration", app::parsed(app::read_time, options.limits.duration), "TIME",
           "length of a trial")
      .defaults_to("2s");
  list.add("--settle", app::parsed(app::read_time, options.settle), "TIME",
           "wait for the last frames of a trial")
      .defaults_to("500ms");
}

Result<void> check_search_usage(const SearchOptions& options) {
  if (options.search.resolution <= 0) return fail("--resolution: expected a share above 0");
  if (options.limits.duration <= Duration{0}) return fail("--duration: expected a time above 0");
  return {};
}

}  // namespace

app::Command search_command() {
  auto options = std::make_shared<SearchOptions>();
  app::Command command{
      .name = "search",
      .help = "Find the highest rate without loss, per message size",
      .examples = kSearchExamples,
      .notes = kSearchNotes,
      .check = [options](const app::Given&) { return check_search_usage(*options); },
      .run =
          [options] {
            options->limits.stop = &stop_on_signals();
            return search_and_report(*options);
          },
  };
  app::Options& list = command.options;
  list.add("PROFILE", app::profile(options->profile, {config::kFlowProfiles}), "",
           "flow profile; - for standard input")
      .required();
  list.add("--port", app::text(options->port), "PORT", "port to send to").required();
  list.add("--receive", app::text(options->receive), "PORT",
           "port to count frames at; may be the same port")
      .required();
  add_search_options(list, *options);
  list.add("-o,--out", app::text(options->out), "DIR", "folder for search.csv and search.svg");
  options->verdicts.add_options(list);
  options->html.add_option(list);
  list.add_flag("--json", options->json, "report in one line of JSON");
  list.add_flag("--live", options->live, report::kLiveHelp);
  list.add_flag("--verbose", options->verbose, "show every trial, and DPDK's log");
  return command;
}

}  // namespace lw::gen
