// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "app/html_report.h"
#include "app/profile_note.h"
#include "app/stop_signal.h"
#include "app/verdicts.h"
#include "config/toml/profile_search.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/measure_options.h"
#include "gen/experiment/cell_runs.h"
#include "gen/experiment/experiment_view.h"
#include "gen/experiment/figure_check.h"
#include "gen/experiment/result_files.h"
#include "gen/experiment/run_journal.h"
#include "gen/perf/report/perf_files.h"
#include "gen/questions.h"

namespace lw::gen {
namespace {

using namespace experiment;

constexpr const char* kExperimentExamples =
    R"(roce-gen experiment apn-380km-throughput
roce-gen experiment my.toml --out results --set qps=8 --only size=64KiB --repeats 3
roce-gen experiment my.toml --resume
mpirun -n 32 --hostfile hosts roce-gen experiment my.toml)";

struct ExperimentOptions {
  std::string file, out, failures;
  std::vector<std::string> set, only;
  Changes changes;
  std::optional<std::uint64_t> jobs;
  bool resume = false, live = false;
  app::Verdicts verdicts{kExperimentQuestions};

  /// Number of threads of this process: --jobs; with several ranks 1, because mpirun starts one
  /// rank per core; otherwise the number of cores.
  [[nodiscard]] unsigned threads(const Ranks& ranks) const noexcept {
    if (jobs) return static_cast<unsigned>(*jobs);
    return ranks.size() > 1 ? 1U : std::max(1U, std::thread::hardware_concurrency());
  }
};

Result<std::vector<std::pair<std::string, std::string>>> pairs_of(
    const std::vector<std::string>& texts, const char* option) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(fmt::format("{}: expected PARAMETER=VALUE, found \"{}\"", option, text));
    pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return pairs;
}

/// A result file in the folder of --out.
struct ResultFile {
  std::string name;
  std::function<std::string(const Outcome&, const std::string& json)> content;
};

std::vector<ResultFile> files_of(const config::ExperimentProfile& profile) {
  std::vector<ResultFile> files = {
      {profile.name + ".csv", [](const Outcome& outcome, const auto&) { return to_csv(outcome); }},
      {profile.name + ".json", [](const Outcome&, const std::string& json) { return json; }},
      {profile.name + ".txt",
       [](const Outcome& outcome, const auto&) { return to_text(outcome); }}};
  for (const auto& plot : profile.plots)
    files.push_back({plot.name + ".svg", [&plot](const Outcome& outcome, const auto&) {
                       return to_picture(outcome, plot);
                     }});
  return files;
}

std::string journal_name(const config::ExperimentProfile& profile) {
  return profile.name + ".runs.jsonl";
}

/// Error: a result would replace an input, such as the profile or a published table.
Result<void> check_result_files(const config::ExperimentProfile& profile,
                                const std::filesystem::path& folder,
                                std::vector<NamedFile> outputs) {
  outputs.push_back({"--out", (folder / journal_name(profile)).string()});
  for (const ResultFile& file : files_of(profile))
    outputs.push_back({"--out", (folder / file.name).string()});
  return check_outputs({{"FILE", profile.file}}, outputs);
}

/// `json`: the results as JSON, with the verdict.
Result<void> write_all(const Outcome& outcome, const std::string& json,
                       const std::filesystem::path& folder) {
  std::string names;
  for (const auto& [name, content] : files_of(outcome.results.profile)) {
    if (auto wrote = write_file((folder / name).string(), content(outcome, json)); !wrote)
      return wrote;
    names += " " + name;
  }
  print_out(fmt::format("\nwritten to {}:{}\n", folder.string(), names));
  return {};
}

/// Loads the published tables before the first run, to find their errors early.
Result<void> check_tables(const config::ExperimentProfile& profile) {
  for (const auto& scenario : profile.scenarios) {
    if (!scenario.compare) continue;
    if (auto table = load_published(scenario.compare->table); !table)
      return fail(fmt::format("{}:{}:{}: compare: {}", profile.file, scenario.compare->at.line,
                              scenario.compare->at.column, table.error().message));
  }
  return {};
}

