// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "gen/commands/commands.h"
#include "gen/commands/options.h"
#include "app/stop_signal.h"
#include "gen/study/search_report.h"
#include "gen/study/trial_run.h"

namespace lw::gen {
namespace {

constexpr const char* kFooter = R"(Examples:
  roce-gen search profiles/flows/ipv4-rc-send.toml --port eth1 --receive eth2 --max-rate 10Gb/s
  roce-gen search profile.toml --port eth1 --receive eth2 --sizes 64,1024,4096 --out results
  roce-gen search profile.toml --port net_ring0 --receive net_ring0 --duration 200ms --json

The highest rate tried is the profile's own, or --max-rate shared by its flows.)";

constexpr Duration kLinkPatience = std::chrono::seconds(30);

struct SearchOptions {
  std::string profile, port, receive, out;
  std::vector<std::uint64_t> sizes = {64, 256, 1024, 4096};
  std::optional<double> max_rate;
  std::optional<Duration> settle;
  SearchConfig search;
  Limits limits;
  bool json = false, verbose = false;
};

Result<std::vector<SizeSearch>> search_sizes(const config::FlowProfile& profile,
                                             const SearchOptions& options, const TrialEnds& ends) {
  const Duration settle = options.settle.value_or(std::chrono::milliseconds(500));
  std::vector<SizeSearch> searches;
  for (const std::uint64_t size : options.sizes) {
    const auto sized = with_message_size(profile, size);
    if (!sized) return std::unexpected(sized.error());
    auto result = search_rate(options.search, [&](double fraction) -> Result<Trial> {
      auto trial = run_trial(*sized, fraction, ends, options.limits, settle);
      if (options.limits.stopped()) return fail("stopped by a signal", ExitCode::failed);
      if (trial && options.verbose) {
        fmt::print(stderr, "{} B at {:.2f} %: {} sent, {} lost\n", size, 100 * fraction,
                   trial->sent, trial->lost());
      }
      return trial;
    });
    if (!result) return std::unexpected(result.error());
    searches.push_back({size, std::move(*result)});
  }
  return searches;
}

Result<std::vector<SizeSearch>> search(config::FlowProfile& profile, const SearchOptions& options) {
  if (options.max_rate) {
    const double share = *options.max_rate / static_cast<double>(profile.flows.size());
    for (config::Flow& flow : profile.flows) {
      flow.rate = {config::Rate::Unit::wire_bits, share};
    }
  }
  const bool loop = options.port == options.receive;
  std::vector<std::string> names = {options.port};
  if (!loop) names.push_back(options.receive);
  constexpr std::uint16_t kDeepRing = 4096;  // a reader's hiccup must not pass for the path's loss
  auto ports = Ports::open(names, options.verbose,
                           {.port = {.receive_ring = kDeepRing}, .sends_flows = true, .cores = 1});
  if (!ports) return std::unexpected(ports.error());
  if (auto up = ports->wait_links(kLinkPatience, *options.limits.stop); !up) {
    return std::unexpected(up.error());
  }
  std::optional<nic::Port> far;
  if (!loop) {
    far.emplace(std::move(ports->all().back()));
    ports->all().pop_back();
  }
  NeighborTable station(profile, ports->all(), ports->pool());
  if (auto found = station.resolve(profile, options.limits); !found) {
    return std::unexpected(found.error());
  }
  // On a loop what arrives is the trial's: nobody else may take it.
  NeighborTable silent(profile, {}, ports->pool());
  return search_sizes(profile, options,
                      {*ports, loop ? ports->all().front() : *far, loop ? silent : station});
}

Result<void> write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out) return {};
  return fail(fmt::format("{}: can't be written", path.string()), ExitCode::environment);
}

Result<void> write_files(const std::vector<SizeSearch>& searches, const SearchOptions& options,
                         const std::string& name) {
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) {
    return fail(fmt::format("{}: {}", options.out, error.message()), ExitCode::environment);
  }
  const std::filesystem::path folder = options.out;
  const std::string title =
      fmt::format("{}: highest rate with at most {} % loss", name, 100 * options.search.loss);
  if (auto csv = write_file(folder / "search.csv", to_csv(searches, options.search)); !csv) {
    return csv;
  }
  return write_file(folder / "search.svg", to_svg(searches, title));
}

ExitCode search_and_report(const SearchOptions& options) {
  auto profile = config::load_flow_profile(options.profile);
  if (!profile) return print_error(profile.error());
  const auto searches = search(*profile, options);
  if (!searches) return print_error(searches.error());
  if (!options.out.empty()) {
    if (const auto written = write_files(*searches, options, profile->name); !written) {
      return print_error(written.error());
    }
  }
  fmt::print("{}", options.json ? to_json(*searches, options.search) : to_text(*searches));
  return ExitCode::done;
}

void add_search_options(CLI::App* command, SearchOptions& options) {
  add_quantity(command, "--loss", parse_probability, options.search.loss,
               "What may be lost of the frames sent: 0, 0.1%")
      ->type_name("SHARE")
      ->default_str("0");
  command->add_option("--sizes", options.sizes, "Message sizes in bytes, a search each")
      ->delimiter(',')
      ->type_name("BYTES")
      ->default_str("64,256,1024,4096");
  add_quantity(command, "--resolution", parse_probability, options.search.resolution,
               "Ends when what passes and what fails are so near, of the highest rate")
      ->type_name("SHARE")
      ->default_str("1%");
  command->add_option("--repeat", options.search.repeat, "Trials that a rate must pass")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  add_quantity(command, "--max-rate", parse_bit_rate, options.max_rate,
               "The highest rate to try, on the wire, shared by the flows")
      ->type_name("RATE")
      ->default_str("the profile's");
  options.limits.duration = std::chrono::seconds(2);
  add_time_option(command, "--duration", options.limits.duration, "Of a trial")->default_str("2s");
  add_time_option(command, "--settle", options.settle,
                  "A trial's last frames have so long to arrive")
      ->default_str("500ms");
}

}  // namespace

void add_search_command(CLI::App& program, Command& chosen) {
  CLI::App* command =
      program.add_subcommand("search", "Find the highest rate without loss, per message size");
  auto options = std::make_shared<SearchOptions>();
  command->add_option("profile", options->profile, "The profile; - is standard input")
      ->required()
      ->type_name("PROFILE");
  command->add_option("--port", options->port, "Send the frames there")
      ->required()
      ->type_name("PORT");
  command->add_option("--receive", options->receive, "Count them there; may be the same port")
      ->required()
      ->type_name("PORT");
  add_search_options(command, *options);
  command->add_option("--out", options->out, "Write search.csv and search.svg into this folder")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "Report in one line of JSON");
  command->add_flag("--verbose", options->verbose, "Show every trial, and what DPDK says");
  command->footer(kFooter);
  command->callback([&chosen, options] {
    if (options->search.resolution <= 0) {
      throw CLI::ValidationError("--resolution", "expected a share above 0");
    }
    if (options->limits.duration <= Duration{0}) {
      throw CLI::ValidationError("--duration", "expected a time above 0");
    }
    options->limits.stop = &stop_on_signals();
    chosen = [options] { return search_and_report(*options); };
  });
}

}  // namespace lw::gen