/// Repeats the failed runs with the same seeds, and captures their packets up to the failure: at
/// both ports and where the path delivers them, the newest 65,536 packets.
Result<void> capture_failures(const ExperimentResults& results,
                              const std::filesystem::path& folder) {
  constexpr std::size_t kNewest = 65'536;
  const auto failed = failed_runs(results);
  if (auto made = failed.empty() ? Result<void>{} : make_folder(folder); !made) return made;
  for (const Task& task : failed) {
    const Work& work = results.cells[task.cell].work;
    const auto& run = results.runs[task.cell][task.repeat];
    if (!work.has_packets) continue;
    PerfCapture::Limits limits{.newest = kNewest};
    if (run.contains("failed_at_ns"))
      limits.until = instant_from_ns(run["failed_at_ns"].get<std::int64_t>());
    PerfCapture capture({CapturePoint::client_out, CapturePoint::server_in,
                         CapturePoint::server_out, CapturePoint::client_in},
                        limits);
    try {
      work.run(results.seed_of(task), [&](sim::Simulation& each) { capture.attach(each); });
    } catch (const std::exception&) {
      // The run failed in the same way before. Its packets up to the failure are captured.
    }
    const auto file = folder / fmt::format("{}-cell{}-seed{}.pcapng", results.profile.name,
                                           task.cell + 1, results.seed_of(task));
    if (auto wrote = capture.write(file.string()); !wrote) return wrote;
    print_out(fmt::format("{}\n", file.string()));
  }
  return {};
}

Result<std::vector<std::vector<Compared>>> compare_all(const ExperimentResults& results) {
  std::vector<std::vector<Compared>> all;
  for (std::size_t i = 0; i < results.profile.scenarios.size(); ++i) {
    all.emplace_back();
    if (!results.profile.scenarios[i].compare) continue;
    auto compared = compare(results, i);
    if (!compared) return std::unexpected(compared.error());
    all.back() = std::move(*compared);
  }
  return all;
}

/// Prepares the runs. Errors: all that can be checked before the first run. `profile` must outlive
/// the results.
Result<ExperimentResults> prepare(const config::ExperimentProfile& profile,
                                  ExperimentOptions& options) {
  auto set = pairs_of(options.set, "--set"), only = pairs_of(options.only, "--only");
  if (!set) return std::unexpected(set.error());
  if (!only) return std::unexpected(only.error());
  options.changes.set = std::move(*set);
  options.changes.only = std::move(*only);
  if (const auto tables = check_tables(profile); !tables) return std::unexpected(tables.error());
  auto cells = cells_of(profile, options.changes);
  if (!cells) return std::unexpected(cells.error());
  if (auto known = check_figures(profile, options.changes); !known)
    return std::unexpected(known.error());
  return ExperimentResults(profile, options.changes, std::move(*cells));
}

/// Opens the file of finished runs. With --resume, adds the runs of an earlier session to
/// `results`.
Result<RunJournal> open_journal(ExperimentResults& results, const ExperimentOptions& options,
                                const std::filesystem::path& folder, const report::Json& identity,
                                const NamedFile& page) {
  if (auto apart = check_result_files(results.profile, folder, {page, options.verdicts.junit()});
      !apart)
    return std::unexpected(apart.error());
  if (auto made = make_folder(folder); !made) return std::unexpected(made.error());
  const std::string file = (folder / journal_name(results.profile)).string();
  return options.resume ? RunJournal::resume(file, identity, results)
                        : RunJournal::create(file, identity);
}

/// Runs all cells. Writes each result to the journal at once. Errors: of the ranks.
Result<void> run_all(ExperimentResults& results, unsigned jobs, Ranks& ranks,
                     const report::Json& identity, RunJournal& journal,
                     const std::atomic<bool>& stop, bool live) {
  ExperimentView view(results, stop, live);
  const RunEvents events{
      .finished =
          [&](const Task& task) {
            journal.add(results, task);
            view.finished(task);
          },
      .progress = [&](std::size_t done, std::size_t all) { view.progress(done, all); }};
  auto ran = run_cells(results, jobs, ranks, identity, stop, events);
  view.end();
  report_at_end(journal.close(results));
  return ran;
}

/// Judges, prints and writes the results. Returns the exit status.
ExitCode report_on(Outcome outcome, ExperimentOptions& options, const std::filesystem::path& folder,
                   app::HtmlReport& html) {
  ExperimentResults& results = outcome.results;
  results.remove_unfinished();
  auto compared = compare_all(results);
  if (!compared) return print_error(compared.error());
  outcome.compared = std::move(*compared);
  if (results.missing == 0 && !options.failures.empty())
    report_at_end(capture_failures(results, options.failures));
  Judge judge = options.verdicts.judge();
  observe_experiment(judge, outcome);
  const std::string json = options.verdicts.judged(
      judge, true, [&] { return to_json(outcome); }, results.profile.name, &kExperimentOutput);
  html.add_report(json, kExperimentOutput, options.verdicts.last(), page_rows(outcome));
  for (const auto& plot : results.profile.plots) html.add_plot(to_plot(outcome, plot));
  print_report(options.verdicts.text() + to_text(outcome) +
               fmt::format("\n{} cells in {:.1f} s\n", results.cells.size(), results.elapsed_s));
  report_at_end(write_all(outcome, json, folder));
  return options.verdicts.finish("roce-gen experiment");
}

ExitCode run_experiment(ExperimentOptions& options, app::HtmlReport& html) {
  auto ranks = Ranks::join();
  if (!ranks) return print_error(ranks.error());
  const auto& stop = stop_on_signals();
  const auto refuse = [&](const Error& error) {
    leave(*ranks, error.message);
    return ranks->leads() ? print_error(error) : error.exit;
  };
  const auto profile = config::load_experiment_profile(options.file);
  if (!profile) return refuse(profile.error());
  if (const auto checked = options.verdicts.check(kExperimentOutput); !checked)
    return refuse(checked.error());
  auto results = prepare(*profile, options);
  if (!results) return refuse(results.error());
  const report::Json identity = identity_of(*results);
  app::say_profile(options.file, {config::kExperimentProfiles}, profile->title);
  if (!ranks->leads()) {
    serve_runs(*results, options.threads(*ranks), *ranks, identity);
    return ExitCode::done;
  }
  const std::string folder = options.out.empty() ? profile->name + "-results" : options.out;
  auto journal = open_journal(*results, options, folder, identity, html.file());
  if (!journal) return refuse(journal.error());
  if (const auto ran = run_all(*results, options.threads(*ranks), *ranks, identity, *journal, stop,
                               options.live);
      !ran)
    return print_error(ran.error());
  return report_on({.results = std::move(*results), .compared = {}}, options, folder, html);
}

}  // namespace

app::Command experiment_command() {
  auto options = std::make_shared<ExperimentOptions>();
  auto html = std::make_shared<app::HtmlReport>();
  app::Command command{
      .name = "experiment",
      .help = "Sweep parameters of simulated runs; write tables, CSV, JSON and plots",
      .examples = kExperimentExamples,
      .notes =
          R"(Each run is written to NAME.runs.jsonl when it ends. Ctrl-C finishes the runs that have begun and
writes the results of the finished cells; --resume continues. Exit codes: 0 all runs succeeded and
are as near to the published figures as asked for, 1 not so, or interrupted, 2 bad usage or
experiment, 3 a file can't be written.)",
      .run = [options, html] { return run_experiment(*options, *html); },
  };
  app::Options& list = command.options;
  list.add("FILE", app::profile(options->file, {config::kExperimentProfiles}), "",
           "experiment profile")
      .required();
  list.add("-o,--out", app::text(options->out), "DIR", "folder for the results")
      .defaults_to("NAME-results");
  options->verdicts.add_options(list);
  html->add_option(list);
  list.add_flag("--full", options->changes.full,
                "full length, as in the profile's [scenario.full]");
  list.add("--scenario", app::texts(options->changes.scenarios), "NAME", "scenario to run")
      .defaults_to("all");
  list.add("--set", app::texts(options->set), "PARAMETER=VALUE",
           "value of a parameter in every scenario");
  list.add("--only", app::texts(options->only), "PARAMETER=VALUE",
           "the only value of a sweep to run");
  list.add("--repeats", app::number(options->changes.repeats, 1u, 10'000u), "N",
           "runs of each random cell, with different seeds, instead of the profile's number")
      .defaults_to("the profile's");
  list.add("--jobs",
           app::parsed([](std::string_view text) { return read_whole(text, 1, 1024); },
                       options->jobs),
           "N", "number of simultaneous runs of this process")
      .defaults_to("number of cores; under mpirun 1");
  list.add_flag("--resume", options->resume,
                "continue an interrupted experiment: run only what is not in the folder yet");
  list.add_flag("--live", options->live, report::kLiveHelp);
  list.add("--pcap-failures", app::text(options->failures), "DIR",
           "folder for the packets of failed runs, up to the failure");
  return command;
}

}  // namespace lw::gen
